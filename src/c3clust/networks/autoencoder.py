"""Fully connected autoencoders: x -> z -> x̂, the encoder and the decoder mirror images of each other."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import torch
from torch import Tensor, nn


def layers(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers between these widths with ReLU between them; the last is linear."""
    made: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        made += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*made[:-1])


class Autoencoder(nn.Module):
    """d-500-500-2000-10 and back by default: `forward` encodes, `decode` goes back to the flat, scaled input.

    Inputs are multiplied by `scale`, which is to make the mean square of an entry 1, so that reconstruction errors
    of different data sets compare (DEC's preparation). `code_outputs` > `code_dim` gives an encoder that says more
    about the code than one value (VAE: mean and variance).
    """

    scale: Tensor

    def __init__(
        self, shape: tuple[int, ...], hidden: Sequence[int], code_dim: int, code_outputs: int | None = None
    ) -> None:
        super().__init__()
        self.f = layers([prod(shape), *hidden, code_outputs or code_dim])
        self.g = layers([code_dim, *reversed(hidden), prod(shape)])
        self.register_buffer("scale", torch.ones(()))

    def scaled(self, x: Tensor) -> Tensor:
        """What is reconstructed: [N, ...] -> [N, d], entries of mean square 1."""
        return x.flatten(1) * self.scale

    def forward(self, x: Tensor) -> Tensor:
        """z = f(x): [N, code_dim]."""
        return self.f(self.scaled(x))

    def decode(self, z: Tensor) -> Tensor:
        """x̂ = g(z): [N, d]."""
        return self.g(z)
