"""A saved model -> a fitted estimator. The files may come from a stranger: docs/SECURITY.md has the rules.

Loading executes nothing from the files: the network is built on torch's meta device and then filled, so a file can
neither run code nor ask for more memory than it has. An encoder that is not built in is loaded only if the user names
it again.
"""

import inspect
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from c3clust import augment, checks, encoders, model_io
from c3clust.errors import InputError, RunError
from c3clust.outliers import PREFIX, OutlierRule
from c3clust.preprocess import Preprocessor
from c3clust.records.edits import Edits
from c3clust.runs.config import is_object
from c3clust.training.context import find_device, placed

__all__ = ["read_model", "restore"]


def read_model(folder: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The checked contents of model.json and the tensors of model.safetensors."""
    folder = Path(folder)
    meta, tensors = model_io.read(folder / "model", "saved model")
    for name, kind in {"method": str, "params": dict, "input_shape": list, "policy": dict}.items():
        if not isinstance(meta.get(name), kind):
            raise RunError(f"{folder / 'model.json'}: the field {name!r} is missing or not a {kind.__name__}.")
    shape = meta["input_shape"]
    if not all(isinstance(v, int) and 0 < v < 2**20 for v in shape) or len(shape) not in (1, 3):
        raise RunError(f"{folder / 'model.json'}: input_shape must be (features) or (channels, height, width).")
    return meta, tensors


def restore(
    cls: type, folder: str | Path, given: dict[str, Any], meta: dict[str, Any], tensors: dict[str, Tensor]
) -> Any:
    """A fitted estimator of class `cls` from what `read_model` returned; `given` holds parameters that are objects."""
    for name in ("backbone", "encoder"):
        own = meta["params"].get(name)
        if is_object(own) and name not in given:
            raise RunError(
                f"{folder} was trained with a module of your own as {name} ({own['object']}), "
                f"which is not in the file: give it again as load(..., {name}=module)."
            )
    _require_consent(folder, meta, given)
    params = {name: value for name, value in meta["params"].items() if not is_object(value)}
    for name in params:
        if name not in inspect.signature(cls).parameters:
            raise RunError(f"{folder}: {cls.__name__} has no parameter {name!r}; the model is of another version.")
    older = {name: value for name, value in cls.older_models.items() if name not in meta["params"]}  # type: ignore[attr-defined]
    estimator = cls(**(older | params | given))
    try:
        checks.whole("n_clusters", estimator.n_clusters, why="it is the number of clusters.")
        estimator._check_params()
        known = "policy" in meta["policy"]
        estimator.policy_ = augment.spec(augment.policy(meta["policy"])) if known else meta["policy"]
        shape = tuple(meta["input_shape"])
        estimator.preprocessor_ = Preprocessor.from_state(
            shape, estimator._input_options(), meta.get("encoder"), tensors, given.get("encoder")
        )
        with torch.device("meta"):
            network = estimator._build_network(shape)
        estimator.outlier_rule_ = OutlierRule.of(tensors)
        weights = {name: t for name, t in tensors.items() if not name.startswith(("scale.", PREFIX))}
        network.load_state_dict(weights, strict=True, assign=True)
    except (RuntimeError, InputError, TypeError, ValueError) as error:
        raise RunError(f"{folder} is damaged or of another kind: {str(error).splitlines()[0]}") from None
    device = find_device(estimator._training_options().device)
    estimator.network_ = placed(network, shape, device).eval()
    estimator._edits_ = Edits.read(Path(folder), estimator.n_clusters)
    if len(shape) == 1:
        estimator.n_features_in_ = shape[0]
    return estimator


def _require_consent(folder: str | Path, meta: dict[str, Any], given: dict[str, Any]) -> None:
    """RunError if the files name an encoder that is not built in and the user does not."""
    if "encoder" in given:
        if meta.get("encoder") is None:
            raise RunError(f"{folder} was trained without an encoder: leave encoder={given['encoder']!r} out.")
        return
    kept = meta.get("encoder")
    for spec in (kept.get("spec") if isinstance(kept, dict) else None, meta["params"].get("encoder")):
        if not is_object(spec) and not encoders.is_built_in(spec):
            raise RunError(
                f"{folder} names the encoder {str(spec)[:200]!r}, which is not built in: it is loaded only if you name "
                "it yourself. If you know where it comes from, give it again, by --encoder or load(..., encoder=)."
            )
