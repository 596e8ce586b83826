"""How many clusters: the number is chosen from resampled clusterings of feature vectors, without labels.

`evidence.py` measures each number of clusters, `cloud.py` makes the clouds that they are compared with, `choice.py`
decides, `tree.py` finds which clusters are next to merge and to split. docs/CHOOSING_K.md compares this with the usual
ways.
"""

from c3clust.features.n_clusters.choice import Choice, choose_k, without_evidence
from c3clust.features.n_clusters.tree import Tree, cluster_tree

__all__ = ["Choice", "Tree", "choose_k", "cluster_tree", "without_evidence"]
