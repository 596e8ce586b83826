"""ResNet-18, -34 and -50 (He et al., CVPR 2016, https://arxiv.org/abs/1512.03385), up to the pooled features.

Two stems: "imagenet" (7x7 stride 2 and max-pool: 224 px) and "small" (one 3x3 convolution: 32-64 px).
"""

from torch import Tensor, nn

RESNETS = {  # blocks per group, and whether they are bottlenecks
    "resnet18": ((2, 2, 2, 2), False),  # 512 features, 11 million weights
    "resnet34": ((3, 4, 6, 3), False),  # the paper's encoder: 512 features, 21 million weights
    "resnet50": ((3, 4, 6, 3), True),  # 2048 features, 24 million weights
}


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class Block(nn.Module):
    """A residual block: two 3x3 convolutions, or 1x1-3x3-1x1 with four times the width at the end (bottleneck)."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = 4 * width if bottleneck else width
        if bottleneck:
            convs = [_conv(inputs, width, 1), _conv(width, width, 3, stride), _conv(width, outputs, 1)]
        else:
            convs = [_conv(inputs, width, 3, stride), _conv(width, width, 3)]
        layers: list[nn.Module] = []
        for conv in convs:
            layers += [conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU(inplace=True)]
        self.residual = nn.Sequential(*layers[:-1])
        same = stride == 1 and inputs == outputs
        self.shortcut = (
            nn.Identity() if same else nn.Sequential(_conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.residual(x) + self.shortcut(x))


class ResNet(nn.Module):
    """Stem, four groups of residual blocks, global average: [N, C, H, W] -> [N, width]."""

    def __init__(self, which: str, channels: int, stem: str) -> None:
        super().__init__()
        blocks, bottleneck = RESNETS[which]
        small = stem == "small"
        first = [_conv(channels, 64, 3) if small else _conv(channels, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(True)]
        self.stem = nn.Sequential(*first, *([] if small else [nn.MaxPool2d(3, 2, 1)]))
        inputs, groups = 64, []
        for group, depth in enumerate(blocks):
            for i in range(depth):
                stride = 2 if i == 0 and group > 0 else 1
                groups.append(Block(inputs, 64 * 2**group, stride, bottleneck))
                inputs = 64 * 2**group * (4 if bottleneck else 1)
        self.groups = nn.Sequential(*groups)
        self.width = inputs
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        return self.groups(self.stem(x)).mean(dim=(2, 3))
