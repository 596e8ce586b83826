"""A saved run as an encoder for another: its z are the features."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust.augment import Policy
from c3clust.data.samples import Samples
from c3clust.encoders import Encoder

__all__ = ["RunEncoder", "Runs"]


class RunEncoder(Encoder):
    """The fitted `model` of the run folder `spec`."""

    def __init__(self, spec: str, model: Any) -> None:
        self.spec, self.model = spec, model
        self._hash = hashlib.sha256((Path(spec) / "model.json").read_bytes()).hexdigest()
        inner = model.encoder_
        self._learned = {"labels": "no", "trained_on": "without labels"} if inner is None else inner.describe()
        frozen = model.preprocessor_.frozen_encoder
        self._shape = model.input_shape_ if frozen is None else (3, frozen.size, frozen.size)

    @property
    def width(self) -> int:
        return self.encode(np.zeros((1, *self._shape), np.float32)).shape[1]

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.spec,
            "what": f"z of a run of {type(self.model).__name__}",
            "weights": "the run folder",
            "licence": "its owner's",
            "labels": self._learned["labels"],
            "trained_on": self._learned["trained_on"],
        }

    def settings(self) -> dict[str, Any]:
        return {"model": self._hash}

    def check(self, images: Samples) -> None:
        self.model.preprocessor_.transform(images, self.model.device_)

    def reading(self) -> dict[str, Any]:
        return self.model.preprocessor_.load_options()

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        if policy is not None and generator is not None:
            samples = policy(torch.as_tensor(samples), self._shape[-2:], generator).numpy()
        return torch.from_numpy(self.model.transform(Samples(samples, [str(i) for i in range(len(samples))])))


@dataclass(frozen=True)
class Runs:
    """The kind of encoder that is a folder with a saved model."""

    load_model: Callable[[str], Any]
    EXAMPLE = "RUN_FOLDER"

    def claims(self, spec: str) -> bool:
        return (Path(spec) / "model.json").is_file()

    def load(self, spec: str) -> RunEncoder:
        return RunEncoder(spec, self.load_model(spec))
