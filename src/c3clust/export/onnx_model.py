"""A model that `to_onnx` wrote, run by onnxruntime: `load(path).predict(X)`. Neither torch nor scikit-learn is needed.

The file may be untrusted. It is parsed first, and is run only if it consists of operators that our own exports
have, names no other file, and no tensor is larger than it may be (docs/SECURITY.md).
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from c3clust import data
from c3clust.data.io.workers import requested_cores
from c3clust.data.samples import Dataset, Samples
from c3clust.errors import InputError, MissingExtraError, RunError, first_line
from c3clust.export import onnx_graph
from c3clust.files.atomic import expanded, read_bytes
from c3clust.files.limits import limit
from c3clust.files.schema import Clusters, Count, Limits, build
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits

__all__ = ["KEY", "Card", "OnnxModel", "from_bytes", "load", "require_packages"]

KEY = "c3clust"  # of metadata_props
VALUES = 2**23  # of one tensor in a batch: 32 MB
Side = Annotated[int, Limits(gt=0, lt=2**20)]


@dataclass(frozen=True)
class Card:
    """What the file says about itself, as JSON in its metadata.

    kind: "image": pixels [n, C, H, W] of any size, which the model resizes; "vector": the feature vectors [n, F] that
    it was fitted on; "features": those that `encoder`, which is not in the file, makes of texts or table rows.
    shape: of one sample as the network sees it, or of the features. reading: options of `data.load`.
    names: of clusters, by number. target: the cluster that each has become by merges.
    """

    method: str
    version: str
    kind: Literal["image", "vector", "features"]
    shape: Annotated[list[Side], Limits(min_length=1, max_length=3)]
    dtype: Literal["uint8", "float32", "float64"]
    n_clusters: Clusters
    reading: dict[
        Literal["image_size", "largest", "channels", "pixel_max", "embeddings"], bool | Side | Literal["type"]
    ] = field(default_factory=dict)
    encoder: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    target: list[Count] = field(default_factory=list)
    outliers: bool = False
    format: Literal[1] = 1


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model of one file.

    >>> from c3clust.export import onnx_model
    >>> onnx_model.load("model.onnx").predict("photos/")  # doctest: +SKIP
    """

    card: Card
    session: Any
    largest: int = 1  # values of a tensor, for one sample

    @property
    def names(self) -> dict[int, str]:
        """The names that clusters were given."""
        return {int(i): name for i, name in self.card.names.items()}

    def _edits(self) -> Edits:
        """The names and merges that the file has, checked."""
        edits, target = Edits(self.card.n_clusters), self.card.target
        for cluster in sorted(set(target)):
            others = [i for i, t in enumerate(target) if t == cluster and i != cluster]
            edits = edits.merge([cluster, *others]) if others else edits
        return edits.label(self.names) if self.names else edits

    def load_options(self) -> dict[str, Any]:
        """How files are read: options for `data.load`."""
        return {str(name): value for name, value in self.card.reading.items()}

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each sample: [n], after merges and splits; -1 for outliers of a model that leaves them out."""
        return self.assign(X).clusters

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each cluster: [n, M]."""
        return np.concatenate([proba for _, proba, _ in self._run(X)])

    def transform(self, X: Any) -> np.ndarray:
        """The representation z of each sample: [n, D]."""
        return np.concatenate([z for z, _, _ in self._run(X)])

    def assign(self, X: Any) -> Assignments:
        """Name, cluster and confidence of each sample."""
        dataset = self._read(X)
        parts = [(labels, confidence) for _, labels, confidence in self.assign_batches(dataset)]
        labels, confidence = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Assignments(dataset.names, labels, confidence)

    def assign_batches(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """z [N, D], cluster [N] and confidence [N] of some samples at a time, in order."""
        for z, proba, labels in self._run(X):
            yield z, labels, proba[range(len(labels)), labels]

    def _read(self, X: Any) -> Dataset:
        return X if isinstance(X, Dataset) else data.load(X, **self.load_options())

    def _run(self, X: Any) -> Iterator[Sequence[np.ndarray]]:
        dataset = self._read(X)
        self._check(dataset)
        step = min(max(VALUES // self.largest, 1), 512)
        index = [np.arange(i, min(i + step, len(dataset))) for i in range(0, len(dataset), step)]
        for x in data.batches(dataset.x, index):
            try:
                yield self.session.run(("z", "probabilities", "labels"), {"x": self._input(np.asarray(x))})
            except Exception as error:  # onnxruntime has its own errors, of any kind
                raise RunError(f"The ONNX model cannot be run on these samples: {first_line(error)}.") from None

    def _input(self, x: np.ndarray) -> np.ndarray:
        """Samples in the type and with the channels that the model takes."""
        if self.card.kind != "image":
            return np.ascontiguousarray(x, dtype=self.card.dtype)
        if x.shape[1] == 1 and self.card.shape[0] == 3:
            x = np.repeat(x, 3, axis=1)
        if self.card.dtype == "uint8":
            x = x if x.dtype == np.uint8 else np.rint(x.astype(np.float64) * 255).astype(np.uint8)
        else:
            x = (x / np.float32(255) if x.dtype == np.uint8 else x).astype(np.float32)
        return np.ascontiguousarray(x)

    def _check(self, dataset: Dataset) -> None:
        """Refuse samples that the model was not made for."""
        given, needed, kind = tuple(dataset.x.shape[1:]), tuple(self.card.shape), self.card.kind
        if not isinstance(dataset, Samples):
            takes = "images" if kind == "image" else f"vectors of {needed[0]} numbers"
            via = f" that the encoder {self.card.encoder} computes" if kind == "features" else ""
            raise InputError(f"These samples are {dataset.noun}s, and this ONNX model takes {takes}{via}.")
        same = given == needed if kind != "image" else len(given) == 3 and given[0] in (1, needed[0])
        if not same:
            resized = " (channels, height, width; other sizes are resized)" if kind == "image" else ""
            raise InputError(f"Samples of shape {given} do not fit this ONNX model: it takes {needed}{resized}.")


def load(path: str | Path) -> OnnxModel:
    """The model of a file that `to_onnx` wrote. Executes nothing but the operators of a neural network."""
    require_packages()
    path = expanded(path)
    try:
        content = read_bytes(path.resolve(), limit("C3CLUST_MAX_ONNX"))
    except FileNotFoundError:
        raise RunError(f"{path} does not exist: c3clust export RUN --format onnx writes such a file.") from None
    return from_bytes(content, path)


def from_bytes(content: bytes, path: Path) -> OnnxModel:
    """The model of the content of a file."""
    import onnxruntime

    card, largest = _checked(content, path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = requested_cores() or _threads_of_openmp()
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise RunError(f"{path} cannot be run by onnxruntime: {first_line(error)}.") from None
    return OnnxModel(card, session, largest)


def _threads_of_openmp() -> int:
    """OMP_NUM_THREADS, which onnxruntime does not read itself; 0 if it is not set: one thread per core."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() else 0


def require_packages() -> None:
    """MissingExtraError unless onnx and onnxruntime are installed."""
    if find_spec("onnxruntime") is None or find_spec("onnx") is None:
        raise MissingExtraError('ONNX models need onnx and onnxruntime: pip install "c3clust[onnx]".')


def _checked(content: bytes, path: Path) -> tuple[Card, int]:
    """The card of a model that may be run, and the number of values of its largest tensor; RunError of any other."""
    try:
        model = onnx_graph.parse(content)
        text = onnx_graph.metadata(model).get(KEY)
        if text is None:
            raise ValueError("it was not written by c3clust export RUN --format onnx")
        card = build(Card, json.loads(text), f"{path}: its metadata")
        side = max(int(card.reading.get(name, 1)) for name in ("image_size", "largest"))
        if 3 * side**2 > onnx_graph.LARGEST:
            raise ValueError(f"images with a side of {side:,} pixels are too large")
        return card, onnx_graph.check(model, tuple(card.shape))
    except (ValueError, RecursionError) as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{path} cannot be used as an ONNX model: {first_line(error)}.") from None
