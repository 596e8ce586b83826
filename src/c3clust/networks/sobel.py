"""A fixed filter before the encoder: two maps of gradients instead of colours, as IIC and PICA have it."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Sobel"]

KERNEL = ((1.0, 0.0, -1.0), (2.0, 0.0, -2.0), (1.0, 0.0, -1.0))


class Sobel(nn.Module):
    """The mean of the channels, filtered by Sobel's kernel along both axes: [N, C, H, W] -> [N, 2, H, W]."""

    def __init__(self) -> None:
        super().__init__()
        kernel = torch.tensor(KERNEL)
        self.register_buffer("kernels", torch.stack([kernel, kernel.T])[:, None])  # [2, 1, 3, 3]

    def forward(self, x: Tensor) -> Tensor:
        kernels: Tensor = self.kernels  # type: ignore[assignment]
        return F.conv2d(x.mean(dim=1, keepdim=True), kernels, padding=1)
