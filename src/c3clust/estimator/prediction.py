"""Prediction: the part of an estimator that a fitted or loaded model needs for new samples."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from c3clust import dist
from c3clust.errors import RunError
from c3clust.estimator.splits import Split
from c3clust.features.outliers import OutlierRule, blocks, member_votes
from c3clust.records.edits import Edits
from c3clust.records.outliers import Outlier, by_position

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

    def _embed(self, X: Any, shared: bool = False) -> tuple[Iterator[tuple[Tensor, Tensor]], int]:
        """(z, c) of the samples, batch by batch, and the number of samples; shared: of this process's part of them."""
        raise NotImplementedError

    def _gather_rows(self, rows: np.ndarray, n: int) -> np.ndarray:
        """The rows of all n samples, from those of each process's part."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each sample: [n]. Clusters that were merged in the run folder have one number.

        With `outliers`, samples that belong to no cluster have -1.
        """
        return self._predict(X)[0]

    def find_outliers(self, X: Any) -> dict[int, Outlier]:
        """The samples of X that belong to no cluster, by their positions: far from all, or members disagree."""
        found = [outlier for z, c in self._embed(X)[0] for outlier in self._judge(z.numpy(), c.numpy())]
        return by_position(found, range(len(found)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Soft assignment of each sample: [n, M], rows sum to 1."""
        return np.concatenate([self._edited(z.numpy(), c.numpy())[1] for z, c in self._embed(X)[0]])

    # How it is done.

    def _predict(self, X: Any, shared: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Cluster and confidence of each sample, after merges and splits; shared: by all processes together."""
        parts = [(np.empty(0, np.int64), np.empty(0, np.float32))] if shared else []
        pairs, n = self._embed(X, shared)
        for z, c in pairs:
            labels, proba = self._edited(z.numpy(), c.numpy())
            confidence = proba[range(len(labels)), labels]
            if self.outliers:
                labels[[outlier is not None for outlier in self._judge(z.numpy(), c.numpy())]] = -1
            parts.append((labels, confidence))
        labels, confidence = (np.concatenate(each) for each in zip(*parts, strict=True))
        return (self._gather_rows(labels, n), self._gather_rows(confidence, n)) if shared else (labels, confidence)

    def _edited(self, z: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels [n] and probabilities [n, M] after all that was changed in the run folder."""
        if not np.isfinite(c).all():
            n = int((~np.isfinite(c).all(axis=1)).sum())
            why = "their values are extreme, or the model is damaged"
            raise RunError(f"The model gives no finite probabilities for {n:,} samples: {why}.")
        labels, proba = c.argmax(axis=1), c
        for step in self._steps():
            if isinstance(step, Edits):
                labels, proba = step.apply(labels)[0], step.apply_proba(proba)
            else:
                labels, proba = step.apply(labels, proba, z)
        return labels, proba

    def _judge(self, z: Any, c: np.ndarray, shared: bool = False) -> list[Outlier | None]:
        """Which samples are outliers; none for a model that was saved without the rule. shared: by all processes.

        Members that disagree about two clusters which were merged since do agree. With `outliers`, samples that are in
        no cluster stay there, as they do in assignments.csv.
        """
        rule = getattr(self, "outlier_rule_", None)
        if rule is None:
            return [None] * len(c)
        target = list(range(c.shape[1]))
        for edits in (step for step in self._steps() if isinstance(step, Edits) and not self.outliers):
            target = [edits.target[i] for i in target]

        def judge(rows: slice) -> list[Outlier | None]:
            part = z[rows]
            return rule.judge(part, c[rows], member_votes(self.network_, part))

        # Votes and shares of all samples at once would take several times the memory of c.
        found = dist.shared_map(judge, blocks(z)) if shared else map(judge, blocks(z))
        return [None if outlier is None or outlier.settled(target) else outlier for each in found for outlier in each]

    def _edits(self) -> Edits:
        """The names and merges that hold now."""
        steps = self._steps()
        return steps[-1] if steps and isinstance(steps[-1], Edits) else Edits(self.n_clusters_)

    def _steps(self) -> Sequence[Edits | Split]:
        """The edits and splits of the run folder that this model was loaded from, in order; none after `fit`."""
        return getattr(self, "_steps_", None) or ()
