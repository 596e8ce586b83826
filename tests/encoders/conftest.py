import json

import pytest
import torch
from safetensors.torch import save_file

from c3clust.networks.bert import Bert

PIECES = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]",
    "cat", "dog", "bird", "fish", "bread", "rice", "soup", "cheese",
    "the", "a", "sits", "flies", "on", "with", "and", "is", "hot", "old", "small", "big",
]  # fmt: skip
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 32,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "vocab_size": len(PIECES),
}


def published_names(state):
    """The weights of a Bert under the names that such files have."""
    single = {"words": "embeddings.word_embeddings", "places": "embeddings.position_embeddings"}
    single |= {"sides": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm"}
    parts = {"out": "attention.output.dense", "norm_1": "attention.output.LayerNorm", "up": "intermediate.dense"}
    parts |= {"down": "output.dense", "norm_2": "output.LayerNorm"}
    out = {}
    for name, tensor in state.items():
        stem, _, last = name.rpartition(".")
        if stem in single:
            out[f"{single[stem]}.{last}"] = tensor
            continue
        _, number, part = stem.split(".")
        if part == "qkv":
            for each, third in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                out[f"encoder.layer.{number}.attention.self.{each}.{last}"] = third.contiguous()
        else:
            out[f"encoder.layer.{number}.{parts[part]}.{last}"] = tensor
    return out | {"pooler.dense.weight": torch.zeros(16, 16)}


@pytest.fixture
def bert(tmp_path):
    """The folder of a small BERT with random weights, as sentence encoders are published."""
    folder = tmp_path / "small-bert"
    folder.mkdir()
    torch.manual_seed(0)
    save_file(published_names(Bert(CONFIG).state_dict()), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return folder


@pytest.fixture
def sentences():
    """Two kinds of sentences: of animals, and of food."""
    animals, food = ("cat", "dog", "bird", "fish"), ("bread", "rice", "soup", "cheese")
    tails = ("sits on the big old", "flies with a small", "and the old big")
    warm = ("is hot with", "and a hot", "with the hot")
    lines = [f"the {a} {t} {b}" for a in animals for b in animals for t in tails]
    return lines + [f"the {a} {t} {b}" for a in food for b in food for t in warm]
