"""The group of processes: joining it, leaving it, and waiting for the others."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import torch
import torch.distributed as td

from c3clust.errors import InputError, ProcessError, first_line

__all__ = ["exchange", "is_joined", "join", "leave", "rank", "store", "wait", "world_size"]

TIMEOUT = "C3CLUST_TIMEOUT"  # seconds that a process waits for the others
SECONDS = 1800

_store: td.Store | None = None


def join() -> bool:
    """Join the processes that torchrun started; True if this call did it. Alone, nothing happens."""
    global _store
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or not td.is_available() or td.is_initialized():
        return False
    cuda, timeout = torch.cuda.is_available(), _timeout()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    with exchange():
        _store, number, world = next(td.rendezvous("env://", timeout=timeout))
        _store.set_timeout(timeout)
        backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
        td.init_process_group(backend, store=_store, rank=number, world_size=world, timeout=timeout)
    if number > 0:
        logging.getLogger("c3clust").setLevel(logging.CRITICAL)  # the first process says it
    return True


def leave() -> None:
    """Undo `join`: this process has nothing more to do with the others, which may fail alone."""
    global _store
    if _store is not None:
        with suppress(RuntimeError):
            _store.set(f"c3clust/end/{rank()}", "followed ")
    td.destroy_process_group()
    _store = None


def is_joined() -> bool:
    """Whether this process is in a group."""
    return td.is_available() and td.is_initialized()


def store() -> td.Store | None:
    """Where the processes leave short messages for each other."""
    return _store


def rank() -> int:
    """Which of the processes this is, from 0."""
    return td.get_rank() if is_joined() else 0


def world_size() -> int:
    """How many processes work together."""
    return td.get_world_size() if is_joined() else 1


def wait() -> None:
    """Wait until all processes have called this."""
    if world_size() > 1:
        with exchange():
            td.barrier()


@contextmanager
def exchange() -> Iterator[None]:
    """Turn the errors of the backend, which differ, into ProcessError."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessError(f"The processes have lost each other ({first_line(error)}).") from error


def _timeout() -> timedelta:
    given = os.environ.get(TIMEOUT, "")
    if given and not (given.isdecimal() and int(given) > 0):
        raise InputError(f"The environment variable {TIMEOUT}={given!r} is not a number of seconds: give 1 or more.")
    return timedelta(seconds=int(given) if given else SECONDS)
