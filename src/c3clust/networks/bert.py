"""BERT's encoder: tokens -> one vector a token. Devlin, Chang, Lee, Toutanova, NAACL 2019, https://arxiv.org/abs/1810.04805

Written anew to read weights that were published for it: nothing but torch and safetensors is needed.
Shapes: N texts, T tokens (the longest text), H features.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Bert", "published"]


class Layer(nn.Module):
    """Self-attention, then two linear maps with GELU between; each with a shortcut, dropout and a norm after it."""

    def __init__(self, width: int, heads: int, inner: int, eps: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm_1, self.norm_2 = nn.LayerNorm(width, eps=eps), nn.LayerNorm(width, eps=eps)

    def forward(self, x: Tensor, seen: Tensor, dropout: float) -> Tensor:
        n, t, width = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)  # [N, heads, T, .]
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        x = self.norm_1(x + drop(self.out(a.transpose(1, 2).reshape(n, t, width)), dropout))
        return self.norm_2(x + drop(self.down(F.gelu(self.up(x))), dropout))


def drop(x: Tensor, p: float) -> Tensor:
    """Dropout of whole features of a text, the same in all its tokens: the mean over tokens does not average it out.

    Gal, Ghahramani, A Theoretically Grounded Application of Dropout in Recurrent Neural Networks, NeurIPS 2016. Without
    gradient it takes next to no time; dropout of every activation makes views twice as slow on a CPU.
    """
    return x if p == 0 else x * F.dropout(x.new_ones(len(x), 1, x.shape[2]), p)


class Bert(nn.Module):
    """Tokens [N, T] and which of them are there [N, T] -> features [N, T, H]. `dropout` acts in every call it is given.

    config: the fields of BERT's config.json.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, eps = int(config["hidden_size"]), float(config["layer_norm_eps"])
        self.words = nn.Embedding(int(config["vocab_size"]), width)
        self.places = nn.Embedding(int(config["max_position_embeddings"]), width)
        self.sides = nn.Embedding(int(config["type_vocab_size"]), width)
        self.norm = nn.LayerNorm(width, eps=eps)
        heads, inner = int(config["num_attention_heads"]), int(config["intermediate_size"])
        self.layers = nn.ModuleList(Layer(width, heads, inner, eps) for _ in range(int(config["num_hidden_layers"])))

    def forward(self, tokens: Tensor, there: Tensor, dropout: float = 0.0) -> Tensor:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]] + self.sides.weight[0]
        x = drop(self.norm(x), dropout)
        for layer in self.layers:
            x = layer(x, there[:, None, None, :], dropout)
        return x


NAMES = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "places",
    "embeddings.token_type_embeddings": "sides",
    "embeddings.LayerNorm": "norm",
    "attention.output.dense": "out",
    "attention.output.LayerNorm": "norm_1",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm_2",
}


def published(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names they were published with -> under those of `Bert`; what it does not use is left out."""
    out: dict[str, Tensor] = {}
    for name, tensor in state.items():
        stem, _, last = name.removeprefix("bert.").rpartition(".")
        if stem in NAMES:
            out[f"{NAMES[stem]}.{last}"] = tensor
        elif stem.startswith("encoder.layer."):
            number, _, part = stem.removeprefix("encoder.layer.").partition(".")
            if part in NAMES:
                out[f"layers.{number}.{NAMES[part]}.{last}"] = tensor
            elif part == "attention.self.query":
                three = [state[name.replace("query", each)] for each in ("query", "key", "value")]
                out[f"layers.{number}.qkv.{last}"] = torch.cat(three)
    return out
