"""The paper's experiments, one file each. The folder is the list: a new file is seen by the command line.

An experiment says which runs it needs, `jobs(setting)`, and what becomes of them. A figure has

    rows(setting, results) -> list of dicts     what FIGURE.csv holds, one line each
    draw(rows) -> Figure                        from that file alone, so every figure can be drawn again without runs
    findings(rows) -> list of Finding           what the paper says of it, and what the numbers say: FIGURE.md

and anything else has `write(setting, results, out)`, which returns the files it wrote. Runs are shared: each is done
once in OUT/runs, whichever experiment asked for it first (bench/).
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from c3clust import bench
from c3clust.errors import InputError, suggest
from c3clust.files import write_atomically
from c3clust.paper import findings
from c3clust.paper.setting import Setting
from c3clust.paper.style import look, save
from c3clust.paper.values import read_rows, write_rows

__all__ = ["Setting", "make", "names", "redraw", "title"]


def names() -> list[str]:
    """The experiments, in the paper's order, then ours.

    >>> {"table", "fig-tsne", "fig-zeta"} <= set(names())
    True
    """
    found = [m.name for m in iter_modules(__path__) if hasattr(_module(m.name), "jobs")]
    return sorted((name.replace("_", "-") for name in found), key=lambda name: (_load(name).ORDER, name))


def title(name: str) -> str:
    """What an experiment shows: the first line of its file."""
    return (_load(name).__doc__ or "").splitlines()[0]


def make(
    name: str, setting: Setting, out: Path, workers: int = 1, tell: Callable[[bench.Result], None] = lambda result: None
) -> list[Path]:
    """Run what an experiment needs and OUT lacks, and write its files."""
    experiment = _load(name)
    results = bench.run(experiment.jobs(setting), out, workers, tell)
    if hasattr(experiment, "write"):
        return experiment.write(setting, results, out)
    wrong = [r for r in results if r.status in ("failed", "diverged") and not r.scores]
    rows = experiment.rows(setting, [r for r in results if r not in wrong])
    if not rows:
        raise InputError(f"{name} cannot be drawn: {wrong[0].reason if wrong else 'there are no results.'}")
    write_rows(out / f"{name}.csv", rows)
    return [out / f"{name}.csv", *redraw(name, out)]


def redraw(name: str, out: Path) -> list[Path]:
    """Draw a figure again from its CSV file: OUT/NAME.md, .png and .pdf."""
    experiment = _load(name)
    if not hasattr(experiment, "draw"):
        return []
    rows = read_rows(out / f"{name}.csv")
    told = out / f"{name}.md"
    write_atomically(told, findings.markdown(experiment.findings(rows)).encode())
    with look():
        return [told, *save(experiment.draw(rows), out / name)]


def _load(name: str) -> Any:
    module = name.replace("-", "_")
    if module not in [m.name for m in iter_modules(__path__)] or not hasattr(_module(module), "jobs"):
        raise InputError(f"experiment {name!r} is unknown. {suggest(name, ['all', *names()])}")
    return _module(module)


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")
