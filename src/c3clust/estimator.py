"""The one mixin: what every method can do once it says how it fits.

A method supplies three things: `_check_params()`, `_build_network(shape)` and `_fit(bench) -> network`, where the
network maps prepared samples to (z, c). From these the mixin makes `fit`, `predict`, `predict_proba`, `transform`,
`save` and the way back. A saved model is two files: model.safetensors (tensors) and model.json (everything else,
with the hash of the first). Loading executes nothing and builds the network on the meta device first, so a file
can neither run code nor ask for more memory than it brings.

A method with the parameter `encoder` may be given samples that an encoder (encoders/) turns into features first. The
encoder itself is not saved, but named: loading needs it installed, and refuses another one than was used.
"""

import hashlib
import inspect
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from c3clust import augment, checks, data, encoders
from c3clust.data.io.batches import batches
from c3clust.data.samples import ArrayLike, Dataset, Samples, Table, Texts
from c3clust.errors import InputError, MissingExtraError, RunError
from c3clust.files import write_atomically
from c3clust.runs.config import Request, taken_up
from c3clust.training.checkpoint import Checkpoints
from c3clust.training.loop import Objective, Stage, embed, train
from c3clust.training.objective import Monitor

__all__ = ["SCALES", "Bench", "EstimatorMixin", "find_device", "read_model", "restore", "standard_scaling"]

FORMAT = 1
FEATURES = "c3clust-features"  # beside the run folders: what encoders made, for the next run
SCALES = ("auto", "standard", "l2", "none")  # what a parameter `scale` may be
LARGEST = 1e15  # a value whose square, summed over a million features, is still finite in float32
log = logging.getLogger(__name__)
Network = TypeVar("Network", bound=nn.Module)


