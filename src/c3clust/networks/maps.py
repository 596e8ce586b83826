"""Maps inside an encoder, for methods that compare places of an image: [N, C, H, W]."""

from torch import Tensor, nn
from torch.nn import functional as F

from c3clust.networks.convnet import ConvNet
from c3clust.networks.resnet import ResNet

__all__ = ["as_map", "deep_channels", "deep_map", "shallow_channels", "shallow_map"]


def as_map(x: Tensor) -> Tensor:
    """Vectors [N, C] as maps of one place [N, C, 1, 1]; maps unchanged."""
    return x if x.ndim == 4 else x.flatten(1)[:, :, None, None]


def shallow_map(f: nn.Module, x: Tensor) -> Tensor:
    """What the first layer of f makes of x; of an encoder of the user's own, x itself."""
    if isinstance(f, ConvNet):
        return F.relu(f.layers[:2](x))
    if isinstance(f, ResNet):
        return f.stem(x)
    return as_map(f[:3](x) if isinstance(f, nn.Sequential) else x)


def shallow_channels(f: nn.Module, shape: tuple[int, ...]) -> int:
    """The channels of the shallow map of inputs of `shape`."""
    first = f.layers[0] if isinstance(f, ConvNet) else f.stem[0] if isinstance(f, ResNet) else f
    if isinstance(first, nn.Conv2d):
        return first.out_channels
    return int(f[0].out_features) if isinstance(f, nn.Sequential) else shape[0]  # type: ignore[arg-type]


def deep_map(f: nn.Module, x: Tensor) -> Tensor:
    """What f pools to its features; of an encoder without maps, its features as a map of one place."""
    if isinstance(f, ConvNet):
        return f.layers[:-2](x)
    return f.groups(f.stem(x)) if isinstance(f, ResNet) else as_map(f(x))


def deep_channels(f: nn.Module, width: int) -> int:
    """The channels of the deep map; `width`: the number of features of f."""
    return ConvNet.channels if isinstance(f, ConvNet) else width
