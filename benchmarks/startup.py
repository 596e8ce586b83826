"""How long commands take that train nothing: the processor time of a whole process, best of several, as Markdown.

    python -m benchmarks.startup [--quick]

`label` names a cluster of a finished run, and writes its page again. TAB is what a shell runs to complete a method.
Modules are read as bytecode, as pip installs them: the first round writes it into a folder of its own.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import harness

LIMIT = 0.3  # seconds
TAB = {"_C3CLUST_COMPLETE": "complete_bash", "COMP_WORDS": "c3clust fit --method k", "COMP_CWORD": "3"}


def seconds(words: list[str], environment: dict[str, str]) -> float:
    """Of one process: user and system time, or the time on the wall."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "c3clust", *words]
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, capture_output=True, env=inherited | environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if harness.clock is time.perf_counter:
        return time.perf_counter() - started
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def finished_run(folder: Path) -> Path:
    from c3clust import methods

    x = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    methods.load("kmeans")(3, random_state=0).fit(x, run_dir=folder / "run")
    return folder / "run"


def rows(quick: bool) -> list[harness.Row]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        run = str(finished_run(Path(folder)))
        commands: dict[str, tuple[list[str], dict[str, str]]] = {
            "--version": (["--version"], {}),
            "label": (["label", run, "0=a"], {}),
            "merge": (["merge", run, "1", "2"], {}),
            "undo": (["undo", run], {}),
            "list data": (["list", "data"], {}),
            "TAB": ([], TAB),
        }
        best = dict.fromkeys(commands, float("inf"))
        bytecode = {"PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode")}
        for _ in range(2 if quick else 7):
            for name, (words, environment) in commands.items():
                best[name] = min(best[name], seconds(words, environment | bytecode))
    for name, value in best.items():
        figure = f"c3clust {name}" if name != "TAB" else "TAB after c3clust fit --method k"
        found.append(harness.Row(figure, f"< {LIMIT} s", f"{value:.2f} s", value < LIMIT))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__)
