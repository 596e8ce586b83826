"""Several processes as one: who they are, what they exchange, and how they end together.

group.py         joining the processes that torchrun or SLURM started; rank, number of processes, barrier
collectives.py   gathers and sums, with and without gradient; the part of the work that is this process's
ends.py          one message for all processes when one of them fails

With one process every function here is the identity. docs/SCALING.md has the use.
"""

from c3clust.dist.collectives import (
    agree,
    average_buffers,
    gather,
    gather_arrays,
    gather_columns,
    gather_objects,
    of_first,
    own_generator,
    part,
    random_rows,
    replicated,
    shared_map,
    sum_gradients,
    total,
)
from c3clust.dist.shutdown import last_words
from c3clust.dist.group import join, leave, rank, wait, world_size

__all__ = [
    "agree", "average_buffers", "gather", "gather_arrays", "gather_columns", "gather_objects", "join", "last_words",
    "leave", "of_first", "own_generator", "part", "random_rows", "rank", "replicated", "shared_map", "sum_gradients",
    "total", "wait", "world_size",
]  # fmt: skip
