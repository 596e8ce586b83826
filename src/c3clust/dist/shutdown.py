"""How processes end together: one message for all of them, which names the process that failed.

A process that fails leaves its message in the store of the group and looks for those of the others. A process that was
killed leaves none. The first one that has seen enough prints for all.
"""

import time
from contextlib import suppress

import torch.distributed as td

from c3clust.dist.group import rank, store, world_size

__all__ = ["choose_message", "last_words"]

GRACE = 6.0  # seconds in which the others notice that a process has ended
FAILED, FOLLOWED = "failed", "followed"  # by itself; because others had ended, or by a signal


def last_words(sentence: str, followed: bool = False) -> str | None:
    """What this process is to print at its end; None if another process prints for all. Leaves the group.

    followed: it ends because others did, or because of a signal.
    """
    messages, number, world = store(), rank(), world_size()
    if messages is None:
        return sentence
    with suppress(RuntimeError):  # its connections are closed, so that processes that wait for this one notice
        td.destroy_process_group()
    own = f"{FOLLOWED if followed else FAILED} {sentence}"
    try:
        found = _exchange(messages, own, number, world)
        printed = messages.add("c3clust/printed", 1)
        if number == 0:
            _linger(messages, len(found))
    except RuntimeError:  # the store ends with the first process, unless torchrun keeps it
        return choose_message({other: own for other in range(1, world)}, world) if number == 1 else None
    return choose_message(found, world) if printed == 1 else None


def _exchange(messages: td.Store, own: str, number: int, world: int) -> dict[int, str]:
    """The messages of the processes that have left one."""
    messages.set(f"c3clust/end/{number}", own)
    until, missing = time.monotonic() + GRACE, set(range(world))
    while missing and time.monotonic() < until:
        missing = {other for other in missing if not messages.check([f"c3clust/end/{other}"])}
        time.sleep(0.05)
    return {other: messages.get(f"c3clust/end/{other}").decode() for other in range(world) if other not in missing}


def _linger(messages: td.Store, readers: int) -> None:
    """Wait until the others have read the messages: the store may end with this process."""
    until = time.monotonic() + GRACE
    while messages.add("c3clust/printed", 0) < readers and time.monotonic() < until:
        time.sleep(0.05)


def choose_message(found: dict[int, str], world: int) -> str:
    """The message for all: of the process that failed, about the one that left none, or what all say.

    >>> choose_message({0: "failed zeta=2.", 1: "failed zeta=2."}, 2)
    'zeta=2.'
    >>> choose_message({0: "followed stopped.", 1: "failed no such file."}, 2)
    'Process 1 (of 0 to 1) failed: no such file.'
    >>> choose_message({0: "followed stopped by SIGTERM."}, 2)
    'Process 1 (of 0 to 1) has ended without a message, or does not answer. Stopped by SIGTERM.'
    """
    words = {number: message.partition(" ")[2] for number, message in found.items()}
    failed = [number for number, message in found.items() if message.startswith(FAILED)]
    missing = [str(number) for number in range(world) if number not in found]
    if failed and len(failed) == world and len(set(words.values())) == 1:
        return words[0]
    if failed:
        return f"Process {failed[0]} (of 0 to {world - 1}) failed: {words[failed[0]]}"
    if missing:
        which = f"Process {missing[0]}" if len(missing) == 1 else f"Processes {', '.join(missing)}"
        ended = "has ended without a message, or does" if len(missing) == 1 else "have ended without a message, or do"
        sentence = next(iter(words.values()))
        return f"{which} (of 0 to {world - 1}) {ended} not answer. {sentence[:1].upper()}{sentence[1:]}"
    return next(iter(words.values()))
