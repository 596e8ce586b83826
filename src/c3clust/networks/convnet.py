"""A small convolutional net for images up to about 32 px, which trains on a CPU in a minute or two."""

from torch import Tensor, nn

__all__ = ["ConvNet"]


class ConvNet(nn.Module):
    """Four 3x3 convolutions with batch norm, halving the picture between them while it is 4 px or more; global average.

    [N, C, H, W] -> [N, 256], 390 thousand weights.
    """

    width = 256

    def __init__(self, channels: int) -> None:
        super().__init__()
        widths = (32, 64, 128, self.width)
        layers: list[nn.Module] = []
        for i, outputs in enumerate(widths):
            inputs = channels if i == 0 else widths[i - 1]
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True)]
            if i in (1, 2):
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).mean(dim=(2, 3))  # type: ignore[no-any-return]
