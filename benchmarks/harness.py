"""What the benchmarks share: fair times, peak memory, and rows of the results table.

Times are processor time of this process on one thread: on an idle machine the same as the clock on the wall, on a busy
one not spoilt by waiting. `--wall` takes the clock on the wall. What is compared takes turns; the best round counts.
Data are looked for in $C3CLUST_DATA, else in ../shared/data.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

SHARED = Path(os.environ.get("C3CLUST_DATA") or Path(__file__).parents[2] / "shared" / "data")
clock = time.process_time


@dataclass(frozen=True)
class Row:
    """One figure: what was aimed at, what was reached; `met` is None for a figure without a target."""

    figure: str
    target: str
    reached: str
    met: bool | None
    note: str = ""

    @property
    def verdict(self) -> str:
        word = {True: "met", False: "not met", None: "reported"}[self.met]
        return f"{word}: {self.note}" if self.note else word


def skipped(figure: str, target: str, why: str) -> Row:
    """A row for a figure that cannot be measured here."""
    return Row(figure, target, "skipped", None, why)


def at_least(figure: str, value: float, limit: float, note: str = "") -> Row:
    return Row(figure, f"≥ {limit:g}×", f"{value:.2f}×", value >= limit, note)


def at_most(figure: str, value: float, limit: float, note: str = "") -> Row:
    return Row(figure, f"≤ {limit:.2f}", f"{value:.2f}", value <= limit, note)


def best_times(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each, in milliseconds; all take turns, so that a busy moment hits them alike."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds + 1):  # the first round warms up
        for name, run in candidates.items():
            start = clock()
            run()
            best[name] = min(best[name], 1e3 * (clock() - start))
    return best


def peak_resident() -> int:
    """Peak resident size of this process in kB (VmHWM of Linux; ru_maxrss would count the parent's)."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])


def in_process(module: str, *words: object) -> float:
    """What `python -m benchmarks.module --child words` prints, a number: a fresh process has its own peak memory."""
    command = [sys.executable, "-m", f"benchmarks.{module}", "--child", *map(str, words)]
    root = Path(__file__).parents[1]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=root).stdout))


def table(rows: list[Row]) -> str:
    """The results as Markdown."""
    lines = ["| figure | target | reached | verdict |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {r.figure} | {r.target} | {r.reached} | {r.verdict} |" for r in rows)])


def use_wall_clock() -> None:
    global clock
    clock = time.perf_counter


def run(rows: Callable[[bool], list[Row]], about: str | None, child: Callable[..., None] | None = None) -> None:
    """The command line of one benchmark."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes: the script is tried out")
    parser.add_argument("--wall", action="store_true", help="the clock on the wall instead of processor time")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.child and child:
        return child(*arguments.child)
    if arguments.wall:
        use_wall_clock()
    print(table(rows(arguments.quick)))