@dataclass
class Bench:
    """What a method trains with: the samples, how views are made, the randomness; and what has been trained so far."""

    images: Dataset
    x: ArrayLike  # theirs or their features, scaled if they are vectors
    shape: tuple[int, ...]  # of one sample, as the network sees it
    policy: augment.Policy
    seed: int
    device: torch.device
    verbose: bool
    compile: bool = False
    generator: torch.Generator = field(init=False)
    stages: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # sentences for the owner of the run
    checkpoints: Checkpoints | None = None
    encoded: Samples | None = None  # the images as features, where an encoder made some

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.seed)

    def restart(self, seed: int, checkpoints: Checkpoints) -> None:
        """Begin with this seed, or go on from the checkpoints."""
        self.seed, self.checkpoints = seed, checkpoints
        self.generator.manual_seed(seed)

    @property
    def size(self) -> tuple[int, ...]:
        """(height, width) of pictures, (features,) of vectors."""
        return self.shape[-2:]

    def build(self, make: Callable[[tuple[int, ...]], Network]) -> Network:
        """A new network with seeded weights, on the device."""
        return placed(make(self.shape), self.shape, self.device)

    def train(
        self, stage: Stage, network: nn.Module, objective: Objective, guard: Monitor | None = None
    ) -> dict[str, Any]:
        """Train one stage, note its curves, and return the note. A stage that was finished before is read instead."""
        number, kept = len(self.stages), self.checkpoints
        note = None if kept is None else kept.restore_end(number, network, self.generator)
        if note is None:
            setting = (self.x, self.policy, self.size, self.generator, self.verbose)
            with compiled(network if self.compile else None):
                curves = train(stage, network, objective, *setting, kept, number, guard)
            seconds = sum(curves.get("seconds", []))
            note = {"name": stage.name, "epochs": len(curves.get("loss", [])), "seconds": seconds, "curves": curves}
            if guard is not None:
                note["guard"] = guard.report(curves, stage.name)
                for text in note["guard"]["told"]:
                    log.warning("%s", text)
            if kept is not None:
                kept.save_end(number, network, self.generator, note)
        self.stages.append(note)
        return note

    def width(self, network: nn.Module) -> int:
        """How many features z has."""
        return int(next(embed(network, self.x[:1], self.size))[0].shape[1])

    def pixels(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """The chosen samples (None: all) as the network sees them, one row each: [n, D] float32, all in memory."""
        chosen = np.arange(len(self.x)) if chosen is None else chosen
        index = [chosen[i : i + 1024] for i in range(0, len(chosen), 1024)]
        rows = [augment.prepare(torch.from_numpy(x), self.size).flatten(1) for x in batches(self.x, index)]
        pixels = torch.cat(rows).numpy()
        largest = np.abs(pixels).max(initial=0.0)
        if largest > LARGEST:
            raise InputError(
                f"A value of {largest:.1e} is too large for squared distances in float32: scale the features, "
                f"for example to standard deviation 1, so that none exceeds {LARGEST:.0e}."
            )
        return pixels

    def codes(self, network: nn.Module) -> np.ndarray:
        """z [n, D] of the clean samples."""
        return np.concatenate([z.numpy() for z, _ in embed(network, self.x, self.size)])

    def features(self, network: Any) -> tuple[Tensor, Tensor]:
        """z [n, D] and h [n, F] of the clean samples, on the CPU; for networks that encode and project."""
        rows = list(embed(network, self.x, self.size, lambda x: (network.project(h := network.encode(x)), h)))
        return torch.cat([z for z, _ in rows]), torch.cat([h for _, h in rows])

    def assignments(self, network: nn.Module) -> np.ndarray:
        """Soft assignments [n, M] of the clean samples."""
        return np.concatenate([c.numpy() for _, c in embed(network, self.x, self.size)])


def find_device(device: str) -> torch.device:
    """ "auto" is CUDA where there is one, else MPS, else the CPU; anything else is taken at its word."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f'device={device!r} cannot be used here: {reason} Use device="auto" or "cpu".') from None
    return torch.device(device)


def placed(network: Network, shape: tuple[int, ...], device: torch.device) -> Network:
    """The network on its device, channels last if it sees pictures: up to 1.7x faster on a CPU."""
    network = network.to(device)
    return network.to(memory_format=torch.channels_last) if len(shape) == 3 else network  # type: ignore[call-overload]


@contextmanager
def compiled(network: Any) -> Iterator[None]:
    """The encoder f of `network` (None: nothing) runs compiled meanwhile; the network itself stays as it is."""
    if network is None:
        yield
        return
    from torch._dynamo.exc import TorchDynamoException

    try:
        network.f.compile()
        yield
    except TorchDynamoException as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"compile=True cannot be used here: {reason} Leave compile out; it changes only speed."
        ) from None
    finally:
        network.f._compiled_call_impl = None


class EstimatorMixin(ClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`fit`, `predict`, `predict_proba`, `transform`, `save` for a class that defines the three methods below."""

    standardises = True  # feature vectors are scaled to mean 0 and standard deviation 1 before anything else

    # What a method defines.

    def _check_params(self) -> None:
        raise NotImplementedError

    def _build_network(self, shape: tuple[int, ...]) -> nn.Module:
        raise NotImplementedError

    def _fit(self, bench: Bench) -> nn.Module:
        raise NotImplementedError

    # What a user calls.

    def fit(self, X: Any, y: Any = None, run_dir: str | Path | None = None, checkpoint_minutes: float = 10.0) -> Any:
        """Cluster X: images [n, C, H, W], [n, H, W] or [n, H, W, C], vectors [n, F], texts, a data frame, a path or
        Samples. y is ignored.

        With `run_dir`, training leaves a checkpoint in that folder each epoch, and after so many minutes. If it is
        killed, the same call goes on from the last one and ends with the same network, bit for bit on the CPU. Once
        fitted, the model is saved there.
        """
        checks.number("checkpoint_minutes", checkpoint_minutes, 0, why="it is a time. A usual value is 10.")
        bench = self.prepare(X)
        if run_dir is None:
            return self.train(bench)
        folder = new_folder(run_dir)
        request = self.request(bench, folder, checkpoint_minutes=float(checkpoint_minutes))
        with taken_up(folder, request) as checkpoints:
            bench.restart(request.seed, checkpoints)
            self.train(bench)
            try:
                self.save(folder)
            except OSError as error:
                raise RunError(
                    f"The estimator is fitted, but {folder} cannot be written: {error.strerror}. Save it elsewhere "
                    "with save(), or make room: the same call then goes on from the last checkpoint."
                ) from None
            checkpoints.remove()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each sample: [n]."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Soft assignment of each sample: [n, M], rows sum to 1."""
        return np.concatenate([c.numpy() for _, c in self._embed(X)])

    def transform(self, X: Any) -> np.ndarray:
        """The learned representation z of each sample: [n, D]."""
        return np.concatenate([z.numpy() for z, _ in self._embed(X)])

    def save(self, folder: str | Path) -> Path:
        """Write model.safetensors and model.json into `folder` (made if need be): all that `predict` needs."""
        check_is_fitted(self)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        state = {name: t.detach().cpu().contiguous() for name, t in self.network_.state_dict().items()}
        if self._scale is not None:
            state |= {"scale.centre": self._scale[0], "scale.spread": self._scale[1]}
        encoder = getattr(self, "encoder_", None)
        weights = tensors_to_bytes(state)
        meta = {
            "format": FORMAT,
            "method": _method(self),
            "params": self.plain_params(),
            "input_shape": list(self.input_shape_),
            "policy": self.policy_,
            "encoder": None if encoder is None else encoders.to_config(encoder),
            "sha256": hashlib.sha256(weights).hexdigest(),
        }
        write_atomically(folder / "model.safetensors", weights)
        write_atomically(folder / "model.json", (json.dumps(meta, indent=1, allow_nan=False) + "\n").encode())
        return folder

    def plain_params(self) -> dict[str, Any]:
        """The parameters as JSON can hold them; an object of the user's own is named by its class."""
        return {name: _plain(value) for name, value in self.get_params(deep=False).items()}

    @property
    def device_(self) -> torch.device:
        """Where the network is."""
        return next((t.device for t in self.network_.state_dict().values()), torch.device("cpu"))

    # How it is done.

    def prepare(self, X: Any) -> Bench:
        """Check the parameters and the samples, and lay out what training needs."""
        checks.whole("n_clusters", self.n_clusters, why="it is the number of clusters. Give at least 1.")
        self._check_params()
        images = self._read(X, reset=True)
        if len(images) < max(self.n_clusters, 2):
            raise InputError(
                f"n_clusters={self.n_clusters} clusters cannot be made of n_samples={len(images)} "
                f"{'sample' if len(images) == 1 else 'samples'}: give at least 2 samples, "
                "and as many as there are clusters."
            )
        bench = self._bench(images)
        self.encoder_, note = self._chosen_encoder(images)
        if note:
            bench.notes.append(note)
            if bench.verbose:
                log.warning("%s", note)
        if self.encoder_ is None or getattr(self, "finetune", False):
            self._lay_out(bench, images)
        return bench

    def train(self, bench: Bench) -> Any:
        """Train what `prepare` laid out, and set the learned attributes."""
        self.encoder_note_ = None if self.encoder_ is None else self._use_encoder(bench, self.encoder_)
        with torch.random.fork_rng(devices=[bench.device] if bench.device.type == "cuda" else []):
            torch.manual_seed(bench.seed)
            self.network_ = self._fit(bench).eval()
        c = bench.assignments(self.network_)
        self.labels_, self.confidence_ = c.argmax(axis=1), c.max(axis=1)
        self._n_features_out = bench.width(self.network_)
        self.policy_, self.stages_, self.notes_ = augment.spec(bench.policy), bench.stages, bench.notes
        return self

    def request(self, bench: Bench, folder: Path, **more: Any) -> Request:
        """What this fit asks for. Where no seed is given, that of an unfinished fit in `folder` holds."""
        seed = bench.seed
        if not isinstance(self.random_state, int | np.integer) and (folder / "request.json").exists():
            seed = Request.read(folder).seed
        images = bench.images
        known = {
            "n": len(images),
            "shape": [int(k) for k in images.x.shape[1:]],
            "fingerprint": data.fingerprint(images),
        }
        return Request(_method(self), self.plain_params(), seed, known, **more)

    def _scaling(self, x: ArrayLike) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of each feature."""
        return standard_scaling(x)

    def _read(self, X: Any, reset: bool) -> Dataset:
        """X as Samples, checked; vectors by scikit-learn's own rules."""
        if isinstance(X, str | Path):
            return data.load(X, **(self.asks() if reset else self.wants()))
        if isinstance(X, Dataset) or (isinstance(X, np.ndarray | Tensor) and X.ndim > 2):
            return data.load(X)
        if data.are_texts(X) or (data.is_frame(X) and (data.has_gaps_or_words(X) or (not reset and self._takes_rows))):
            return data.load(X, **({} if reset else self.wants()))
        X = X.detach().cpu().numpy() if isinstance(X, Tensor) else X
        return data.load(validate_data(self, X, reset=reset, dtype=[np.float64, np.float32]))

    @property
    def _takes_rows(self) -> bool:
        """Whether this fitted model was trained on a table."""
        return self._frozen_encoder is not None and self._frozen_encoder.takes is Table

    def asks(self) -> dict[str, Any]:
        """How files are to be read for `fit`: options for `data.load`."""
        return {"image_size": getattr(self, "image_size", None), **encoders.load_options(self._asked_encoder())}

    def wants(self) -> dict[str, Any]:
        """How files are to be read for this fitted model: options for `data.load`."""
        if self._frozen_encoder is not None:
            return self._frozen_encoder.load_options()
        if len(self.input_shape_) == 1:
            return {"embeddings": True}
        return {"image_size": max(self.input_shape_[-2:]), "channels": self.input_shape_[0]}

    def _shape(self, images: Dataset) -> tuple[int, ...]:
        side = getattr(self, "image_size", None)
        shape = tuple(images.x.shape[1:])
        if len(shape) == 3 and side is not None:
            side = checks.whole("image_size", side, why="it is a side in pixels. A usual value is 32.")
            return (shape[0], side, side)
        return shape

    # The encoder: which one, and its features.

    def _asked_encoder(self) -> Any:
        """The parameter `encoder`; "auto" gives way to a backbone that was chosen."""
        asked = getattr(self, "encoder", None)
        return None if asked == "auto" and getattr(self, "backbone", "auto") != "auto" else asked

    def _chosen_encoder(self, images: Dataset) -> tuple[encoders.Encoder | None, str | None]:
        """The encoder for these samples, if one is asked for; and perhaps a note about one that would help."""
        asked, note = self._asked_encoder(), None
        needed = isinstance(images, Texts | Table) and asked in (None, "none")
        if needed or (isinstance(asked, str) and asked == "auto"):
            asked, note = encoders.auto(images)
        if asked is None and isinstance(images, Texts):
            raise MissingExtraError(note)
        if asked is None or asked == "none":
            return None, note
        encoder = encoders.load(asked).resize_to(getattr(self, "image_size", None))
        encoder.validate(images)
        if getattr(self, "finetune", False) and encoder.takes is not Samples:
            raise InputError(
                f"finetune=True trains encoders of pictures only, and {encoder} is one of {encoder.takes.noun}s."
            )
        encoder.fit(images)
        return encoder, note

    @property
    def _frozen_encoder(self) -> encoders.Encoder | None:
        """The encoder whose features the network takes; one that is trained with it is a part of it."""
        return None if getattr(self, "finetune", False) else getattr(self, "encoder_", None)

    def _use_encoder(self, bench: Bench, encoder: encoders.Encoder) -> dict[str, Any]:
        """Take the encoder's features, if it is used as it is; what the record says of it."""
        encoder.to(bench.device)
        started, note = time.perf_counter(), {**encoder.describe(), "finetuned": self._frozen_encoder is None}
        if self._frozen_encoder is not None:
            own = encoder.feature_policy(bench.policy)
            views = getattr(self, "views", 4 if hasattr(self, "augment") else 0) if own is None else 0
            beside = bench.checkpoints and bench.checkpoints.folder.parent.parent
            folder = beside / FEATURES if beside and os.access(beside, os.W_OK) else None
            bench.encoded = encoders.features(
                encoder, bench.images, bench.policy, views, folder=folder, verbose=bench.verbose
            )
            note |= {"views": views, "augment": augment.spec(own or bench.policy), "features": encoder.width}
            bench.policy = own or augment.policy(bench.encoded.policy)
            bench.notes += encoder.notes
            self._lay_out(bench, bench.encoded)
        if note["labels"] == "yes":
            bench.notes.append(
                f"The encoder {note['name']} was trained with labels ({note['trained_on']}): on data like those, "
                "these clusters and scores are not unsupervised."
            )
        return note | {"seconds": time.perf_counter() - started}

    def _lay_out(self, bench: Bench, images: Dataset) -> None:
        """What the network is to see: these samples, scaled if they are vectors."""
        asked, ready = getattr(self, "scale", "auto"), self.encoder_ is not None and self.encoder_.scaled
        standard = self.standardises and not ready if asked == "auto" else asked == "standard"
        self._scale = self._scaling(images.x) if len(images.x.shape) == 2 and standard else None
        self.input_shape_ = bench.shape = self._shape(images)
        bench.x = self._scaled(images.x)

    def _scaled(self, x: ArrayLike) -> ArrayLike:
        """Vectors as the network sees them: standardised, of unit length, or as they are. Pictures are as they are."""
        if len(self.input_shape_) == 1 and getattr(self, "scale", "auto") == "l2":
            return _Scaled(x, None)
        return x if self._scale is None else _Scaled(x, self._scale)

    def _bench(self, images: Dataset) -> Bench:
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        chosen = getattr(self, "augment", "none")
        if isinstance(chosen, str) and chosen == "auto":
            chosen = images.policy
        policy = augment.policy(chosen)
        device = find_device(getattr(self, "device", "cpu"))
        verbose, compile = getattr(self, "verbose", False), getattr(self, "compile", False)
        return Bench(images, images.x, tuple(images.x.shape[1:]), policy, int(seed), device, verbose, compile)

    def _embed(self, X: Any) -> Any:
        check_is_fitted(self)
        x = self.seen(self._read(X, reset=False))
        return embed(self.network_, self._scaled(x), self.input_shape_[-2:])

    def seen(self, images: Dataset) -> ArrayLike:
        """The samples as the network takes them, as features if it has an encoder; refused if they do not fit."""
        encoder = self._frozen_encoder
        if encoder is None or images.kind == "vector":  # they may be features already
            return self._fitting(images).x
        return encoders.lazy_features(encoder.to(self.device_), images).x

    def _fitting(self, images: Dataset) -> Dataset:
        """Refuse samples that the model was not trained for: pictures for vectors, other channels, other features."""
        if not isinstance(images, Samples):
            raise InputError(f"This model was trained on samples of shape {self.input_shape_}, not on {images.noun}s.")
        given, needed = tuple(images.x.shape[1:]), self.input_shape_
        same = given == needed if len(needed) == 1 else len(given) == 3 and given[0] == needed[0]
        if not same:
            raise InputError(
                f"Samples of shape {given} do not fit this model: it was trained on {needed}"
                f"{' (channels, height, width; other sizes are resized)' if len(needed) == 3 else ''}."
            )
        return images


@dataclass(frozen=True)
class _Scaled:
    """Feature vectors, standardised as they are read; without a scale, each made a vector of unit length."""

    x: ArrayLike
    scale: tuple[Tensor, Tensor] | None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def views(self) -> ArrayLike:
        """What pairs are drawn from: the stored views where there are some, else the samples."""
        if not hasattr(self.x, "views"):
            return self
        scale = self.scale and (self.scale[0].float(), self.scale[1].float())  # they are many, and read at every step
        return _Scaled(self.x.views, scale)

    def __getitem__(self, index: Any) -> np.ndarray:
        x = self.x[index]
        if self.scale is None:
            return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)
        centre, spread = (t.numpy() for t in self.scale)
        return ((x - centre) / spread).astype(np.float32)


