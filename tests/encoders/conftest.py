import json
import shutil
import socket

import numpy as np
import pytest
import torch

PIECES = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
    "cat", "dog", "bird", "fish", "bread", "rice", "soup", "cheese",
    "the", "a", "sits", "flies", "on", "with", "and", "is", "hot", "old", "small", "big",
]  # fmt: skip
CONFIG = {
    "hidden_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 24,
    "vocab_size": len(PIECES),
}


@pytest.fixture(scope="session")
def published_bert(tmp_path_factory):
    """The folder of a small BERT with random weights, in the layout of published sentence encoders."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    folder = tmp_path_factory.mktemp("published") / "small-bert"
    torch.manual_seed(0)
    transformers.BertModel(transformers.BertConfig(**CONFIG)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 24}))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True})
    )
    types = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (path, name) in enumerate(types.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.fixture
def bert(published_bert, tmp_path):
    """A copy of the small BERT that a test may change."""
    return shutil.copytree(published_bert, tmp_path / "small-bert")


@pytest.fixture
def sentences():
    """Two kinds of sentences: of animals, and of food."""
    animals, food = ("cat", "dog", "bird", "fish"), ("bread", "rice", "soup", "cheese")
    tails = ("sits on the big old", "flies with a small", "and the old big")
    warm = ("is hot with", "and a hot", "with the hot")
    lines = [f"the {a} {t} {b}" for a in animals for b in animals for t in tails]
    return lines + [f"the {a} {t} {b}" for a in food for b in food for t in warm]


@pytest.fixture
def pictures():
    """Makes dark and light pictures, in turn."""

    def make(n=16, side=64, channels=3):
        x = np.random.default_rng(0).integers(0, 90, (n, channels, side, side))
        x[1::2] += 150
        return x.astype(np.uint8)

    return make


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
