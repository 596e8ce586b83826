"""Editable: the part of an estimator that splits clusters after the fit, without training its features again."""

from typing import Any

import numpy as np

from c3clust.data.samples import Dataset
from c3clust.estimator.prediction import Fitted, confidence_of
from c3clust.estimator.splits import Split
from c3clust.records.duplicates import Duplicates
from c3clust.records.outliers import Outlier, by_position
from c3clust.runs import Result
from c3clust.training.embed import gather

__all__ = ["Editable"]


class Editable(Fitted):
    """`read_samples`, `outputs` and `add_split`, for `c3clust.split` and `c3clust.regroup`."""

    labels_: np.ndarray
    confidence_: np.ndarray
    duplicates_: Duplicates
    outliers_: dict[int, Outlier]

    def read_samples(self, X: Any) -> Dataset:
        """X as the dataset that `predict` would use."""
        return self._read(X, reset=False)

    def outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The representation z [n, D] and the soft assignment c [n, M] of the network, before splits and merges."""
        z, c = gather(*self._embed(X))
        return z, c

    def add_split(
        self, split: Split, z: np.ndarray, c: np.ndarray, duplicates: Duplicates, outside: np.ndarray
    ) -> None:
        """Split a cluster, and set the labels of the samples of the run, whose outputs are z and c.

        Copies have the cluster of their original. outside: [n] whether a sample is in no cluster; it keeps -1.
        """
        self._steps_ = [*(self._steps_ or ()), split]
        labels, proba, _ = self._edited(z, c)
        confidence, rows = confidence_of(labels, proba), duplicates.original
        self.labels_, self.confidence_ = np.where(outside, -1, labels[rows]), confidence[rows]
        self.duplicates_, self.outliers_ = duplicates, by_position(self._judge(z, c), rows)

    def split_result(self, z: np.ndarray) -> Result:
        """The clusters after `add_split`, of samples with the representation z."""
        return Result(z, self.labels_, self.confidence_, self.n_clusters_, self.duplicates_, self.outliers_)
