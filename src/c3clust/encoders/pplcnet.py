"""PP-LCNetV2-base, a network for photographs that is fast on CPUs: 1280 features, 5.4 million weights.

By PaddlePaddle, https://github.com/PaddlePaddle/PaddleClas (2022); its predecessor: Cui et al., PP-LCNet, 2021,
https://arxiv.org/abs/2109.15099. Each block has a depthwise and one or two 1x1 convolutions. The parallel depthwise
convolutions of the training are merged into one, as in the graph that is released with the weights.

The weights are a file of PaddlePaddle (.pdiparams): the float32 tensors of the graph one after the other, in the
alphabetical order of their names, each after a header with its shape. `read` needs nothing else to read it.
"""

import math
import struct
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

BLOCKS = (  # kernel, stride, channels in, channels out, gate, shortcut
    (3, 1, 32, 64, False, False),
    (3, 2, 64, 128, False, False), (3, 1, 128, 128, False, False),
    (3, 2, 128, 256, False, False), (3, 1, 256, 256, False, False),
    (5, 2, 256, 512, True, False), *((5, 1, 512, 512, True, False),) * 5,
    (5, 2, 512, 1024, False, False), (5, 1, 1024, 1024, False, True),
)  # fmt: skip
# Numbers of the layers in the names of the graph. The missing ones were merged into the depthwise layer after them.
MERGED = (13, 21, 29, 37, 45, 53)
CONVS = (*range(11), *(first + i for first in MERGED for i in range(5)), 60, 61, 65, 66, 67)
NORMS = (*range(11), 13, 14, 18, 19, 23, 24, 28, 29, 33, 34, 38, 39, 42, 46)
NORM_PARTS = {"bias": "b_0", "weight": "w_0", "running_mean": "w_1", "running_var": "w_2"}
KEPT = 0.8  # factor of the features before the classifier: the graph's dropout scales by it when it is applied


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolution, batch norm and ReLU."""
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class Gate(nn.Module):
    """Squeeze and excitation: each channel is multiplied by a factor that depends on the means of all channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        narrow, wide = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)
        self.layers = nn.Sequential(nn.AdaptiveAvgPool2d(1), narrow, nn.ReLU(inplace=True), wide, nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        return x * self.layers(x)


class Block(nn.Module):
    """A depthwise convolution, a gate if `gate`, and one 1x1 convolution, or two with a gate."""

    def __init__(self, kernel: int, stride: int, inputs: int, outputs: int, gate: bool, shortcut: bool) -> None:
        super().__init__()
        if kernel == 3:
            layers: list[nn.Module] = [conv(inputs, inputs, 3, stride, groups=inputs)]
        else:  # merged: its batch norm became its bias
            layers = [nn.Conv2d(inputs, inputs, kernel, stride, kernel // 2, groups=inputs), nn.ReLU(inplace=True)]
        middle = outputs // 2
        last = [Gate(inputs), conv(inputs, middle), conv(middle, outputs)] if gate else [conv(inputs, outputs)]
        self.layers = nn.Sequential(*layers, *last)
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x) + x if self.shortcut else self.layers(x)


class PPLCNetV2(nn.Module):
    """Stem, 13 blocks, global average, a last 1x1 convolution: [N, 3, H, W] -> [N, 1280]."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(conv(3, 32, 3, 2), *(Block(*each) for each in BLOCKS))
        self.last = nn.Sequential(nn.Conv2d(1024, 1280, 1, bias=False), nn.ReLU(inplace=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layers(x).mean(dim=(2, 3), keepdim=True)).flatten(1)


def read(path: Path) -> tuple[PPLCNetV2, tuple[Tensor, Tensor]]:
    """The network with the weights of a .pdiparams file, and its classifier: weight [1000, 1280], bias [1000].

    ValueError if the file has anything else than the tensors of this network.
    """
    network = PPLCNetV2()
    named = dict(names(network))
    state = network.state_dict()
    shapes = {own: tuple(state[name].shape) for own, name in named.items()}
    found = tensors(path.read_bytes(), shapes | {"linear_0.b_0": (1000,), "linear_0.w_0": (1280, 1000)})
    network.load_state_dict(state | {name: found[own] for own, name in named.items()})
    return network, (found["linear_0.w_0"].T * KEPT, found["linear_0.b_0"])


def names(network: PPLCNetV2) -> Iterator[tuple[str, str]]:
    """The name of each tensor in the graph of PaddlePaddle, and in the state of the network."""
    convs, norms = iter(CONVS), iter(NORMS)
    for name, module in network.named_modules():
        if isinstance(module, nn.Conv2d):
            number = next(convs)
            yield f"conv2d_{number}.w_0", f"{name}.weight"
            if module.bias is not None:
                yield f"conv2d_{number}.b_0", f"{name}.bias"
        elif isinstance(module, nn.BatchNorm2d):
            number = next(norms)
            yield from ((f"batch_norm2d_{number}.{own}", f"{name}.{part}") for part, own in NORM_PARTS.items())


def tensors(content: bytes, shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """The tensors of a .pdiparams file, by name."""
    found, at = {}, 0
    for name in sorted(shapes):
        start = header(shapes[name])
        if content[at : at + len(start)] != start:
            raise ValueError(f"no float32 tensor of shape {shapes[name]} at byte {at}, where {name} is expected")
        at, count = at + len(start), math.prod(shapes[name])
        if len(content) < at + 4 * count:
            raise ValueError(f"it ends within {name}")
        found[name] = torch.frombuffer(bytearray(content[at : at + 4 * count]), dtype=torch.float32)
        found[name] = found[name].view(shapes[name])
        at += 4 * count
    if at != len(content):
        raise ValueError(f"it has {len(content) - at} bytes after the last tensor")
    return found


def header(shape: tuple[int, ...]) -> bytes:
    """What precedes a float32 tensor: version, levels (none), version, length and content of its description.

    The description is a protocol buffer: field 1 is the type, 5 for float32; each field 2 is the length of a side.
    """
    description = b"\x08\x05" + b"".join(b"\x10" + _varint(side) for side in shape)
    return struct.pack("<IQIi", 0, 0, 0, len(description)) + description


def _varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
