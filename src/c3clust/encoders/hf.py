"""Encoders of Hugging Face transformers: "hf:NAME_OR_FOLDER", such as DINOv2, ViT or CLIP. A folder needs no network.

Only safetensors are read, and no code that comes with a model is run. Mean, std and size are those of its
preprocessor_config.json; pictures are resized to the size as a whole, where transformers may crop.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from c3clust.encoders.image import ImageEncoder
from c3clust.errors import MissingExtraError, RunError

__all__ = ["EXAMPLE", "claims", "load"]

EXAMPLE = "hf:NAME_OR_FOLDER"
PREFIX = "hf:"
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
UNLABELLED = {"dinov2", "dinov2_with_registers", "dinov3_vit", "ijepa", "vit_mae"}
CAPTIONED = {"clip", "clip_vision_model", "siglip", "siglip2", "siglip_vision_model", "align"}


class Pooled(nn.Module):
    """One row a picture: projected where the model has a text side, the class token where it has one, else the mean."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        names = [name for name, _ in model.named_parameters()]
        self.token = any(name.endswith(("cls_token", "class_embedding")) for name in names)

    def forward(self, x: Tensor) -> Tensor:
        model: Any = self.model
        if hasattr(model, "get_image_features"):
            found = model.get_image_features(pixel_values=x)
            return found if isinstance(found, Tensor) else found.pooler_output
        h = model(pixel_values=x).last_hidden_state  # [N, tokens, F], or [N, F, H, W]
        if h.ndim == 4:
            return h.mean(dim=(2, 3))
        return h[:, 0] if self.token else h.mean(dim=1)


def claims(spec: str) -> bool:
    return spec.startswith(PREFIX)


def load(spec: str) -> ImageEncoder:
    """The model with the way its pixels must look."""
    if find_spec("transformers") is None:
        raise MissingExtraError(f'encoder {spec} needs transformers: pip install "c3clust[hf]".')
    from transformers import AutoModel

    name = spec.removeprefix(PREFIX)
    local = Path(name).expanduser().is_dir()
    place, options = (str(Path(name).expanduser()) if local else name), {"local_files_only": local}
    try:
        model, told = AutoModel.from_pretrained(
            place,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            **options,
        )
        pixels = _pixels(place, options)
    except Exception as error:  # transformers raises almost anything on what it cannot read
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RunError(
            f"encoder {spec} cannot be loaded: {reason} Give a folder that holds config.json and model.safetensors, "
            "or the name of a model of huggingface.co."
        ) from None
    absent = [key for key in told["missing_keys"] if "pooler" not in key]
    if absent:
        raise RunError(f"encoder {spec} lacks weights, {absent[0]} among them: it is not whole.")
    side = (
        pixels.get("size") or getattr(getattr(model.config, "vision_config", model.config), "image_size", None) or 224
    )
    mean, std = pixels.get("mean", IMAGENET[0]), pixels.get("std", IMAGENET[1])
    return ImageEncoder(spec, Pooled(model), _about(spec, model.config, local), int(side), mean, std)


def _pixels(place: str, options: dict[str, Any]) -> dict[str, Any]:
    """Size, mean and std of the preprocessor's configuration; what it does not say is left out."""
    from transformers.image_processing_base import ImageProcessingMixin

    try:
        told, _ = ImageProcessingMixin.get_image_processor_dict(place, **options)
    except OSError:
        return {}
    size = (
        (told.get("crop_size") if told.get("do_center_crop", "crop_size" in told) else None) or told.get("size") or {}
    )
    side = size if isinstance(size, int) else size.get("height") or size.get("shortest_edge")
    found = {"size": side, "mean": told.get("image_mean"), "std": told.get("image_std")}
    if told.get("do_normalize") is False:
        found |= {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}
    return {name: value for name, value in found.items() if value}


def _about(spec: str, config: Any, local: bool) -> dict[str, Any]:
    kind = str(config.model_type)
    labels, trained_on = "unknown", "unknown"
    if kind in UNLABELLED:
        labels, trained_on = "no", "pictures without labels"
    elif kind in CAPTIONED:
        labels, trained_on = "yes", "pictures with captions"
    return {
        "name": spec,
        "what": f"{kind} of transformers",
        "weights": "a folder on this machine" if local else "huggingface.co",
        "licence": "see the model's card",
        "labels": labels,
        "trained_on": trained_on,
    }
