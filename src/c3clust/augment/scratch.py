"""Working memory that is reused from batch to batch.

On a CPU, allocating memory takes longer than the arithmetic, as the system provides it page by page. So the pieces of a
batch share a few tensors per thread, of the size of the largest piece so far (about 10 MB for photos). On other devices
the allocator of PyTorch reuses memory.
"""

import math
import threading

import torch
from torch import Tensor

_kept = threading.local()


def scratch(name: str, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """An uninitialised tensor on the device of `like`; valid until the next call with the same name in this thread."""
    if like.device.type != "cpu":
        return torch.empty(shape, device=like.device, dtype=dtype)
    tensors: dict[str, Tensor] = _kept.__dict__
    key, length = f"{name} {dtype}", math.prod(shape)
    if key not in tensors or tensors[key].numel() < length:
        tensors[key] = torch.empty(length, dtype=dtype)
    return tensors[key][:length].view(shape)
