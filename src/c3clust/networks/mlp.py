"""A multilayer perceptron for feature vectors."""

from torch import nn

__all__ = ["mlp"]


def mlp(features: int, width: int, depth: int) -> nn.Sequential:
    """`depth` times Linear, BatchNorm, ReLU: [N, features] -> [N, width]."""
    layers: list[nn.Module] = []
    for i in range(depth):
        layers += [nn.Linear(features if i == 0 else width, width), nn.BatchNorm1d(width), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)
