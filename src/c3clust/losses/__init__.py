"""Losses and terms of losses that several methods share."""
