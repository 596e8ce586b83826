"""Corrections by hand: what is learned from answers, which questions to ask, and how good the clusters are."""
