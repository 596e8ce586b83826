"""What processes exchange: gathers and sums, with and without gradient.

Losses are shared in two ways; `sum_gradients` then adds the processes' parameter gradients, and the sum is exactly the
gradient of one process on the joined batch.

    gather           Every process computes the WHOLE loss from the gathered rows. The gradient with respect to its own
                     rows is complete, so just that slice is passed back. For losses that are cheap in all rows.
    gather_columns   Each process computes the loss of its own rows against all columns; `total` adds the losses. The
                     gradient of a column comes from all processes, so it is summed. For losses over all pairs, of which
                     no process computes more than its share.

Training on local negatives only is known to cost CC about ten points.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as td
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from c3clust.dist.group import exchange, rank, world_size

__all__ = [
    "agree", "average_buffers", "gather", "gather_arrays", "gather_columns", "gather_objects", "of_first",
    "own_generator", "part", "random_rows", "replicated", "shared_map", "sum_gradients", "total",
]  # fmt: skip

T = TypeVar("T")
R = TypeVar("R")
MESSAGE = 2**26  # bytes of an array that are sent at a time
FEW = 2**15  # values of all processes together that are gathered rather than reduced
SIDE_BY_SIDE = 4  # pieces of work at most that threads do at a time, as each has its own memory


# 1. With gradient


def _all_rows(x: Tensor) -> Tensor:
    """The rows of all processes, in order of rank: [N, ...] -> [world N, ...]."""
    whole = x.new_empty((world_size(), *x.shape))
    with exchange():
        td.all_gather(list(whole.unbind()), x.contiguous())
    return whole.flatten(0, 1)


def _own_sums(x: Tensor) -> Tensor:
    """This process's rows of the sum over all processes: [world N, ...] -> [N, ...]. Each sends the others theirs."""
    parts = torch.empty_like(x, memory_format=torch.contiguous_format)
    with exchange():
        td.all_to_all_single(parts, x.contiguous())
    return parts.unflatten(0, (world_size(), -1)).sum(dim=0)


def _summed(x: Tensor) -> Tensor:
    """The sum over all processes. Few values are gathered and added: gloo's all-reduce takes several times as long."""
    if x.numel() * world_size() <= FEW:
        return _all_rows(x.detach()[None]).sum(dim=0)
    x = x.detach().clone(memory_format=torch.contiguous_format)
    with exchange():
        td.all_reduce(x)
    return x


def _sum_in_place(tensors: list[Tensor]) -> None:
    """Sum each tensor over all processes, in one message."""
    if not tensors:
        return
    flat = _summed(torch.cat([t.reshape(-1) for t in tensors]))
    for t, values in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
        t.copy_(values.view_as(t))


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shared: bool) -> Tensor:
        ctx.rows, ctx.shared = len(x), shared
        return _all_rows(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        if ctx.shared:
            return _own_sums(grads[0]), None
        return grads[0].narrow(0, rank() * ctx.rows, ctx.rows), None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return _summed(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0]


class _Replicated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0] / world_size()


def gather(x: Tensor) -> Tensor:
    """Rows of all processes, in order of rank: [N, ...] -> [world N, ...]. Every process must give equally many.

    For a loss that every process computes as a whole.
    """
    return _Gather.apply(x, False) if world_size() > 1 else x


def gather_columns(x: Tensor) -> Tensor:
    """The same, for a loss of which every process computes a share: gradients are summed over the processes."""
    return _Gather.apply(x, True) if world_size() > 1 else x


def total(share: Tensor) -> Tensor:
    """The sum of the processes' shares of a loss; the gradient of each is its own."""
    return _Sum.apply(share) if world_size() > 1 else share


def replicated(x: Tensor) -> Tensor:
    """x, which all processes compute alike from parameters alone; the gradient is divided among them.

    For a term of a loss that does not depend on the batch: the sum of its gradients would count it several times.
    """
    return _Replicated.apply(x) if world_size() > 1 else x


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Add up the parameters' gradients over all processes, in one message."""
    if world_size() == 1:
        return
    _sum_in_place([p.grad for p in parameters if p.grad is not None])


# 2. Without gradient


