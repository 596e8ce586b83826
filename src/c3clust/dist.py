"""Several processes as one: rank, world size, and a gather that keeps the gradient.

Every process computes the loss of the WHOLE batch from gathered projections, so negatives and positives are
shared (training on local negatives only is known to cost CC about ten points). The gradient of that loss with
respect to a process's own rows is already complete, so `gather` passes back just that slice, and
`sum_gradients` adds the processes' parameter gradients: together exactly the gradient of one process on the joined
batch. With one process every function here is the identity.
"""

import os
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as td
from torch import Tensor, nn

__all__ = ["agree", "average_buffers", "gather", "join", "leave", "rank", "sum_gradients", "wait", "world_size"]


def join() -> bool:
    """Join the processes that torchrun started; True if this call did it. Alone, nothing happens."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or not td.is_available() or td.is_initialized():
        return False
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    td.init_process_group("nccl" if cuda else "gloo")
    return True


def leave() -> None:
    """Undo `join`."""
    td.destroy_process_group()


def _joined() -> bool:
    return td.is_available() and td.is_initialized()


def rank() -> int:
    """Which of the processes this is, from 0."""
    return td.get_rank() if _joined() else 0


def world_size() -> int:
    """How many processes train together."""
    return td.get_world_size() if _joined() else 1


def wait() -> None:
    """Wait until all processes have called this."""
    if world_size() > 1:
        td.barrier()


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.rows = len(x)
        parts = [torch.empty_like(x) for _ in range(world_size())]
        td.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0].narrow(0, rank() * ctx.rows, ctx.rows)


def gather(x: Tensor) -> Tensor:
    """Rows of all processes, in order of rank: [N, ...] -> [world N, ...]. Every process must give equally many."""
    return _Gather.apply(x) if world_size() > 1 else x


def agree(value: float) -> float:
    """The first process's value, for all of them."""
    if world_size() == 1:
        return value
    box = [value]
    td.broadcast_object_list(box)
    return box[0]


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Add up the parameters' gradients over all processes, in one message."""
    if world_size() == 1:
        return
    grads = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([g.reshape(-1) for g in grads])
    td.all_reduce(flat)
    for g, part in zip(grads, flat.split([g.numel() for g in grads]), strict=True):
        g.copy_(part.view_as(g))


def average_buffers(network: nn.Module) -> None:
    """Give all processes the same floating buffers (running statistics): their mean."""
    if world_size() == 1:
        return
    for buffer in network.buffers():
        if buffer.is_floating_point():
            td.all_reduce(buffer)
            buffer /= world_size()
