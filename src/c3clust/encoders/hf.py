"""Encoders of Hugging Face transformers: "hf:NAME_OR_FOLDER", such as DINOv2, ViT or CLIP. A folder needs no network.

Weights are read from safetensors only, and no code that comes with a model is run. Mean, std and size are those of
preprocessor_config.json; images are resized without cropping, where transformers may crop.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from c3clust.encoders.base import about
from c3clust.encoders.image import ImageEncoder
from c3clust.errors import MissingExtraError, RunError, first_line
from c3clust.files.atomic import expanded

EXAMPLES = {
    "hf:NAME_OR_FOLDER": "photographs: a vision model of transformers, from a folder or huggingface.co; c3clust[hf]",
}
PREFIX = "hf:"
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
UNLABELLED = {"dinov2", "dinov2_with_registers", "dinov3_vit", "ijepa", "vit_mae"}
CAPTIONED = {"clip", "clip_vision_model", "siglip", "siglip2", "siglip_vision_model", "align"}


class Pooled(nn.Module):
    """One vector per image: the projection of a model with text, else the class token, else the mean token."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        names = [name for name, _ in model.named_parameters()]
        self.token = any(name.endswith(("cls_token", "class_embedding")) for name in names)

    def forward(self, x: Tensor) -> Tensor:
        if hasattr(self.model, "get_image_features"):
            found = self.model.get_image_features(pixel_values=x)
            return found if isinstance(found, Tensor) else found.pooler_output
        h = self.model(pixel_values=x).last_hidden_state  # [N, tokens, F], or [N, F, H, W]
        if h.ndim == 4:
            return h.mean(dim=(2, 3))
        return h[:, 0] if self.token else h.mean(dim=1)


def claims(spec: str) -> bool:
    return spec.startswith(PREFIX)


def load(spec: str) -> ImageEncoder:
    if find_spec("transformers") is None:
        raise MissingExtraError(f'encoder {spec} needs transformers: pip install "c3clust[hf]".')
    from transformers import AutoModel

    name = spec.removeprefix(PREFIX)
    local = expanded(name).is_dir()
    place, options = (str(expanded(name)) if local else name), {"local_files_only": local}
    try:
        with quiet_transformers():
            model, absent = pretrained(AutoModel, place, trust_remote_code=False, **options)
        pixels = _pixels(place, options)
    except Exception as error:  # transformers raises almost any exception for damaged files
        raise RunError(
            f"encoder {spec} cannot be loaded: {first_line(error)}. Give a folder that holds config.json and "
            "model.safetensors, or the name of a model of huggingface.co."
        ) from None
    if absent:
        raise RunError(f"encoder {spec} lacks weights, {absent[0]} among them: it is incomplete.")
    own = getattr(model.config, "vision_config", model.config)
    side = pixels.get("size") or getattr(own, "image_size", None) or 224
    mean, std = pixels.get("mean", IMAGENET[0]), pixels.get("std", IMAGENET[1])
    kind, origin = str(model.config.model_type), "a local folder" if local else "huggingface.co"
    unlabelled, captioned = ("no", "images without labels"), ("yes", "images with captions")
    trained = unlabelled if kind in UNLABELLED else captioned if kind in CAPTIONED else ()
    entry = about(spec, f"{kind} of transformers", origin, "see the model's card", *trained)
    return ImageEncoder(spec, Pooled(model), entry, int(side), mean, std)


def pretrained(model_class: Any, place: str, **options: Any) -> tuple[Any, list[str]]:
    """A model, and the weights that its file does not contain: transformers would initialise them at random."""
    settings = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
    model, info = model_class.from_pretrained(place, **settings, **options)
    return model, sorted(key for key in info["missing_keys"] if "pooler" not in key)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without the progress bars and warnings of transformers."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _pixels(place: str, options: dict[str, Any]) -> dict[str, Any]:
    """Size, mean and std of the preprocessor's configuration, as far as it contains them."""
    from transformers.image_processing_base import ImageProcessingMixin

    try:
        config, _ = ImageProcessingMixin.get_image_processor_dict(place, **options)
    except OSError:
        return {}
    crop = config.get("crop_size") if config.get("do_center_crop", "crop_size" in config) else None
    size = crop or config.get("size") or {}
    side = size if isinstance(size, int) else size.get("height") or size.get("shortest_edge")
    found = {"size": side, "mean": config.get("image_mean"), "std": config.get("image_std")}
    if config.get("do_normalize") is False:
        found |= {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}
    return {name: value for name, value in found.items() if value}
