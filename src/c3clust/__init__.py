"""Cluster images without labels: C3 (cross-instance guided contrastive clustering) and its rivals."""

from c3clust.methods import load_model as load
from c3clust.methods.c3 import C3
from c3clust.methods.cc import CC
from c3clust.methods.kmeans import KMeans
from c3clust.metrics import acc, ari, nmi

__version__ = "0.1.0"
__all__ = ["C3", "CC", "KMeans", "acc", "ari", "load", "nmi"]
