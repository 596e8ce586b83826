"""Prediction: the part of an estimator that a fitted or loaded model needs for new samples."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor, nn

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

    def _embed(self, X: Any) -> tuple[Iterator[tuple[Tensor, Tensor]], int]:
        """(z, c) of the samples, batch by batch, and the number of samples."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each sample: [n]. Clusters that were merged in the run folder have one number.

        With `outliers`, samples that belong to no cluster have -1.
        """
        return self._predict(X)[0]

    def find_outliers(self, X: Any) -> dict[int, Outlier]:
        """The samples of X that belong to no cluster, by their positions: far from all, or members disagree."""
        found = [outlier for z, c in self._embed(X)[0] for outlier in self._judge(z.numpy(), c.numpy())]
        return {i: outlier for i, outlier in enumerate(found) if outlier is not None}

    def predict_proba(self, X: Any) -> np.ndarray:
        """Soft assignment of each sample: [n, M], rows sum to 1."""
        return self._edits().apply_proba(np.concatenate([c.numpy() for _, c in self._embed(X)[0]]))

    # How it is done.

    def _predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Cluster and confidence of each sample, after merges."""
        edits, parts, apart = self._edits(), [], []
        for z, c in self._embed(X)[0]:
            parts.append(c.numpy())
            apart += [outlier is not None for outlier in self._judge(z.numpy(), parts[-1])] if self.outliers else []
        soft = np.concatenate(parts)
        labels = edits.apply(soft.argmax(axis=1))[0]
        confidence = edits.apply_proba(soft)[range(len(labels)), labels]
        if self.outliers:
            labels[apart] = -1
        return labels, confidence

    def _judge(self, z: Any, c: np.ndarray) -> list[Outlier | None]:
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
