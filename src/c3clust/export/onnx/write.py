"""`to_onnx`: write a fitted estimator as an ONNX file, read it back, and compare its results with the estimator's."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust import __version__
from c3clust.encoders.compiled import TOLERANCE, exported
from c3clust.encoders.image import ImageEncoder
from c3clust.encoders.run import RunEncoder
from c3clust.errors import C3ClustError, InputError, RunError, first_line
from c3clust.export import onnx_model
from c3clust.export.onnx.fold import fold
from c3clust.export.onnx.graph import Deployed
from c3clust.features.preprocess import Preprocessor
from c3clust.files.atomic import write_atomically

__all__ = ["to_onnx"]

FAR = 1000  # spreads: farther from zero, float32 has too few digits of a vector
OPSET = 18  # the first with antialiased resizing


def to_onnx(model: Any, method: str, path: str | Path) -> Path:
    """Write the fitted estimator `model` of a method; RunError if it cannot be exported."""
    onnx_model.require_packages()
    path, card = Path(path), _card(model, method)
    if path.exists():
        raise RunError(f"{path} exists: give the name of a new file.")
    network = Deployed(model).eval()
    try:
        content = _finished(_export(network, card), card)
        found = onnx_model.from_bytes(content, path)
        _compare(network, found, card)
    except C3ClustError as error:
        raise RunError(f"{type(model).__name__} cannot be exported to ONNX: {first_line(error)}.") from None
    except Exception as error:  # networks of any kind are exported, and anything may fail
        raise RunError(f"{type(model).__name__} cannot be exported to ONNX: {first_line(error)}.") from error
    write_atomically(path, content)
    return path


def _card(model: Any, method: str) -> onnx_model.Card:
    preprocessor, edits = model.preprocessor_, model._edits()
    kind, shape, dtype = _input(preprocessor)
    encoder = preprocessor.frozen_encoder
    return onnx_model.Card(
        method,
        __version__,
        kind,  # type: ignore[arg-type]
        [int(side) for side in shape],
        dtype,  # type: ignore[arg-type]
        edits.n_all,
        _reading(preprocessor, kind, shape),
        None if encoder is None else str(encoder),
        {str(i): name for i, name in edits.names.items()},
        edits.target,
        bool(model.outliers),
    )


def _input(preprocessor: Preprocessor) -> tuple[str, tuple[int, ...], str]:
    """Kind, shape and type of what the file takes."""
    encoder, shape = preprocessor.frozen_encoder, preprocessor.shape
    if preprocessor.components is not None:
        raise InputError("it was fitted to a sparse matrix. Fit it to dense vectors")
    if isinstance(encoder, RunEncoder):
        return _input(encoder.model.preprocessor_)
    if encoder is not None and not isinstance(encoder, ImageEncoder):
        return "features", (encoder.width,), "float32"
    if encoder is None and len(shape) == 1:
        return "vector", shape, "float32" if _few_digits(preprocessor) else "float64"
    shape = shape if encoder is None else encoder.shape or ()
    return "image", shape, "uint8"


def _few_digits(preprocessor: Preprocessor) -> bool:
    """Whether float32 holds the vectors well before they are centred: no mean is far above its spread."""
    scaling = preprocessor.scaling
    return scaling is None or bool((np.abs(scaling.centre) <= FAR * scaling.spread).all())


def _reading(preprocessor: Preprocessor, kind: str, shape: tuple[int, ...]) -> dict[Any, Any]:
    """Options of `data.load` for new samples."""
    if kind != "image":
        return {"embeddings": True}
    options = preprocessor.load_options() | {"channels": shape[0]}
    whole = {name: int(value) if isinstance(value, float) else value for name, value in options.items()}
    return {name: value for name, value in whole.items() if value is not None}


def _export(network: Deployed, card: onnx_model.Card) -> bytes:
    varies = {0: "n"} if card.kind != "image" else {0: "n", 2: "height", 3: "width"}
    outputs: dict[str, dict[int, str]] = {name: {0: "n"} for name in ("z", "probabilities", "labels")}
    return exported(network, _samples(card, 2), {"x": varies, **outputs}, opset_version=OPSET)


def _samples(card: onnx_model.Card, n: int) -> Tensor:
    """Random samples, of another size than the network's if they are images."""
    random = torch.Generator().manual_seed(0)
    if card.kind != "image":
        return torch.randn(n, *card.shape, generator=random, dtype=getattr(torch, card.dtype))
    channels, height, width = card.shape
    pixels = torch.rand(n, channels, height + n, width + 1, generator=random)
    return (pixels * 255).to(torch.uint8) if card.dtype == "uint8" else pixels


def _finished(content: bytes, card: onnx_model.Card) -> bytes:
    import onnx

    model = onnx.load_model_from_string(content)
    fold(model)
    onnx.helper.set_model_props(model, {onnx_model.KEY: json.dumps(asdict(card))})
    model.producer_name, model.producer_version = "c3clust", __version__
    return model.SerializeToString(deterministic=True)


def _compare(network: Deployed, found: onnx_model.OnnxModel, card: onnx_model.Card) -> None:
    """RunError unless torch and onnxruntime agree on samples in another number than that of the export."""
    x = _samples(card, 3)
    with torch.inference_mode():
        z, proba, _ = (part.numpy() for part in network(x))
    for expected, other in ((z, found.transform(x.numpy())), (proba, found.predict_proba(x.numpy()))):
        if expected.shape != other.shape or np.abs(expected - other).max() > TOLERANCE * max(np.abs(expected).max(), 1):
            raise RunError("its results differ from those of torch")
