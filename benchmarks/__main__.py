"""All benchmarks, as one results table.

    python -m benchmarks [--quick] [--wall] [--only step loss] [--accuracy] [--write]

`--write` puts the table between the markers of benchmarks/README.md; rows that were not measured this time stay.
"""

import argparse
import importlib
import os
import platform
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks import harness
from c3clust.records.record import versions

PARTS = (
    "loss", "augment", "step", "predict", "encoders", "startup", "fits", "duplicates", "memory", "distributed",
    "review",
)  # fmt: skip
LONG = ("accuracy", "mnist")  # many minutes
README = Path(__file__).with_name("README.md")


def hardware() -> str:
    """Processor, cores, and how busy they are."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next(
            (re.split(r":\s*", line)[1] for line in info.read_text().splitlines() if "model name" in line), model
        )
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    return f"{model}, {os.cpu_count()} cores, 1 thread used{load}"


def section(part: str, rows: list[harness.Row], command: str) -> str:
    """One part's table with where and when it was measured."""
    found = versions()
    named = ", ".join(f"{name} {found[name]}" for name in ("c3clust", "python", "torch", "numpy", "pillow"))
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"{harness.table(rows)}\n\n`{command}`, {when}; {hardware()}; {named}."


def write(part: str, text: str) -> None:
    """Replace what stands between the markers of this part."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    page = README.read_text(encoding="utf-8")
    head, rest = page.split(begin)
    README.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes: tries the scripts out")
    parser.add_argument("--wall", action="store_true", help="the clock on the wall instead of processor time")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *LONG], help="some of the parts")
    parser.add_argument("--accuracy", action="store_true", help="the CPU recipes and MNIST-10k too: many minutes")
    parser.add_argument("--write", action="store_true", help="bring benchmarks/README.md up to date")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.wall:
        harness.use_wall_clock()
    options = "".join(f" --{name}" for name in ("quick", "wall") if getattr(arguments, name))
    for part in arguments.only or [*PARTS, *(LONG if arguments.accuracy else [])]:
        started = time.perf_counter()
        rows = importlib.import_module(f"benchmarks.{part}").rows(arguments.quick)
        text = section(part, rows, f"python -m benchmarks{options} --only {part}")
        print(f"## {part}\n\n{text}\n\n{time.perf_counter() - started:.0f} s\n", flush=True)
        if arguments.write:
            write(part, text)


if __name__ == "__main__":
    main()