def standard_scaling(x: ArrayLike) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each feature in float64; a constant feature keeps its scale."""
    values = np.asarray(x[:], dtype=np.float64)
    largest = np.abs(values).max(axis=0).clip(1e-300)  # huge values must not overflow when squared
    spread = (values / largest).std(axis=0) * largest
    spread[spread <= 1e-12 * largest] = 1.0
    return torch.from_numpy(values.mean(axis=0)), torch.from_numpy(spread)


def new_folder(run_dir: str | Path) -> Path:
    """The folder of a fit from Python, made if need be; refused if it holds a finished one."""
    folder = Path(run_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}. Choose another run_dir.") from None
    if (folder / "model.json").exists() and not (folder / "checkpoint").exists():
        raise RunError(f"{folder} holds a finished fit: nothing is overwritten. Load it, or choose another run_dir.")
    if any(folder.iterdir()) and not (folder / "request.json").exists() and not (folder / "lock").exists():
        raise RunError(f"{folder} holds files already: nothing is overwritten. Choose another run_dir.")
    return folder


def _method(estimator: Any) -> str:
    return type(estimator).__module__.removeprefix("c3clust.methods.").partition(".")[0]


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it; what cannot be written is named, and must be given again on loading."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return {"object": type(value).__qualname__}


def read_model(folder: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The checked contents of model.json and the tensors of model.safetensors."""
    folder = Path(folder)
    try:
        meta = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        weights = (folder / "model.safetensors").read_bytes()
    except FileNotFoundError as error:
        raise RunError(f"{folder} holds no saved model: {Path(error.filename).name} is missing.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{folder / 'model.json'} is not a saved model of c3clust: {error}.") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise RunError(f"{folder / 'model.json'} is not a saved model of c3clust of format {FORMAT}.")
    for name, kind in {"method": str, "params": dict, "input_shape": list, "policy": dict, "sha256": str}.items():
        if not isinstance(meta.get(name), kind):
            raise RunError(f"{folder / 'model.json'}: the field {name!r} is missing or not a {kind.__name__}.")
    if not all(isinstance(v, int) and 0 < v < 2**20 for v in meta["input_shape"]) or len(meta["input_shape"]) not in (
        1,
        3,
    ):
        raise RunError(f"{folder / 'model.json'}: input_shape must be (features) or (channels, height, width).")
    if hashlib.sha256(weights).hexdigest() != meta["sha256"]:
        raise RunError(
            f"{folder / 'model.safetensors'} is truncated or damaged, or belongs to another model.json. Fit again."
        )
    try:
        return meta, tensors_from_bytes(weights)
    except SafetensorError as error:
        raise RunError(f"{folder / 'model.safetensors'} is not a safetensors file: {error}.") from None


