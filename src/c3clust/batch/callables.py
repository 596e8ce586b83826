"""`Assigner` and `Encoder`: callables that map a batch to the same batch with new columns."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data
from c3clust.batch.columns import sample_column, samples_of, with_columns
from c3clust.batch.models import identity, loaded
from c3clust.data.samples import Dataset
from c3clust.errors import DataError, InputError

__all__ = ["Assigner", "Encoder"]

NO_CLUSTER = -1
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Assigner:
    """Assigns the samples of a batch to the clusters of a fitted model.

    A batch is a dict of arrays, an Arrow table or record batch, or a pandas data frame. The result is of the same kind
    (for a record batch, a table), with the columns `cluster` and `confidence`. Other columns are kept, but for that of
    the samples. An image that cannot be read, or a vector that is missing or not finite, has cluster -1 and confidence
    NaN.

    The object itself is small and has no state: it can be pickled and called any number of times, in any process and
    order. Each process loads the model once, at the first call.

    Parameters
    ----------
    model : path
        The folder of a finished run, or an .onnx file, at the same place for all workers.
    column : str, optional
        The column of the samples: vectors, encoded images (bytes), arrays of pixels, or texts. Default: the first of
        embedding, embeddings, features, vector, image, img, bytes, image_bytes, jpg, jpeg, png, webp and text.
    z : bool
        Also add the column `z`, the learned representation.
    keep : sequence of str
        The column of the samples, to keep it too.
    given : dict
        Parameters that a file may not decide, as of `c3clust.load`: encoder, method, device.

    Examples
    --------
    >>> from c3clust.batch import Assigner
    >>> assigner = Assigner("runs/photos")  # doctest: +SKIP
    >>> assigner({"id": [7], "bytes": [open("one.jpg", "rb").read()]})  # doctest: +SKIP
    {'id': [7], 'cluster': array([3]), 'confidence': array([0.98], dtype=float32)}
    """

    model: str | Path
    column: str | None = None
    z: bool = False
    keep: Sequence[str] = ()
    given: dict[str, Any] = field(default_factory=dict)
    known: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        if not isinstance(self.model, str | Path):
            raise InputError(f"model is a {type(self.model).__name__}: save it, and give the path of its folder.")
        object.__setattr__(self, "model", str(self.model))
        object.__setattr__(self, "known", identity(self.model))

    def __call__(self, batch: Any) -> Any:
        column = sample_column(batch, self.column)
        samples = samples_of(batch, column)
        model, reading = loaded(str(self.model), self.known, tuple(sorted(self.given.items())))
        dataset, at = _dataset(samples, reading)
        n = len(samples)
        cluster, confidence = np.full(n, NO_CLUSTER, np.int64), np.full(n, np.nan, np.float32)
        z: np.ndarray = np.empty((n, 0), np.float32)
        if dataset is not None:
            parts = [[found[0] if self.z else None, *found[1:]] for found in model.assign_batches(dataset)]
            cluster[at] = np.concatenate([part[1] for part in parts])
            confidence[at] = np.concatenate([part[2] for part in parts])
            z = _spread((part[0] for part in parts), at, n) if self.z else z
        new: dict[str, np.ndarray] = {"cluster": cluster, "confidence": confidence}
        if self.z:
            new["z"] = z
        return with_columns(batch, column, self.keep, new)


@dataclass(frozen=True)
class Encoder:
    """Computes the features of the samples of a batch, in a new column of lists, `embedding`.

    Everything else is as for `Assigner`. A sample that cannot be read has features of NaN.

    Parameters
    ----------
    encoder : str
        An encoder of `c3clust list encoders`: "pplcnetv2", "hf:facebook/dinov2-small", or the folder of a run.
    column, keep
        As for `Assigner`.
    """

    encoder: str
    column: str | None = None
    keep: Sequence[str] = ()

    def __call__(self, batch: Any) -> Any:
        column = sample_column(batch, self.column)
        samples = samples_of(batch, column)
        from c3clust.encoders import lazy_features
        from c3clust.estimator.cores import cores

        encoder = _encoder(self.encoder)
        dataset, at = _dataset(samples, encoder.load_options())
        with cores():
            empty = np.empty((0, encoder.width), np.float32)
            rows = empty if dataset is None else lazy_features(encoder, dataset).x[:]
        return with_columns(batch, column, self.keep, {"embedding": _spread([rows], at, len(samples))})


@lru_cache(maxsize=4)
def _encoder(spec: str) -> Any:
    import torch

    from c3clust import encoders, methods  # noqa: F401 - a run folder as an encoder is registered there

    return encoders.load(spec).to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))


def _spread(parts: Iterable[np.ndarray], at: np.ndarray, n: int) -> np.ndarray:
    """Rows at their positions among n; the others are NaN."""
    rows = np.concatenate(list(parts))
    whole = np.full((n, *rows.shape[1:]), np.nan, np.float32)
    whole[at] = rows
    return whole


def _dataset(samples: np.ndarray | list[Any], reading: dict[str, Any]) -> tuple[Dataset | None, np.ndarray]:
    """The samples that can be read, and their positions."""
    if len(samples) == 0:
        return None, np.empty(0, np.int64)
    if isinstance(samples, np.ndarray):
        good = np.isfinite(samples).all(axis=tuple(range(1, samples.ndim))) & (samples[0].size > 0)
        options = {name: reading[name] for name in ("pixel_max",) if name in reading}
        return (data.load(samples[good], **options) if good.any() else None), np.flatnonzero(good)
    if data.are_texts(samples):
        return data.load(samples), np.arange(len(samples))
    try:
        dataset = data.load(samples, **reading | {"max_bad": 1.0, "workers": 1})
    except DataError as error:  # all of them
        if not data.are_pictures(samples):
            raise
        log.warning("%s", error)
        return None, np.empty(0, np.int64)
    return dataset, np.array([int(name) for name in dataset.names])
