"""Encoders of timm, "timm:NAME", if timm is installed (it needs torchvision)."""

import importlib

from c3clust.encoders.base import about
from c3clust.encoders.image import ImageEncoder
from c3clust.errors import MissingExtraError, RunError, first_line

EXAMPLES = {"timm:NAME": "photographs: a model of timm, which must be installed"}
PREFIX = "timm:"


def claims(spec: str) -> bool:
    return spec.startswith(PREFIX)


def load(spec: str) -> ImageEncoder:
    """The model without its classifier, with the size, mean and std of its configuration in timm."""
    try:
        timm = importlib.import_module("timm")
    except Exception as error:  # a torchvision that does not fit torch raises RuntimeError
        why = f"timm, which cannot be imported ({first_line(error)})"
        raise MissingExtraError(f"encoder {spec} needs {why}: pip install timm.") from None
    try:
        model = timm.create_model(spec.removeprefix(PREFIX), pretrained=True, num_classes=0)
        pixels = timm.data.resolve_model_data_config(model)
    except Exception as error:
        raise RunError(f"encoder {spec} cannot be loaded: {first_line(error)}.") from None
    entry = about(spec, f"{type(model).__name__} of timm", "timm's", "see the model's card")
    return ImageEncoder(spec, model, entry, int(pixels["input_size"][-1]), pixels["mean"], pixels["std"])
