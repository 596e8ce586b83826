"""The method that suits a data set: the default of the command line, and `c3clust.cluster`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from c3clust import data, encoders
from c3clust.data.samples import Dataset
from c3clust.encoders import load_options
from c3clust.methods.c3_adaptive import C3Adaptive
from c3clust.methods.consensus import Consensus

__all__ = ["METHODS", "choose_method", "cluster"]

METHODS = {"consensus": Consensus, "c3_adaptive": C3Adaptive}  # what "auto" may mean


def choose_method(dataset: Dataset, encoder: Any = "auto") -> tuple[str, str]:
    """The name of the method for these samples, and a sentence that says so. `encoder`: the parameter of the method."""
    if dataset.kind != "image":
        why = {"vector": "feature vectors", "text": "texts", "table": "rows of a table"}[dataset.kind]
    elif dataset.content == "handwriting":
        why = "images of handwriting"
    elif encoder not in (None, "none", "auto") or (encoder == "auto" and encoders.auto(dataset)[0] is not None):
        why = "photographs with a pretrained encoder"
    else:
        return "c3_adaptive", "Method: c3_adaptive, since the samples are images that are learned from scratch."
    return "consensus", f"Method: consensus, since the samples are {why}."


def cluster(
    X: Any, n_clusters: int | str = "auto", run_dir: str | Path | None = None, *, random_state: Any = 0
) -> Consensus | C3Adaptive:
    """Cluster X with the method that suits it, as `c3clust fit` does.

    Parameters
    ----------
    X : array, list, data frame, path or Dataset
        What `data.load` and the `fit` of every method take.
    n_clusters : int or "auto", default="auto"
        "auto" estimates the number of clusters from the data, without labels.
    run_dir : path, optional
        Folder for the model, the assignments and the report.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    estimator : Consensus or C3Adaptive
        Fitted, with `labels_` and `predict`. Its class is named in `choose_method`.

    Examples
    --------
    >>> import c3clust
    >>> from sklearn.datasets import load_wine
    >>> c3clust.cluster(load_wine().data, 3).labels_.shape
    (178,)
    """
    options = load_options("auto") if isinstance(X, str | Path) else {}
    dataset = data.load(X, **options)
    name, note = choose_method(dataset)
    estimator: Any = METHODS[name](n_clusters, random_state=random_state)
    return estimator.fit(replace(dataset, notes=[*dataset.notes, note]), run_dir=run_dir)
