"""EfficientNet-Lite0 and -Lite2, small networks for photographs: 1280 features, 3.4 and 4.8 million weights.

Tan and Le, EfficientNet, ICML 2019, https://arxiv.org/abs/1905.11946; the Lite variants (2020) omit squeeze-and-
excitation and use ReLU6. Inverted residual blocks: 1x1 expansion, depthwise convolution, 1x1 projection.
"""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

GROUPS = {  # kernel, stride, expansion, channels out, blocks
    "lite0": (
        (3, 1, 1, 16, 1), (3, 2, 6, 24, 2), (5, 2, 6, 40, 2), (3, 2, 6, 80, 3),
        (5, 1, 6, 112, 3), (5, 2, 6, 192, 4), (3, 1, 6, 320, 1),
    ),
    "lite2": (
        (3, 1, 1, 16, 1), (3, 2, 6, 24, 3), (5, 2, 6, 48, 3), (3, 2, 6, 88, 4),
        (5, 1, 6, 120, 4), (5, 2, 6, 208, 5), (3, 1, 6, 352, 1),
    ),
}  # fmt: skip
MEAN, STD = (127 / 255,) * 3, (128 / 255,) * 3  # of the pixels


class Same(nn.Conv2d):
    """A convolution with the "same" padding of TensorFlow: an odd pixel is added at the lower right."""

    def forward(self, x: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        rows, columns = (max((-(-side // stride) - 1) * stride + kernel - side, 0) for side in map(int, x.shape[2:]))
        if rows % 2 or columns % 2:
            x = F.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
            return F.conv2d(x, self.weight, None, self.stride, 0, 1, self.groups)
        return F.conv2d(x, self.weight, None, self.stride, (rows // 2, columns // 2), 1, self.groups)


def conv(
    inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1, active: bool = True
) -> nn.Module:
    """Convolution, batch norm and, if `active`, ReLU6."""
    layers = [Same(inputs, outputs, kernel, stride, groups=groups, bias=False), nn.BatchNorm2d(outputs, 1e-3, 0.01)]
    return nn.Sequential(*layers, *([nn.ReLU6(inplace=True)] if active else []))


class Block(nn.Module):
    """An inverted residual block, with a shortcut if input and output have the same shape."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        width = expansion * inputs
        expand = [conv(inputs, width)] if expansion > 1 else []
        depthwise = conv(width, width, kernel, stride, groups=width)
        self.layers = nn.Sequential(*expand, depthwise, conv(width, outputs, active=False))
        self.same = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x) + x if self.same else self.layers(x)


class EfficientNetLite(nn.Module):
    """Stem, blocks, a last 1x1 convolution, global average: [N, 3, H, W] -> [N, 1280]."""

    def __init__(self, variant: str) -> None:
        super().__init__()
        layers, inputs = [conv(3, 32, 3, 2)], 32
        for kernel, stride, expansion, outputs, blocks in GROUPS[variant]:
            for i in range(blocks):
                layers.append(Block(inputs, outputs, kernel, stride if i == 0 else 1, expansion))
                inputs = outputs
        self.layers = nn.Sequential(*layers, conv(inputs, 1280))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).mean(dim=(2, 3))


def read(path: Path, variant: str) -> tuple[EfficientNetLite, tuple[Tensor, Tensor]]:
    """The network with the weights of a file, and its classifier: weight [1000, 1280], bias [1000]."""
    network = EfficientNetLite(variant)
    saved = torch.load(path, map_location="cpu", weights_only=True)  # tensors only: no code is run
    found = [tensor for name, tensor in saved.items() if not name.startswith("_fc.")]
    network.load_state_dict(dict(zip(network.state_dict(), found, strict=True)))
    return network, (saved["_fc.weight"], saved["_fc.bias"])
