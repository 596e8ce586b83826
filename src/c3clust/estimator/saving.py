"""A saved model -> a fitted estimator. The files may be untrusted: docs/SECURITY.md has the rules.

Loading executes nothing from the files: the network is built on torch's meta device and then filled, so a file can
neither run code nor allocate more memory than its size. An encoder that is not built in is only loaded if the user
names it again.
"""

import inspect
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor
from typing_extensions import TypedDict

from c3clust import augment, checks, encoders
from c3clust.errors import InputError, MissingExtraError, RunError, first_line
from c3clust.estimator.splits import read_edits
from c3clust.features.outliers import PREFIX, OutlierRule
from c3clust.features.preprocess import Preprocessor
from c3clust.files import model_io
from c3clust.files.schema import Layout, Limits, Whole, build
from c3clust.runs.config import is_object
from c3clust.training.context import find_device, placed

__all__ = ["read_model", "restore"]

LARGEST = 2**26  # values of one image: 3 channels of 4096 x 4096 pixels
Side = Annotated[int, Limits(gt=0, lt=2**20)]


class EncoderEntry(TypedDict):
    """The entry `encoder`: what `encoders.to_config` returns."""

    spec: str
    settings: dict[str, Any]
    key: str
    about: dict[str, str | Whole | None]


@dataclass(frozen=True)
class Model:
    """model.json, without the hash and the number of the format."""

    method: str
    params: dict[str, Any]
    input_shape: Annotated[list[Side], Limits(min_length=1, max_length=3)]
    policy: dict[str, Any]
    encoder: Annotated[dict[str, Any], Layout(EncoderEntry)] | None = None


def read_model(folder: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The checked contents of model.json and the tensors of model.safetensors."""
    folder = Path(folder)
    meta, tensors = model_io.read(folder / "model", "saved model")
    shape = build(Model, meta, str(folder / "model.json")).input_shape
    if len(shape) == 2 or (len(shape) == 3 and math.prod(shape) > LARGEST):
        raise RunError(
            f"{folder / 'model.json'}: input_shape must be (features) or (channels, height, width) "
            f"with at most {LARGEST:,} values."
        )
    if broken := model_io.not_finite({name: t for name, t in tensors.items() if not name.startswith(PREFIX)}):
        raise RunError(f"{folder / 'model.safetensors'} contains NaN or infinity in {broken}: fit again.")
    return meta, tensors


def restore(
    cls: Any,
    folder: str | Path,
    given: dict[str, Any],
    meta: dict[str, Any],
    tensors: dict[str, Tensor],
    run: str | Path | None = None,
) -> Any:
    """A fitted estimator of class `cls` from the result of `read_model`; `given` contains parameters that are objects.

    run: the run folder, if `folder` is a change of one.
    `cls` is a subclass of `estimator.Estimator`, a module that this one must not import.
    """
    params = _params(cls, folder, given, meta)
    try:
        estimator = cls(**params)
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
        model_io.check_types(weights, network.state_dict())
        network.load_state_dict(weights, strict=True, assign=True)
    except MissingExtraError:
        raise
    except Exception as error:  # the values of parameters come from a file, and are used before they are all checked
        raise RunError(f"{folder} is damaged or of another kind: {first_line(error)}.") from error
    device = find_device(estimator._training_options().device)
    estimator.network_ = placed(network, shape, device).eval()
    estimator._steps_ = read_edits(run or folder, Path(folder), estimator.n_clusters_)
    if len(shape) == 1:
        components = estimator.preprocessor_.components
        estimator.n_features_in_ = shape[0] if components is None else components.shape[1]
    return estimator


def _params(cls: Any, folder: str | Path, given: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the estimator: those of the file, and those that the user gives."""
    for name in ("backbone", "encoder"):
        own = meta["params"].get(name)
        if is_object(own) and name not in given:
            raise RunError(
                f"{folder} was trained with your own module as {name} ({own['object']}), "
                f"which is not in the file: give it again as load(..., {name}=module)."
            )
    _require_consent(folder, meta, given)
    known = inspect.signature(cls).parameters
    if unknown := next((name for name in given if name not in known), None):
        raise InputError(f"{folder} is a model of {meta['method']}, which has no parameter {unknown!r}: omit it.")
    params = {name: value for name, value in meta["params"].items() if not is_object(value)}
    if unknown := next((name for name in params if name not in known), None):
        raise RunError(f"{folder}: {cls.__name__} has no parameter {unknown!r}; the model was made by another version.")
    return params | given


def _require_consent(folder: str | Path, meta: dict[str, Any], given: dict[str, Any]) -> None:
    """RunError if the files name an encoder that is not built in and the user does not."""
    if "encoder" in given:
        if meta.get("encoder") is None:
            raise RunError(f"{folder} was trained without an encoder: omit encoder={given['encoder']!r}.")
        return
    kept = meta.get("encoder")
    for spec in (kept.get("spec") if isinstance(kept, dict) else None, meta["params"].get("encoder")):
        if not is_object(spec) and not encoders.is_built_in(spec):
            raise RunError(
                f"{folder} names the encoder {str(spec)[:200]!r}, which is not built in: it is only loaded if you name "
                "it yourself. If you know where it comes from, give it again, by --encoder or load(..., encoder=)."
            )
