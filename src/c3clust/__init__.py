"""Cluster images without labels."""
