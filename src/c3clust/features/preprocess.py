"""Preprocessor: how a dataset becomes the samples that a network sees. Fitted once, saved with the model.

    dataset (images, vectors, texts, a table) -> encoder -> scaling -> size

An encoder is optional for images and vectors. It is not saved but named, with a hash of its weights: loading a model
needs it installed, and refuses another one than was used.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust import augment, checks, encoders
from c3clust.data.samples import ArrayLike, Dataset, Samples, Table, Texts
from c3clust.encoders import Encoder
from c3clust.errors import InputError, MissingExtraError
from c3clust.features.scaling import Converted, Scaled, Scaling, fit_scaling

__all__ = ["SCALES", "InputOptions", "Prepared", "Preprocessor"]

SCALES = ("auto", "standard", "l2", "none")  # what a parameter `scale` may be
SCALING = ("scale.centre", "scale.spread")  # names in a saved model, absent in older models that are not standardised
CLIPPED = ("scale.low", "scale.high")  # in a model of samples with extreme values
NOUNS = {"image": "images", "vector": "vectors", "text": "texts", "table": "rows of a table"}
COMPONENTS = "scale.components"  # of a model of a sparse matrix
PIXEL_MAX = "scale.pixel_max"  # 1, 255, or 0 for "type"; absent in older models, which look at the values of each call
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
    pixel_max: float | str | None = None  # of `data.load`, for new images
    components: np.ndarray | None = None  # [D, F] of the SVD that sparse rows are reduced by

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
            return cls(unit=options.scale == "l2"), note
        encoder = encoders.load(spec).resize_to(options.image_size)
        encoder.validate(dataset)
        if options.finetune and encoder.takes is not Samples:
            raise InputError(
                f"finetune=True only trains encoders of images, and {encoder} is one of {encoder.takes.noun}s."
            )
        encoder.fit(dataset)
        return cls(encoder, options.finetune, unit=options.scale == "l2"), note

    @property
    def frozen_encoder(self) -> Encoder | None:
        """The encoder whose features the network is given; one that is trained with it is a part of it."""
        return None if self.finetune else self.encoder

    @property
    def standardised(self) -> bool:
        """Whether each feature is divided by its own standard deviation."""
        return self.scaling is not None and self.scaling.standard

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
        if isinstance(dataset, Samples) and dataset.kind == "image":
            self.pixel_max = dataset.pixel_max or ("type" if dataset.x.dtype == np.uint8 else 1)
            dataset = _as_bytes(dataset)
        if encoder is None:
            x, lost = self._fit_scaling(dataset, options)
            return Prepared(x, policy, notes=lost)
        encoder.to(device)
        note = {**encoder.describe(), "finetuned": self.finetune}
        notes: list[str] = []
        features, samples = None, dataset
        if not self.finetune:
            own = encoder.feature_policy(policy)
            views = options.views if own is None else 0
            samples = features = encoders.features(encoder, dataset, policy, views, folder=folder, verbose=verbose)
            note |= {"views": views, "augment": augment.spec(own or policy), "features": encoder.width}
            policy = own or augment.policy(encoder.view_policy if views else "vector")
            notes += encoder.notes
        x, lost = self._fit_scaling(samples, options)
        notes += lost
        if note["labels"] == "yes":
            notes.append(
                f"The encoder {note['name']} was trained with labels ({note['trained_on']}): on data like those, "
                "these clusters and scores are not unsupervised."
            )
        return Prepared(x, policy, features, note | {"seconds": time.perf_counter() - started}, notes)

    def load_options(self) -> dict[str, Any]:
        """How files are read for `predict`: options for `data.load`."""
        if self.frozen_encoder is not None:
            return self.frozen_encoder.load_options() | {"pixel_max": self.pixel_max}
        if len(self.shape) == 1:
            return {"embeddings": True}
        return {"image_size": max(self.shape[-2:]), "channels": self.shape[0], "pixel_max": self.pixel_max}

    def transform(self, dataset: Dataset, device: torch.device) -> ArrayLike:
        """The samples as the network sees them; refused if they do not fit."""
        self._check_kind(dataset)
        self._check_pixels(dataset)
        dataset = _as_bytes(dataset)
        encoder = self.frozen_encoder
        if encoder is None or dataset.kind == "vector":  # they may be features already
            self._check_fit(dataset)
            return self._scaled(dataset.x)
        return self._scaled(encoders.lazy_features(encoder.to(device), dataset).x)

    def state(self) -> tuple[dict[str, Any] | None, dict[str, Tensor]]:
        """What a saved model contains: the description of the encoder, and tensors."""
        found = self.scaling
        values = () if found is None else (found.centre, found.spread, found.low, found.high)
        named = zip((*SCALING, *CLIPPED), values, strict=False)
        tensors = {name: torch.from_numpy(value) for name, value in named if value is not None}
        if self.components is not None:
            tensors[COMPONENTS] = torch.from_numpy(self.components)
        if self.pixel_max is not None:
            tensors[PIXEL_MAX] = torch.tensor(0.0 if self.pixel_max == "type" else float(self.pixel_max))
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
        known = tensors.keys() >= set(SCALING)
        names = (*SCALING, *CLIPPED) if tensors.keys() >= set(CLIPPED) else SCALING
        for name in names if known else ():
            if not tensors[name].is_floating_point() or tuple(tensors[name].shape) not in (shape, ()):
                raise InputError(f"its {name} is of type {tensors[name].dtype} and shape {tuple(tensors[name].shape)}.")
        scaling = Scaling(*(tensors[name].numpy() for name in names)) if known else None
        restored, unit = encoders.from_config(encoder, given), options.scale == "l2"
        pixel_max: float | str | None = None
        if PIXEL_MAX in tensors:
            pixel_max = float(tensors[PIXEL_MAX]) or "type"
            if pixel_max not in (1, 255, "type"):
                raise InputError(f"its {PIXEL_MAX} is {pixel_max}, and not 0, 1 or 255.")
        return cls(restored, options.finetune, scaling, unit, shape, pixel_max, _components(tensors, shape))

    def _fit_scaling(self, samples: Dataset, options: InputOptions) -> tuple[ArrayLike, list[str]]:
        """Set the scaling, unless it is that of a start, and the shape. Returns the samples and notes."""
        notes: list[str] = []
        if len(samples.x.shape) == 2 and not self.shape:
            scaled = self.encoder is not None and self.encoder.scaled
            few = samples.x.shape[1] <= options.standardise and not scaled
            each = few if options.scale == "auto" else options.scale == "standard"
            if each or not scaled:
                self.scaling, notes = fit_scaling(samples.x, each=each, unit=self.unit, names=samples.names)
        for note in notes:
            log.warning("%s", note)
        shape = tuple(samples.x.shape[1:])
        if len(shape) == 3 and options.image_size is not None:
            shape = (shape[0], options.image_size, options.image_size)
        elif len(shape) == 3 and len(self.shape) == 3:
            shape = (shape[0], *self.shape[1:])
        self.shape = shape
        return self._scaled(samples.x), notes

    def _scaled(self, x: ArrayLike) -> ArrayLike:
        """Vectors as float32, scaled; images unchanged."""
        return Scaled(x, self.scaling, self.unit) if len(self.shape) == 1 else x

    def _check_kind(self, dataset: Dataset) -> None:
        """Refuse texts for images, images for texts, and so on."""
        fitted: type[Dataset] = Samples if self.frozen_encoder is None else self.frozen_encoder.takes
        if not isinstance(dataset, Samples | fitted):
            vectors = self.frozen_encoder is None and len(self.shape) == 1
            needed = NOUNS["vector" if vectors else fitted.noun]
            raise InputError(f"These samples are {NOUNS[dataset.kind]}, and this model was fitted to {needed}.")

    def _check_pixels(self, dataset: Dataset) -> None:
        """Refuse images that were read with another value of white than the model was fitted with."""
        given = getattr(dataset, "pixel_max", None)
        if given is not None and self.pixel_max not in (None, "type", given):
            raise InputError(
                f"{dataset.place} was read as images with values from 0 to {given:g}, and this model was fitted with "
                f"values from 0 to {self.pixel_max:g}: load it with pixel_max={self.pixel_max:g}."
            )

    def _check_fit(self, dataset: Dataset) -> None:
        """Refuse samples that the model was not trained for: images for vectors, other channels, other features."""
        given, needed = tuple(dataset.x.shape[1:]), self.shape
        same = given == needed if len(needed) == 1 else len(given) == 3 and given[0] == needed[0]
        if not same:
            raise InputError(
                f"Samples of shape {given} do not fit this model: it was trained on {needed}"
                f"{' (channels, height, width; other sizes are resized)' if len(needed) == 3 else ''}."
            )


def _components(tensors: Mapping[str, Tensor], shape: tuple[int, ...]) -> np.ndarray | None:
    """The components [D, F] of a saved model of a sparse matrix, checked."""
    found = tensors.get(COMPONENTS)
    if found is None:
        return None
    if not found.is_floating_point() or found.ndim != 2 or (len(found),) != shape:
        raise InputError(f"its {COMPONENTS} is of type {found.dtype} and shape {tuple(found.shape)}.")
    return found.numpy()


def _as_bytes(dataset: Dataset) -> Dataset:
    """Images of floats as bytes, so that every way to give the same pictures has the same result."""
    floats = len(dataset.x.shape) == 4 and dataset.x.dtype != np.uint8
    return replace(dataset, x=_Bytes(dataset.x)) if floats else dataset


@dataclass(frozen=True)
class _Bytes(Converted):
    """Images in [0, 1], as bytes when they are read. Bytes that became float32 or float64 are themselves again."""

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.uint8)

    def __getitem__(self, index: Any) -> np.ndarray:
        return np.rint(np.asarray(self.x[index], dtype=np.float64) * 255).astype(np.uint8)
