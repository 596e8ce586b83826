"""Fitted: the part of an estimator that a fitted or loaded model needs for new samples."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from c3clust import data, dist
from c3clust.data.samples import Dataset, Samples, Table
from c3clust.encoders import Encoder
from c3clust.errors import RunError
from c3clust.estimator.cluster_count import ClusterCount
from c3clust.estimator.cores import on_requested_cores, one_by_one
from c3clust.estimator.corrections import Corrections
from c3clust.estimator.scikit_learn import ScikitLearn
from c3clust.estimator.splits import Step
from c3clust.features.outliers import OutlierRule, blocks
from c3clust.features.preprocess import InputOptions, Preprocessor
from c3clust.features.sparse import fit_svd, reduced
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits
from c3clust.records.outliers import Outlier, by_position
from c3clust.training import embed
from c3clust.training.embed import device_of, gather, rows_per_batch

__all__ = ["Fitted", "confidence_of"]


class Fitted(ClusterCount, ScikitLearn):
    """`predict`, `predict_proba`, `assign`, `transform` and `find_outliers`.

    They use the network's (z, c) and what was edited since the fit.
    """

    outliers: bool
    network_: nn.Module
    preprocessor_: Preprocessor
    outlier_rule_: OutlierRule | None
    _components_: np.ndarray | None = None  # of the SVD of a sparse matrix, from `_read` to the preprocessor
    _folder_: Path | None
    _steps_: list[Step] | None

    def _input_options(self) -> InputOptions:
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each sample: [n]. Clusters that were merged in the run folder have one number.

        With `outliers`, samples that belong to no cluster have -1.
        """
        return self.assign(X).clusters

    @on_requested_cores
    def predict_proba(self, X: Any) -> np.ndarray:
        """Soft assignment of each sample: [n, M], rows sum to 1."""
        return np.concatenate([self._edited(z.numpy(), c.numpy())[1] for z, c in self._embed(X)[0]])

    @on_requested_cores
    def assign(self, X: Any, shared: bool = False) -> Assignments:
        """Name, cluster and confidence of each sample. shared: all processes of a group make this call."""
        check_is_fitted(self)
        dataset = self._read(X, reset=False)
        parts = [(np.empty(0, np.int64), np.empty(0, np.float32))] if shared else []
        pairs, n = self._embed(dataset, shared)
        parts += [(labels, confidence) for _, labels, confidence in self._assigned(pairs)]
        labels, confidence = (np.concatenate(each) for each in zip(*parts, strict=True))
        if shared:
            labels = self._gather_rows(labels, n)
            confidence = self._gather_rows(confidence, n)
        return Assignments(dataset.names, labels, confidence)

    def assign_batches(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """z [N, D], cluster [N] and confidence [N] of some samples at a time, in order; the network runs once."""
        return one_by_one(self._assigned(self._embed(X)[0]))

    def _assigned(self, pairs: Iterator[tuple[Tensor, Tensor]]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for z, c in ((z.numpy(), c.numpy()) for z, c in pairs):
            labels, proba, corrected = self._edited(z, c)
            confidence = confidence_of(labels, proba)
            if self.outliers:
                outside = np.array([outlier is not None for outlier in self._judge(z, c)], dtype=bool)
                labels[outside & ~corrected] = -1
            yield z, labels, confidence

    @on_requested_cores
    def transform(self, X: Any) -> np.ndarray:
        """The learned representation z of each sample: [n, D]."""
        return gather(*self._embed(X))[0]

    @on_requested_cores
    def find_outliers(self, X: Any) -> dict[int, Outlier]:
        """The samples of X that belong to no cluster, by their positions: far from all, or between two."""
        found = [outlier for z, c in self._embed(X)[0] for outlier in self._judge(z.numpy(), c.numpy())]
        return by_position(found, range(len(found)))

    @property
    def device_(self) -> torch.device:
        """The device of the network."""
        return device_of(self.network_)

    @property
    def input_shape_(self) -> tuple[int, ...]:
        """The shape of one sample, as the network sees it."""
        return self.preprocessor_.shape

    @property
    def encoder_(self) -> Encoder | None:
        """The encoder that was used, if any."""
        return self.preprocessor_.encoder

    # How it is done.

    def _read(self, X: Any, reset: bool, embeddings: bool = False) -> Dataset:
        """X as a dataset; vectors are checked by scikit-learn's own rules."""
        X = data.from_dlpack(X)
        options = self._input_options().load_options if reset else self.preprocessor_.load_options
        self._components_ = None if reset else self._components_
        if isinstance(X, str | Path) or data.are_pictures(X):
            return data.load(X, **options() | ({"embeddings": True} if embeddings else {}))
        pixel_max = None if reset else self.preprocessor_.pixel_max
        if isinstance(X, Samples):
            X = X.at_least(options().get("image_size") or options().get("largest"))
        if isinstance(X, Dataset):
            return data.load(X, pixel_max=pixel_max)
        if isinstance(X, np.ndarray) and X.ndim > 2:
            views = embeddings if reset else tuple(X.shape[2:]) == self.preprocessor_.shape
            return data.load(X, embeddings=views, pixel_max=pixel_max)
        if np.ma.is_masked(X) or (isinstance(X, np.ndarray) and not reset and self._takes_rows):
            return data.load(np.ma.asarray(X), kind="table")
        if issparse(X) or (not reset and self.preprocessor_.components is not None):
            return self._read_sparse(X, reset)
        if data.are_texts(X) or (data.is_frame(X) and (data.has_gaps_or_words(X) or (not reset and self._takes_rows))):
            return data.load(X, **({} if reset else options()))
        if isinstance(X, np.ndarray):
            data.check_whole_numbers(X)
        return data.load(validate_data(self, X, reset=reset, dtype=[np.float64, np.float32]))

    def _read_sparse(self, X: Any, reset: bool) -> Dataset:
        """A sparse matrix as a dataset of dense vectors; also dense rows, for a model of a sparse matrix."""
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        if not reset:
            return data.load(reduced(X, self.preprocessor_.components))
        self._components_, note = fit_svd(X)
        dataset = data.load(reduced(X, self._components_))
        return dataset if note is None else replace(dataset, notes=[*dataset.notes, note])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _takes_rows(self) -> bool:
        """Whether this fitted model was trained on a table."""
        encoder = self.preprocessor_.frozen_encoder
        return encoder is not None and encoder.takes is Table

    def _embed(self, X: Any, shared: bool = False) -> tuple[Iterator[tuple[Tensor, Tensor]], int]:
        check_is_fitted(self)
        x, size = self.preprocessor_.transform(self._read(X, reset=False), self.device_), self.input_shape_[-2:]
        part = dist.part(len(x), rows_per_batch(size)) if shared else None
        return embed(self.network_, x, size, part=part), len(x)

    def _gather_rows(self, rows: np.ndarray, n: int) -> np.ndarray:
        return dist.gather_arrays(rows, n, rows_per_batch(self.input_shape_[-2:]))

    def _edited(self, z: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels [n] and probabilities [n, M] after all that was changed in the run folder.

        And which samples follow one that was placed by hand.
        """
        if not np.isfinite(c).all():
            n = int((~np.isfinite(c).all(axis=1)).sum())
            why = "their values are extreme, or the model is damaged"
            raise RunError(f"The model gives no finite probabilities for {n:,} samples: {why}.")
        labels, proba, corrected = c.argmax(axis=1), c, np.zeros(len(c), bool)
        for step in self._steps():
            if isinstance(step, Edits):
                labels, proba = step.apply(labels)[0], step.apply_proba(proba)
            elif isinstance(step, Corrections):
                labels, proba, now = step.apply(labels, proba, z)
                corrected = corrected | now
            else:
                labels, proba = step.apply(labels, proba, z)
        return labels, proba, corrected

    def _judge(self, z: Any, c: np.ndarray, shared: bool = False) -> list[Outlier | None]:
        """Which samples are outliers; none for a model that was saved without the rule. shared: by all processes.

        A sample between two clusters that were merged since is not between them. With `outliers`, samples that are in
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
            return rule.judge(part, c[rows])

        found = dist.shared_map(judge, blocks(z)) if shared else map(judge, blocks(z))
        return [None if outlier is None or outlier.settled(target) else outlier for each in found for outlier in each]

    def _edits(self) -> Edits:
        """The names and merges that hold now."""
        last = next((step for step in reversed(self._steps()) if not isinstance(step, Corrections)), None)
        return last if isinstance(last, Edits) else Edits(self.n_clusters_)

    def _steps(self) -> Sequence[Step]:
        """What was changed in the folder that this model was loaded from, in order; nothing after `fit`."""
        return getattr(self, "_steps_", None) or ()


def confidence_of(labels: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """The probability of each label [n]; of a sample in no cluster, the largest."""
    return np.where(labels < 0, proba.max(axis=1, initial=0), proba[range(len(labels)), labels])
