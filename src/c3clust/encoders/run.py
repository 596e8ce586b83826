"""A saved run as an encoder: its representation z is the feature vector."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust.augment import Policy
from c3clust.data.samples import Dataset, Samples
from c3clust.encoders.base import Encoder, about
from c3clust.files.atomic import read_bytes

EXAMPLES = {
    "RUN_FOLDER": "z of the network of a finished run",
    "RUN_FOLDER+SPEC": "the same, if that run has an encoder that is not built in",
}


class RunEncoder(Encoder):
    """The fitted `model` of a run folder. If the run has an encoder itself, it is applied first."""

    def __init__(self, spec: str, folder: str, model: Any) -> None:
        self.spec, self.model = spec, model
        self.inner: Encoder | None = model.preprocessor_.frozen_encoder
        if self.inner is not None:
            self.takes = self.inner.takes
            self.inner.to(model.device_)
        self._hash = hashlib.sha256(read_bytes(Path(folder) / "model.json")).hexdigest()

    @property
    def width(self) -> int:  # type: ignore[override]
        return self._transform(np.zeros((1, *self.model.input_shape_), np.float32)).shape[1]

    def describe(self) -> dict[str, Any]:
        inner = self.model.encoder_
        trained = {"labels": "no", "trained_on": "without labels"} if inner is None else inner.describe()
        kind, labels, trained_on = type(self.model).__name__, trained["labels"], trained["trained_on"]
        return about(self.spec, f"z of a run of {kind}", "the run folder", "its owner's", labels, trained_on)

    def rename(self, spec: str, name: str, weights: str) -> None:
        self.spec = spec

    def state(self) -> dict[str, Any]:
        return {"model": self._hash}

    def validate(self, dataset: Dataset) -> Dataset:
        if self.inner is not None:
            return self.inner.validate(dataset)
        self.model.preprocessor_.transform(dataset, self.model.device_)
        return dataset

    def load_options(self) -> dict[str, Any]:
        return self.model.preprocessor_.load_options()

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        if self.inner is not None:
            samples = self.inner.encode(samples, policy, generator).numpy()
        elif policy is not None and generator is not None:
            samples = policy(torch.as_tensor(samples), self.model.input_shape_[-2:], generator).numpy()
        return self._transform(samples)

    def _transform(self, x: np.ndarray) -> Tensor:
        return torch.from_numpy(self.model.transform(Samples(x, [str(i) for i in range(len(x))])))


@dataclass(frozen=True)
class Runs:
    """The type of encoder that is a folder with a saved model. `load_model` reads the folder.

    RUN_FOLDER+SPEC names the encoder of that run too, which is needed unless it is built in.
    """

    load_model: Callable[..., Any]
    EXAMPLES = EXAMPLES

    def claims(self, spec: str) -> bool:
        return _split(spec) is not None

    def load(self, spec: str) -> RunEncoder:
        folder, inner = _split(spec) or (spec, "")
        return RunEncoder(spec, folder, self.load_model(folder, **({"encoder": inner} if inner else {})))


def _split(spec: str) -> tuple[str, str] | None:
    """The folder of a spec and the encoder after it, if there is such a folder."""
    parts = spec.split("+")
    pairs = [("+".join(parts[:i]), "+".join(parts[i:])) for i in range(len(parts), 0, -1)]
    return next((pair for pair in pairs if (Path(pair[0]) / "model.json").is_file()), None)