def average_buffers(network: nn.Module) -> None:
    """Give all processes the same floating buffers (running statistics): their mean."""
    if world_size() == 1:
        return
    buffers = [buffer for buffer in network.buffers() if buffer.is_floating_point()]
    _sum_in_place(buffers)
    for buffer in buffers:
        buffer /= world_size()


def agree(value: float) -> float:
    """The first process's value, for all of them."""
    if world_size() == 1:
        return value
    box = torch.tensor([value], dtype=torch.float64)
    with exchange():
        td.broadcast(box, 0)
    return float(box)


def of_first(work: Callable[[], R]) -> R:
    """The result of `work` in the first process, for all of them, which wait for it."""
    if world_size() == 1:
        return work()
    box: list[Any] = [work() if rank() == 0 else None]
    with exchange():
        td.broadcast_object_list(box, 0)
    return box[0]


def gather_objects(value: T) -> list[T]:
    """The values of all processes, in order of rank. For small values."""
    if world_size() == 1:
        return [value]
    found: list[Any] = [None] * world_size()
    with exchange():
        td.all_gather_object(found, value)
    return found


def gather_arrays(rows: np.ndarray, n: int, block: int = 1) -> np.ndarray:
    """The rows of all processes in order: [n, ...]. Each has those of `part(n, block)`. Sent some at a time."""
    if world_size() == 1:
        return rows
    like = gather_objects((len(rows), rows.shape[1:], rows.dtype.str))
    shape, dtype = next((each[1:] for each in like if each[0]), like[0][1:])
    whole = np.empty((n, *shape), dtype)
    step = max(MESSAGE // max(whole[:1].nbytes, 1), 1)
    for number in range(world_size()):
        mine = whole[slice(*bounds(n, number, block))]
        if number == rank() and len(mine):
            mine[:] = rows
        for i in range(0, len(mine), step):
            with exchange():
                td.broadcast(torch.from_numpy(mine[i : i + step].view(np.uint8)), number)
    return whole


# 3. Whose work it is


def bounds(n: int, number: int, block: int = 1) -> tuple[int, int]:
    """Where the part of one process begins and ends: whole blocks, whose numbers differ by one at most."""
    blocks = -(-n // block)
    first, last = (min(blocks * i // world_size() * block, n) for i in (number, number + 1))
    return first, last


def part(n: int, block: int = 1) -> range:
    """This process's part of n samples, in whole blocks; the parts of all processes, in order of rank, are 0 to n."""
    return range(*bounds(n, rank(), block))


def own_generator(generator: torch.Generator) -> torch.Generator:
    """A generator that draws other numbers in each process; the given one moves on alike in all of them."""
    if world_size() == 1:
        return generator
    seed = int(torch.randint(2**62, (), generator=generator))
    return torch.Generator().manual_seed(seed + rank())


def random_rows(draw: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """draw(x), such as torch.rand_like(x), for this process's rows x of the batch.

    torch's own generator is in the same state in all processes. Each one draws for all of them and keeps its own rows:
    they differ, and are those that one process would draw for the joined batch.
    """
    own = x
    for number in range(world_size()):
        rows = draw(x)
        own = rows if number == rank() else own
    return own


def shared_map(work: Callable[[T], R], items: Sequence[T], threads: bool = False) -> list[R]:
    """`work` of each item, in order. The items are divided among the processes; all processes get all results.

    threads: in as many threads as torch uses, where each computes with one thread of BLAS and OpenMP. So the results
    do not depend on the number of threads.
    """
    own = range(rank(), len(items), world_size())
    mine = _in_threads(work, [items[i] for i in own]) if threads else [work(items[i]) for i in own]
    if world_size() == 1:
        return mine
    found = {i: result for each in gather_objects(dict(zip(own, mine, strict=True))) for i, result in each.items()}
    return [found[i] for i in range(len(items))]


def _in_threads(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    n = min(torch.get_num_threads(), len(items), SIDE_BY_SIDE)
    with threadpool_limits(1):  # BLAS of the process; OpenMP has a limit per thread
        if n < 2:
            return [work(item) for item in items]
        with ThreadPoolExecutor(n, initializer=threadpool_limits, initargs=(1,)) as pool:
            return list(pool.map(work, items))
