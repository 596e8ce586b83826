"""x -> h -> (z, c): encoders by name, and the heads on top of them."""

import copy

import torch
from torch import nn

from c3clust.errors import InputError, suggest
from c3clust.networks.convnet import ConvNet
from c3clust.networks.heads import ClusterNet
from c3clust.networks.resnet import RESNETS, ResNet

__all__ = ["ClusterNet", "backbone", "is_small", "names"]

_FLAT = {"mlp": (256, 2), "shallow": (256, 1)}  # width and hidden layers
_STEMS = ("auto", "imagenet", "small")
SMALL = 32  # px: up to here "auto" takes the small net, and
EMBEDDING = 256  # features
SMALL_STEM = 48  # px: up to here "auto" takes the 3x3 stem; at 64 px it costs 14 times the ImageNet stem


def names() -> list[str]:
    """The names that `backbone=` takes."""
    return ["convnet", "mlp", "shallow", *RESNETS]


def backbone(which: str | nn.Module, shape: tuple[int, ...], stem: str = "auto") -> tuple[nn.Module, int]:
    """The encoder f for inputs of `shape` ((C, H, W), or (F,)) and the width of its features h.

    "auto" takes the MLP for vectors (one hidden layer for 256 features and more, which are embeddings: most is learned
    there already), the small net up to 32 px, ResNet-18 above; a module is copied, not changed.
    """
    if isinstance(which, nn.Module):
        f = copy.deepcopy(which)
        return f, _width(f, shape)
    if stem not in _STEMS:
        raise InputError(f"stem={stem!r} is unknown. {suggest(stem, _STEMS)}")
    vectors = len(shape) == 1
    largest = max(shape[-2:])
    which = _named(which, shape)
    if which not in names():
        raise InputError(
            f"backbone={which!r} is unknown. {suggest(str(which), names())} Any nn.Module can be used too."
        )
    if vectors != (which in _FLAT):
        raise InputError(
            f"backbone={which!r} does not fit inputs of shape {shape}: mlp and shallow are for feature vectors, "
            'the others for images [C, H, W]. Use backbone="auto".'
        )
    if which in _FLAT:
        return mlp(shape[0], *_FLAT[which]), _FLAT[which][0]
    if which == "convnet":
        return ConvNet(shape[0], largest), ConvNet.width
    if stem == "auto":
        stem = "small" if largest <= SMALL_STEM else "imagenet"
    resnet = ResNet(which, shape[0], stem)
    return resnet, resnet.width


def is_small(which: str | nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether `backbone` gives one of the package's small networks, and not a ResNet or a module of the user."""
    return not isinstance(which, nn.Module) and _named(which, shape) in ("convnet", *_FLAT)


def _named(which: str, shape: tuple[int, ...]) -> str:
    """The backbone that "auto" means for inputs of this shape."""
    if which != "auto":
        return which
    largest = max(shape[-2:])
    if len(shape) == 1:
        return "shallow" if largest >= EMBEDDING else "mlp"
    return "convnet" if largest <= SMALL else "resnet18"


def mlp(features: int, width: int, depth: int) -> nn.Sequential:
    """`depth` times Linear, BatchNorm, ReLU: [N, features] -> [N, width]."""
    layers: list[nn.Module] = []
    for i in range(depth):
        layers += [nn.Linear(width if i else features, width), nn.BatchNorm1d(width), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def _width(f: nn.Module, shape: tuple[int, ...]) -> int:
    """The number of features of the user's own encoder, found by a forward pass."""
    was_training = f.training
    reference = next(f.parameters(), torch.empty(0))
    try:
        with torch.no_grad():
            h = f.eval()(torch.zeros(2, *shape, device=reference.device))
    except Exception as error:
        raise InputError(
            f"backbone {type(f).__name__} does not take inputs of shape (N, {', '.join(map(str, shape))}): {error}. "
            "Give a module that fits the images, or set image_size."
        ) from error
    f.train(was_training)
    return int(h.flatten(1).shape[1])
