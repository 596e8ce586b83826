"""Changeable: the part of an estimator that changes its clusters after the fit, without training its features again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from torch import Tensor, nn

from c3clust import augment
from c3clust.data.io.subset import subset
from c3clust.data.samples import Dataset
from c3clust.estimator.splits import Split
from c3clust.features.preprocess import Preprocessor
from c3clust.records.duplicates import Duplicates
from c3clust.records.edits import Edits
from c3clust.records.outliers import Outlier, by_position
from c3clust.training import TrainingContext
from c3clust.training.embed import device_of, gather

__all__ = ["Changeable"]


class Changeable:
    """`read_samples`, `outputs`, `add_split` and `regrouped`, for `c3clust.split` and `c3clust.regroup`."""

    network_: nn.Module
    preprocessor_: Preprocessor
    policy_: dict[str, Any]
    labels_: np.ndarray
    confidence_: np.ndarray
    duplicates_: Duplicates
    outliers_: dict[int, Outlier]
    _steps_: list[Edits | Split] | None

    def _read(self, X: Any, reset: bool) -> Dataset:
        raise NotImplementedError

    def _embed(self, X: Any, shared: bool = False) -> tuple[Iterator[tuple[Tensor, Tensor]], int]:
        raise NotImplementedError

    def _edited(self, z: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _judge(self, z: Any, c: np.ndarray, shared: bool = False) -> list[Outlier | None]:
        raise NotImplementedError

    def _train(self, context: TrainingContext, trained: nn.Module | None = None) -> None:
        raise NotImplementedError

    def read_samples(self, X: Any) -> Dataset:
        """X as the dataset that `predict` would use."""
        return self._read(X, reset=False)

    def outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The representation z [n, D] and the soft assignment c [n, M] of the network, before splits and merges."""
        z, c = gather(*self._embed(X))
        return z, c

    def add_split(self, split: Split, z: np.ndarray, c: np.ndarray, duplicates: Duplicates, apart: np.ndarray) -> None:
        """Split a cluster, and set the labels of the samples of the run, whose outputs are z and c.

        Copies have the cluster of their original. apart: [n] whether a sample is in no cluster; it stays there.
        """
        self._steps_ = [*(self._steps_ or ()), split]
        labels, proba = self._edited(z, c)
        confidence, rows = proba[range(len(labels)), labels], duplicates.original
        self.labels_, self.confidence_ = np.where(apart, -1, labels[rows]), confidence[rows]
        self.duplicates_, self.outliers_ = duplicates, by_position(self._judge(z, c), rows)

    def regrouped(self, n_clusters: int, samples: Dataset, duplicates: Duplicates, seed: int) -> Any:
        """A new estimator with this number of clusters, fitted to the features that this one has of the samples."""
        new = clone(self).set_params(n_clusters=n_clusters)
        new.choice_, new.tree_ = None, None
        new.preprocessor_, new.duplicates_ = self.preprocessor_, duplicates
        device = device_of(self.network_)
        x = subset(self.preprocessor_.transform(samples, device), duplicates.distinct)
        policy = augment.policy(self.policy_ if "policy" in self.policy_ else "none")
        context = TrainingContext(x, self.preprocessor_.shape, policy, seed, device, memory=samples.memory)
        new._train(context, self.network_)
        return new
