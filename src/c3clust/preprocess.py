"""Preprocessor: how a dataset becomes the samples that a network sees. Fitted once, saved with the model.

    dataset (pictures, vectors, texts, a table) -> encoder -> scaling -> size

An encoder is optional for pictures and vectors. It is not saved but named, with a hash of its weights: loading a model
needs it installed, and refuses another one than was used.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust import augment, checks, encoders
from c3clust.data.samples import ArrayLike, Dataset, Samples, Table, Texts
from c3clust.encoders import Encoder
from c3clust.errors import InputError, MissingExtraError

__all__ = ["SCALES", "InputOptions", "Prepared", "Preprocessor", "standard_scaling"]

SCALES = ("auto", "standard", "l2", "none")  # what a parameter `scale` may be
Scaling = tuple[Tensor, Tensor]  # mean and standard deviation of each feature
SCALING = ("scale.centre", "scale.spread")  # their names in a saved model
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InputOptions:
    """The parameters of an estimator that concern its input."""

    encoder: Any = None
    image_size: int | None = None
    scale: str = "auto"
    standardise: float = np.inf  # the largest number of features that scale="auto" standardises
    views: int = 0  # random views of each sample that an encoder makes features of
    finetune: bool = False
    quantise: bool = False  # pictures of floats become bytes, so that every way to give them has the same result

    def load_options(self) -> dict[str, Any]:
        """How files are read for `fit`: options for `data.load`."""
        return {"image_size": self.image_size, **encoders.load_options(self.encoder)}


@dataclass(frozen=True)
class Prepared:
    """What `Preprocessor.fit` returns: the samples as the network sees them, and how views of them are made."""

    x: ArrayLike
    policy: augment.Policy
    features: Samples | None = None  # before scaling, where an encoder made them
    encoder_note: dict[str, Any] | None = None  # for the record
    notes: list[str] = field(default_factory=list)


@dataclass
class Preprocessor:
    """Encoder, scaling and size of the input of one network."""

    encoder: Encoder | None = None
    finetune: bool = False  # the encoder is trained as a part of the network
    scaling: Scaling | None = None
    unit: bool = False  # feature vectors are scaled to unit length
    shape: tuple[int, ...] = ()  # of one sample, as the network sees it
    quantise: bool = False  # pictures of floats become bytes

    @classmethod
    def choose(cls, dataset: Dataset, options: InputOptions) -> tuple["Preprocessor", str | None]:
        """The preprocessor for these samples, not fitted yet, and perhaps a note about an encoder that would help."""
        if options.image_size is not None:
            checks.whole("image_size", options.image_size, why="it is a side in pixels. A usual value is 32.")
        spec, note = options.encoder, None
        needed = isinstance(dataset, Texts | Table) and spec in (None, "none")
        if needed or (isinstance(spec, str) and spec == "auto"):
            spec, note = encoders.auto(dataset)
        if spec is None and isinstance(dataset, Texts):
            raise MissingExtraError(note)
        if spec is None or spec == "none":
            return cls(unit=options.scale == "l2", quantise=options.quantise), note
        encoder = encoders.load(spec).resize_to(options.image_size)
        encoder.validate(dataset)
        if options.finetune and encoder.takes is not Samples:
            raise InputError(
                f"finetune=True trains encoders of pictures only, and {encoder} is one of {encoder.takes.noun}s."
            )
        encoder.fit(dataset)
        return cls(encoder, options.finetune, unit=options.scale == "l2", quantise=options.quantise), note

    @property
    def frozen_encoder(self) -> Encoder | None:
        """The encoder whose features the network is given; one that is trained with it is a part of it."""
        return None if self.finetune else self.encoder

    def fit(
        self,
        dataset: Dataset,
        options: InputOptions,
        policy: augment.Policy,
        *,
        device: torch.device,
        folder: Path | None = None,
        verbose: bool = False,
    ) -> Prepared:
        """Compute features, scaling and size. `folder` keeps features for the next run.

        Scaling and size that are set already, as those of a start, stay.
        """
        started, encoder = time.perf_counter(), self.encoder
        if encoder is None:
            return Prepared(self._fit_scaling(dataset, options), policy)
        encoder.to(device)
        note = {**encoder.describe(), "finetuned": self.finetune}
        notes: list[str] = []
        features, samples = None, dataset
        if not self.finetune:
            own = encoder.feature_policy(policy)
            views = options.views if own is None else 0
            samples = features = encoders.features(encoder, dataset, policy, views, folder=folder, verbose=verbose)
            note |= {"views": views, "augment": augment.spec(own or policy), "features": encoder.width}
            policy = own or augment.policy(features.policy)
            notes += encoder.notes
        x = self._fit_scaling(samples, options)
        if note["labels"] == "yes":
            notes.append(
                f"The encoder {note['name']} was trained with labels ({note['trained_on']}): on data like those, "
                "these clusters and scores are not unsupervised."
            )
        return Prepared(x, policy, features, note | {"seconds": time.perf_counter() - started}, notes)

    def load_options(self) -> dict[str, Any]:
        """How files are read for `predict`: options for `data.load`."""
        if self.frozen_encoder is not None:
            return self.frozen_encoder.load_options()
        if len(self.shape) == 1:
            return {"embeddings": True}
        return {"image_size": max(self.shape[-2:]), "channels": self.shape[0]}

    def transform(self, dataset: Dataset, device: torch.device) -> ArrayLike:
        """The samples as the network sees them; refused if they do not fit."""
        encoder = self.frozen_encoder
        if encoder is None or dataset.kind == "vector":  # they may be features already
            self._check_fit(dataset)
            return self._scaled(dataset.x)
        return self._scaled(encoders.lazy_features(encoder.to(device), dataset).x)

    def state(self) -> tuple[dict[str, Any] | None, dict[str, Tensor]]:
        """What a saved model contains: the description of the encoder, and tensors."""
        tensors = {} if self.scaling is None else dict(zip(SCALING, self.scaling, strict=True))
        return None if self.encoder is None else encoders.to_config(self.encoder), tensors

    @classmethod
    def from_state(
        cls,
        shape: tuple[int, ...],
        options: InputOptions,
        encoder: Any,
        tensors: Mapping[str, Tensor],
        given: Any = None,
    ) -> "Preprocessor":
        """What `state` described; `given` is an encoder that only the user's code can make."""
        scaling = (tensors[SCALING[0]], tensors[SCALING[1]]) if tensors.keys() >= set(SCALING) else None
        restored, unit = encoders.from_config(encoder, given), options.scale == "l2"
        return cls(restored, options.finetune, scaling, unit, shape, options.quantise)

    def _fit_scaling(self, samples: Dataset, options: InputOptions) -> ArrayLike:
        """Set the scaling and the shape."""
        scaled = self.encoder is not None and self.encoder.scaled
        few = len(samples.x.shape) == 2 and samples.x.shape[1] <= options.standardise
        standard = few and not scaled if options.scale == "auto" else options.scale == "standard"
        if len(samples.x.shape) != 2 or not standard:
            self.scaling = None
        elif self.scaling is None:
            self.scaling = standard_scaling(samples.x)
        shape = tuple(samples.x.shape[1:])
        if len(shape) == 3 and options.image_size is not None:
            shape = (shape[0], options.image_size, options.image_size)
        elif len(shape) == 3 and len(self.shape) == 3:
            shape = (shape[0], *self.shape[1:])
        self.shape = shape
        return self._scaled(samples.x)

    def _scaled(self, x: ArrayLike) -> ArrayLike:
        """Vectors standardised, of unit length, or unchanged. Pictures unchanged, or as bytes."""
        if len(self.shape) == 3 and self.quantise and x.dtype != np.uint8:
            return _Bytes(x)
        if len(self.shape) == 1 and self.unit:
            return _Scaled(x, None)
        return x if self.scaling is None else _Scaled(x, self.scaling)

    def _check_fit(self, dataset: Dataset) -> None:
        """Refuse samples that the model was not trained for: pictures for vectors, other channels, other features."""
        if not isinstance(dataset, Samples):
            raise InputError(f"This model was trained on samples of shape {self.shape}, not on {dataset.noun}s.")
        given, needed = tuple(dataset.x.shape[1:]), self.shape
        same = given == needed if len(needed) == 1 else len(given) == 3 and given[0] == needed[0]
        if not same:
            raise InputError(
                f"Samples of shape {given} do not fit this model: it was trained on {needed}"
                f"{' (channels, height, width; other sizes are resized)' if len(needed) == 3 else ''}."
            )


