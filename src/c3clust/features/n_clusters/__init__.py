"""How many clusters: the number is chosen from resampled clusterings of feature vectors, without labels.

`evidence.py` (trees) and `partitions.py` (graph of neighbours) measure each number of clusters, `cloud.py` makes the
clouds that they are compared with, `chance.py` says how probable each is, `choice.py` decides, `tree.py` finds which
clusters are next to merge and to split. docs/CHOOSING_K.md has the measurements.
"""

from c3clust.features.n_clusters.choice import Choice, choose_k, without_evidence
from c3clust.features.n_clusters.tree import Tree, cluster_tree

__all__ = ["Choice", "Tree", "choose_k", "cluster_tree", "without_evidence"]
