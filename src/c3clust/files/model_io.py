"""One file format for models and checkpoints: PATH.safetensors (tensors) and PATH.json (plain values).

The JSON file is written last and holds a hash of both, so a file that is truncated, damaged or belongs to another one
is noticed. Reading executes nothing.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from c3clust.errors import RunError
from c3clust.files.atomic import read_bytes, read_json, write_atomically

__all__ = ["check_types", "not_finite", "read", "with_prefix", "without_prefix", "write"]

FORMAT = 1


def write(path: Path, content: dict[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write PATH.safetensors, then PATH.json with the format number and the hash."""
    weights = tensors_to_bytes({name: t.detach().cpu().contiguous() for name, t in tensors.items()})
    meta = {"format": FORMAT, "sha256": _digest(weights, content), **content}
    write_atomically(path.with_name(f"{path.name}.safetensors"), weights)
    write_atomically(path.with_name(f"{path.name}.json"), (json.dumps(meta, indent=1, allow_nan=False) + "\n").encode())


def read(path: Path, what: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Content and tensors of PATH; RunError, with `what` the files are, unless both are complete."""
    meta_path, weights_path = (path.with_name(f"{path.name}{ending}") for ending in (".json", ".safetensors"))
    try:
        meta = read_json(meta_path)
        weights = read_bytes(weights_path)
    except FileNotFoundError as error:
        if not path.parent.exists():
            raise RunError(f"{path.parent} does not exist: it should be a folder with a {what}.") from None
        raise RunError(f"{path.parent} contains no {what}: {Path(error.filename).name} is missing.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{meta_path} is not a {what} of c3clust: {error}.") from None
    if not isinstance(meta, dict) or meta.pop("format", None) != FORMAT:
        raise RunError(f"{meta_path} is not a {what} of c3clust of format {FORMAT}.")
    if meta.pop("sha256", None) != _digest(weights, meta):
        raise RunError(f"{weights_path} is truncated or damaged, or belongs to another {meta_path.name}. Fit again.")
    try:
        return meta, tensors_from_bytes(weights)
    except SafetensorError as error:
        raise RunError(f"{weights_path} is not a safetensors file: {error}.") from None


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """The name of the first tensor that holds NaN or infinity, if there is one."""
    return next((name for name, t in tensors.items() if t.is_floating_point() and not t.isfinite().all()), None)


def check_types(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """ValueError if a tensor has another type than the one of the same name: torch would only fail when it computes."""
    for name, tensor in tensors.items():
        if name in expected and tensor.dtype != expected[name].dtype:
            raise ValueError(f"{name} is of type {tensor.dtype}, not {expected[name].dtype}")


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under `prefix.name`."""
    return {f"{prefix}.{name}": t for name, t in tensors.items()}


def without_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with `prefix.`, under the rest of their names."""
    return {name.removeprefix(f"{prefix}."): t for name, t in tensors.items() if name.startswith(f"{prefix}.")}


def _digest(weights: bytes, content: dict[str, Any]) -> str:
    digest = hashlib.sha256(weights)
    digest.update(json.dumps(content, sort_keys=True).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
