"""Working memory that is kept from one batch to the next.

On a CPU, fresh memory costs more than the arithmetic: the system hands it out page by page, and takes it back when it
is freed. So the pieces of a batch share a few tensors, which live as long as their thread and hold the largest piece
so far (about 10 MB for photos). On other devices PyTorch's own allocator does the same.
"""

import math
import threading

import torch
from torch import Tensor

__all__ = ["scratch"]

_kept = threading.local()


def scratch(name: str, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """An uninitialised tensor on the device of `like`; valid until the same thread asks for the same name again."""
    if like.device.type != "cpu":
        return torch.empty(shape, device=like.device, dtype=dtype)
    tensors: dict[str, Tensor] = _kept.__dict__
    key, length = f"{name} {dtype}", math.prod(shape)
    if key not in tensors or tensors[key].numel() < length:
        tensors[key] = torch.empty(length, dtype=dtype)
    return tensors[key][:length].view(shape)