def restore(
    cls: type, folder: str | Path, given: dict[str, Any], meta: dict[str, Any], state: dict[str, Tensor]
) -> Any:
    """A fitted estimator of class `cls` from what `read_model` gave; `given` holds parameters that are not plain."""
    params = {name: value for name, value in meta["params"].items() if not _is_object(value)}
    for name in ("backbone", "encoder"):
        own = meta["params"].get(name)
        if _is_object(own) and name not in given:
            raise RunError(
                f"{folder} was trained with a module of your own as {name} ({own['object']}), "
                f"which is not in the file: give it again as load(..., {name}=module)."
            )
    known = inspect.signature(cls).parameters
    for name in params:
        if name not in known:
            raise RunError(f"{folder}: {cls.__name__} has no parameter {name!r}; the model is of another version.")
    estimator = cls(**(params | given))
    try:
        checks.whole("n_clusters", estimator.n_clusters, why="it is the number of clusters.")
        estimator._check_params()
        estimator.input_shape_ = tuple(meta["input_shape"])
        estimator.policy_ = (
            augment.spec(augment.policy(meta["policy"])) if "policy" in meta["policy"] else meta["policy"]
        )
        estimator.encoder_ = encoders.from_config(meta.get("encoder"), given.get("encoder"))
        scale = (state.pop("scale.centre", None), state.pop("scale.spread", None))
        estimator._scale = scale if scale[0] is not None and scale[1] is not None else None
        with torch.device("meta"):
            network = estimator._build_network(estimator.input_shape_)
        network.load_state_dict(state, strict=True, assign=True)
    except (RuntimeError, InputError, TypeError, ValueError) as error:
        raise RunError(f"{folder} is damaged or of another kind: {str(error).splitlines()[0]}") from None
    device = find_device(getattr(estimator, "device", "cpu"))
    estimator.network_ = placed(network, estimator.input_shape_, device).eval()
    if len(estimator.input_shape_) == 1:
        estimator.n_features_in_ = estimator.input_shape_[0]
    return estimator


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"object"}
