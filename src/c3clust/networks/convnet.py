"""A small convolutional net for images up to about 32 px, which trains on a CPU in a minute or two."""

from torch import Tensor, nn


class ConvNet(nn.Module):
    """Three 3x3 convolutions with batch norm, the image halved after each (above 16 px) and pooled to a 2x2 grid.

    The grid keeps where things are, which a global average forgets. Up to 16 px the first halving is left out.
    [N, C, H, W] -> [N, 256], 230 thousand weights.
    """

    width = 256
    channels = 128  # of the last map

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs, halve in ((channels, 32, side > 16), (32, 64, True), (64, self.channels, True)):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)]
            # Either order of pool and ReLU gives the same; the second has a quarter of the work.
            layers += [nn.MaxPool2d(2, ceil_mode=True), nn.ReLU(True)] if halve else [nn.ReLU(True)]
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.last = nn.Sequential(nn.Linear(4 * self.channels, self.width), nn.BatchNorm1d(self.width), nn.ReLU(True))

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layers(x))
