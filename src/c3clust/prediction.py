"""Prediction: the part of an estimator that a fitted or loaded model needs for new samples."""

from typing import Any

import numpy as np
import torch
from torch import nn

from c3clust.outliers import OutlierRule, member_votes
from c3clust.records.edits import Edits
from c3clust.records.outliers import Outlier

__all__ = ["Prediction"]


class Prediction:
    """`predict`, `predict_proba` and `find_outliers`, from the network's (z, c) and what was edited since."""

    outliers: bool
    network_: nn.Module
    outlier_rule_: OutlierRule | None

    @property
    def n_clusters_(self) -> int:
        """The number of clusters."""
        raise NotImplementedError

    def _embed(self, X: Any) -> Any:
        """(z, c) of the samples, batch by batch."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each sample: [n]. Clusters that were merged in the run folder have one number.

        With `outliers`, samples that belong to no cluster have -1.
        """
        return self._predict(X)[0]

    def find_outliers(self, X: Any) -> dict[int, Outlier]:
        """The samples of X that belong to no cluster, by their positions: far from all, or members disagree."""
        z, c = self._arrays(X)
        return {i: outlier for i, outlier in enumerate(self._judge(z, c)) if outlier is not None}

    def predict_proba(self, X: Any) -> np.ndarray:
        """Soft assignment of each sample: [n, M], rows sum to 1."""
        return self._edits().apply_proba(self._arrays(X)[1])

    # How it is done.

    def _predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Cluster and confidence of each sample, after merges."""
        (z, c), edits = self._arrays(X), self._edits()
        labels = edits.apply(c.argmax(axis=1))[0]
        confidence = edits.apply_proba(c)[range(len(labels)), labels]
        if self.outliers:
            labels[[outlier is not None for outlier in self._judge(z, c)]] = -1
        return labels, confidence

    def _arrays(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """z [n, D] and c [n, M] of the samples."""
        z, c = zip(*self._embed(X), strict=True)
        return torch.cat(z).numpy(), torch.cat(c).numpy()

    def _judge(self, z: np.ndarray, c: np.ndarray) -> list[Outlier | None]:
        """Which samples are outliers; none for a model that was saved without the rule.

        Members that disagree about two clusters which were merged since do agree.
        """
        rule, target = getattr(self, "outlier_rule_", None), self._edits().target
        if rule is None:
            return [None] * len(c)
        found = rule.judge(z, c, member_votes(self.network_, z))
        return [None if outlier is None or outlier.settled(target) else outlier for outlier in found]

    def _edits(self) -> Edits:
        """The merges of the run folder that this model was loaded from; none after `fit`."""
        return getattr(self, "_edits_", None) or Edits(self.n_clusters_)
