"""The paper's experiments, one file per experiment, discovered automatically.

An experiment defines the runs it needs, `jobs(setting)`, and what is made of them. A figure defines

    rows(setting, results) -> list of dicts     the lines of FIGURE.csv
    draw(rows) -> Figure                        from that file alone, so every figure can be drawn again without runs
    findings(rows) -> list of Finding           the paper's claims beside the numbers: FIGURE.md

and any other experiment `write(setting, results, out)`, which returns the files it wrote. With `PARTIAL = True` that is
called after an interruption too, with results of which some are missing. Runs are shared: each is run once in OUT/runs,
whichever experiment needs it first (bench/).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from c3clust import bench
from c3clust.bench.rehearsal import NOTE
from c3clust.errors import InputError, suggest
from c3clust.files import catalog
from c3clust.files.atomic import read_bytes, write_atomically
from c3clust.paper import findings
from c3clust.paper.setting import Setting
from c3clust.paper.style import look, save, stamp
from c3clust.paper.values import read_rows, write_rows

__all__ = ["Setting", "all_for", "make", "names", "pairs", "redraw", "title"]

OWN = 20  # the order of experiments that are not about the paper
REHEARSED = "rehearsed_steps"  # a column of the CSV files of a rehearsal
MARKS = {".md": f"**{NOTE}**\n\n", ".tex": f"% {NOTE}\n"}


def names() -> list[str]:
    """The experiments, those of the paper first and in its order.

    >>> {"table", "fig-tsne", "fig-zeta"} <= set(names())
    True
    """
    return list(catalog.experiments())


def all_for(setting: Setting) -> list[str]:
    """The experiments of a dataset. The studies of the package's own defaults are not for the paper's datasets."""
    return [name for name in names() if not setting.is_paper_size or _load(name).ORDER < OWN]


def pairs(name: str, setting: Setting) -> list[tuple[bench.Job, bench.Result]]:
    """The jobs of an experiment, each with the result of its rehearsal, and those that they start from."""
    found = []
    for real, short in zip(*(_jobs(name, each) for each in (replace(setting, rehearsal=None), setting)), strict=True):
        starts = [(real.start, short.start)] if real.start and short.start else []
        found += [(one, bench.result_of(setting.out, other)) for one, other in [*starts, (real, short)]]
    return found


def title(name: str) -> str:
    """What an experiment shows: the first line of its module."""
    return catalog.title(catalog.experiments()[name])


def make(
    name: str,
    setting: Setting,
    out: Path,
    workers: int = 1,
    on_result: Callable[[bench.Result], None] = lambda result: None,
    others: Sequence[Setting] = (),
) -> list[Path]:
    """Run the jobs of an experiment that OUT lacks, and write its files. others: of more datasets, beside the first."""
    experiment, setting = _load(name), replace(setting, out=out)
    if others and not getattr(experiment, "SEVERAL", False):
        raise InputError(f"{name} shows one dataset: give one --data. Several are for {', '.join(_several())}.")
    settings = [setting, *(replace(other, out=out) for other in others)]
    jobs = [job for each in settings for job in _jobs(name, each)]
    try:
        results = bench.run(jobs, out, workers, on_result)
    except KeyboardInterrupt:
        found = [bench.result_of(out, job) for job in jobs]
        if getattr(experiment, "PARTIAL", False) and any(result.scores for result in found):
            experiment.write(setting, found, out)
        raise
    if hasattr(experiment, "write"):
        files = experiment.write(setting, results, out)
        return files if setting.rehearsal is None else _marked(files)
    wrong = [r for r in results if r.status in ("failed", "diverged") and not r.scores]
    rows = []
    for each in settings:
        own = [r for r in results if r not in wrong and r.job.data == each.resolved("c3").source]
        rows += [{"data": each.data, **row} if others else row for row in experiment.rows(each, own)]
    if not rows:
        raise InputError(f"{name} cannot be drawn: {wrong[0].reason if wrong else 'there are no results.'}")
    rehearsed = {} if setting.rehearsal is None else {REHEARSED: setting.rehearsal.steps}
    write_rows(out / f"{name}.csv", [row | rehearsed for row in rows])
    return [out / f"{name}.csv", *redraw(name, out)]


def redraw(name: str, out: Path) -> list[Path]:
    """Draw a figure again from its CSV file: OUT/NAME.md, .png and .pdf."""
    experiment = _load(name)
    if not hasattr(experiment, "draw"):
        return []
    rows = read_rows(out / f"{name}.csv")
    text = out / f"{name}.md"
    write_atomically(text, findings.markdown(experiment.findings(rows)).encode())
    rehearsed = bool(rows) and REHEARSED in rows[0]
    if rehearsed:
        _marked([text])
    with look():
        figure = experiment.draw(rows)
        if rehearsed:
            stamp(figure, NOTE)
        return [text, *save(figure, out / name)]


def _marked(files: list[Path]) -> list[Path]:
    """The files of a rehearsal; those that are read as results get a first line which says that they are none."""
    for path, line in ((path, MARKS[path.suffix]) for path in files if path.suffix in MARKS):
        write_atomically(path, line.encode() + read_bytes(path))
    return files


def _jobs(name: str, setting: Setting) -> list[bench.Job]:
    return [setting.shortened(job) for job in _load(name).jobs(setting)]


def _several() -> list[str]:
    return [name for name in names() if getattr(_load(name), "SEVERAL", False)]


def _load(name: str) -> Any:
    if name.replace("_", "-") not in names():
        raise InputError(f"experiment {name!r} is unknown. {suggest(name, ['all', *names()])}")
    return import_module(f"{__name__}.{name.replace('-', '_')}")
