"""The interface of an encoder: dataset -> features [n, F]. Each type of encoder is one final subclass."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from c3clust.augment import Policy
from c3clust.data.samples import Dataset, Samples


def about(
    name: str, what: str, weights: str, licence: str = "unknown", labels: str = "unknown", trained_on: str = "unknown"
) -> dict[str, Any]:
    """An entry of the record: what an encoder is, the origin of its weights, whether it was trained with labels ("yes",
    "no" or "unknown"), and the training data.
    """
    return dict(locals())


class Encoder:
    """Turns a dataset into feature vectors.

    Attributes
    ----------
    spec : the string from which `encoders.load` makes the encoder again; "" for the user's own module.
    about : the entry of the record, made by `about`.
    width : the number of features F.
    takes : the type of dataset that it encodes: Samples, Texts or Table.
    batch : number of samples per batch, which bounds the memory.
    scaled : whether the features already have a common scale; they are not scaled again.
    init_head_from_features : whether the cluster head is initialised with the k-means clusters of the features, instead
        of those of the projections z trained on them.
    view_policy : name of the policy that is applied to the stored views when a pair is drawn.
    notes : sentences from `fit` for the report of a run.
    """

    spec: str = ""
    about: Mapping[str, Any]
    width: int
    takes: type[Dataset] = Samples
    batch: int = 64
    scaled: bool = False
    init_head_from_features: bool = False
    view_policy: str = "none"
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        return str(self.describe()["name"])

    def describe(self) -> dict[str, Any]:
        return dict(self.about)

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        """Features [N, F], float32 on the CPU, of one batch of samples.

        With a policy, the features of one random view of each sample; all random numbers come from the generator.
        """
        raise NotImplementedError

    def validate(self, dataset: Dataset) -> Dataset:
        """The dataset in the form that `encode` needs. InputError if it cannot be encoded."""
        return dataset

    def feature_policy(self, policy: Policy) -> Policy | None:
        """The policy that makes views from the features, if that replaces views of the samples; else None."""
        return None

    def rename(self, spec: str, name: str, weights: str) -> None:
        """Use the name and the place that the encoder had when it was used: they are parts of its key."""
        self.spec, self.about = spec, {**self.about, "name": name, "weights": weights}

    def fit(self, dataset: Dataset) -> None:
        """Learn the parameters that depend on the data. Pretrained encoders have none."""

    def state(self) -> dict[str, Any]:
        """The learned parameters and settings for a saved model, as JSON values."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore the result of `state`."""

    def load_options(self) -> dict[str, Any]:
        """Options of `data.load` for this encoder."""
        return {}

    def resize_to(self, size: int | None) -> "Encoder":
        """Set the size in pixels to which images are resized; None keeps it. Other encoders ignore it."""
        return self

    def classes(self) -> tuple[Sequence[str], Callable[[Tensor], Tensor]] | None:
        """Names of the classes that the encoder was trained to predict, and features [N, F] -> their probabilities.

        None if it has none. They are only used to name clusters.
        """
        return None

    def to(self, device: torch.device) -> "Encoder":
        return self

    def key(self) -> str:
        """A hash of everything that determines the features."""
        entry = {key: value for key, value in self.describe().items() if key != "weights_sha256"}  # tensors count
        plain = {"spec": self.spec, "kind": self.takes.noun, "settings": self.state(), "about": entry}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def hash_tensors(tensors: dict[str, Tensor], prefix: str = "") -> str:
    """SHA-256 of the names, shapes, types and values of tensors."""
    digest = hashlib.sha256(prefix.encode())
    for name, tensor in tensors.items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
