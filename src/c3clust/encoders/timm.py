"""Encoders of timm: "timm:NAME", where timm can be imported (it needs torchvision)."""

import importlib

from c3clust.encoders.image import ImageEncoder
from c3clust.errors import MissingExtraError, RunError

__all__ = ["EXAMPLE", "claims", "load"]

EXAMPLE = "timm:NAME"
PREFIX = "timm:"


def claims(spec: str) -> bool:
    return spec.startswith(PREFIX)


def load(spec: str) -> ImageEncoder:
    """The model without its classifier, with the size, mean and std that timm gives for it."""
    try:
        timm = importlib.import_module("timm")
    except Exception as error:  # a torchvision that does not fit torch raises RuntimeError
        reason = str(error).splitlines()[0]
        raise MissingExtraError(
            f"encoder {spec} needs timm, which cannot be imported ({reason}): pip install timm."
        ) from None
    try:
        model = timm.create_model(spec.removeprefix(PREFIX), pretrained=True, num_classes=0)
        pixels = timm.data.resolve_model_data_config(model)
    except Exception as error:
        raise RunError(f"encoder {spec} cannot be loaded: {str(error).splitlines()[0]}") from None
    about = {
        "name": spec,
        "what": f"{type(model).__name__} of timm",
        "weights": "timm's",
        "licence": "see the model's card",
        "labels": "unknown",
        "trained_on": "unknown",
    }
    return ImageEncoder(spec, model, about, int(pixels["input_size"][-1]), pixels["mean"], pixels["std"])