@dataclass(frozen=True)
class _Converted:
    """Samples x that are converted when they are read."""

    x: ArrayLike

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class _Bytes(_Converted):
    """Pictures in [0, 1], as bytes when they are read. Bytes that became float32 or float64 are themselves again."""

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.uint8)

    def __getitem__(self, index: Any) -> np.ndarray:
        return np.rint(np.asarray(self.x[index], dtype=np.float64) * 255).astype(np.uint8)


@dataclass(frozen=True)
class _Scaled(_Converted):
    """Feature vectors, standardised when they are read; without a scaling, each one scaled to unit length."""

    scaling: Scaling | None

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    @property
    def views(self) -> ArrayLike:
        """What pairs are drawn from: the stored views where there are some, else the samples."""
        if not hasattr(self.x, "views"):
            return self
        scaling = self.scaling and (self.scaling[0].float(), self.scaling[1].float())  # read at every step
        return _Scaled(self.x.views, scaling)

    def __getitem__(self, index: Any) -> np.ndarray:
        x = self.x[index]
        if self.scaling is None:
            return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)
        centre, spread = (t.numpy() for t in self.scaling)
        return ((x - centre) / spread).astype(np.float32)


def standard_scaling(x: ArrayLike) -> Scaling:
    """Mean and standard deviation of each feature in float64; a constant feature keeps its scale."""
    values = np.asarray(x[:], dtype=np.float64)
    largest = np.abs(values).max(axis=0).clip(1e-300)  # huge values must not overflow when squared
    spread = (values / largest).std(axis=0) * largest
    spread[spread <= 1e-12 * largest] = 1.0
    return torch.from_numpy(values.mean(axis=0)), torch.from_numpy(spread)
