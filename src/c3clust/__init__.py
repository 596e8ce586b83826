"""Cluster images, texts, tables and feature vectors without labels: `cluster`, C3, and the methods beside it.

The names below are the public API. Each is imported when it is first used, so that worker processes
which only decode images do not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from c3clust.methods import load_model as load
    from c3clust.methods._auto import cluster
    from c3clust.methods._changes import regroup, split
    from c3clust.methods.c3 import C3
    from c3clust.methods.c3_adaptive import C3Adaptive
    from c3clust.methods.cc import CC
    from c3clust.methods.consensus import Consensus
    from c3clust.methods.kmeans import KMeans
    from c3clust.metrics import acc, ari, nmi
    from c3clust.records.pins import Pin
    from c3clust.report.editing import confirm, discard, label, merge, move, new_cluster, pin, undo

__version__ = "0.1.0"
__all__ = [
    "C3", "CC", "C3Adaptive", "Consensus", "KMeans", "Pin", "acc", "ari", "cluster", "confirm", "discard", "label",
    "load", "merge", "move", "new_cluster", "nmi", "pin", "regroup", "split", "undo",
]  # fmt: skip

_HOME = {
    "C3": ("c3clust.methods.c3", "C3"),
    "C3Adaptive": ("c3clust.methods.c3_adaptive", "C3Adaptive"),
    "CC": ("c3clust.methods.cc", "CC"),
    "Consensus": ("c3clust.methods.consensus", "Consensus"),
    "KMeans": ("c3clust.methods.kmeans", "KMeans"),
    "acc": ("c3clust.metrics", "acc"),
    "ari": ("c3clust.metrics", "ari"),
    "nmi": ("c3clust.metrics", "nmi"),
    "cluster": ("c3clust.methods._auto", "cluster"),
    "Pin": ("c3clust.records.pins", "Pin"),
    "confirm": ("c3clust.report.editing", "confirm"),
    "discard": ("c3clust.report.editing", "discard"),
    "label": ("c3clust.report.editing", "label"),
    "move": ("c3clust.report.editing", "move"),
    "new_cluster": ("c3clust.report.editing", "new_cluster"),
    "pin": ("c3clust.report.editing", "pin"),
    "merge": ("c3clust.report.editing", "merge"),
    "regroup": ("c3clust.methods._changes", "regroup"),
    "split": ("c3clust.methods._changes", "split"),
    "undo": ("c3clust.report.editing", "undo"),
    "load": ("c3clust.methods", "load_model"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'c3clust' has no attribute {name!r}")
    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
