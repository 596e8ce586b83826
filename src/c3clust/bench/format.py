"""Rows -> tables as Markdown, LaTeX and CSV. Failed runs are listed below their table with the reason."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from c3clust.bench.job import Result
from c3clust.bench.statistics import ENOUGH, METRICS, Row, Scores, best, compare, mean_and_std, rows, title
from c3clust.files.atomic import write_atomically
from c3clust.records.tables import csv_text

FILES = ("table.md", "table.tex", "table.csv", "runs.csv", "differences.csv")
CLOCKS = ("seconds", "processor_seconds")
DIFFERENCES = f"Differences, seed by seed: mean (min, max); from {ENOUGH} seeds on, mean [95 % t interval]."
EPOCHS = "Epochs: the fraction of a method's own that it trained, the same for all seeds; –: none."
CITED = [f"{metric.upper()} (cited)" for metric in METRICS]
SIGNS = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "–": "--", "ζ": r"$\zeta$", "Γ": r"$\Gamma$"}


def write(out: Path, results: Sequence[Result], compared: Sequence[tuple[str, str]] = ()) -> str:
    """Write FILES to OUT; return the text of the first."""
    table = rows(results)
    texts = markdown(table, compared), latex(table), _table_csv(table), _runs_csv(results), _differences_csv(table)
    for name, text in zip(FILES, texts, strict=True):
        write_atomically(out / name, text.encode())
    return texts[0]


def markdown(rows: Sequence[Row], compared: Sequence[tuple[str, str]] = ()) -> str:
    """One table per dataset, its failed runs below it, and the paired differences of the given pairs of names."""
    parts = []
    for data, members in _by_dataset(rows):
        cited, highest = any(row.cited for row in members), best(members)
        budget = any(row.share is not None for row in members)
        head = ["method", "ACC", "NMI", "ARI", "wall time", "CPU time", *(["epochs"] if budget else []), "runs"]
        head += CITED if cited else []
        lines = [f"**{data}**", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        for row in members:
            cells = [title(row), *_scores(row, highest, "**{}**"), *(_time(row.seconds(clock)) for clock in CLOCKS)]
            cells += [*([_share(row)] if budget else []), _count(row), *(_cited(row) if cited else [])]
            lines.append(f"| {' | '.join(cells)} |")
        if budget:
            lines += ["", EPOCHS]
        if cited:
            lines += ["", "Cited: as reported in the C3 paper (BMVC 2023, Table 1), not run here."]
            lines += [f"Cited {title(row)}: {row.note}." for row in members if row.note]
        parts.append("\n".join(lines))
        if wrong := [f"- {text}" for row in members for text in _reasons(row)]:
            parts.append("\n".join(wrong))
        if differences := _differences(members, compared):
            parts.append(f"{DIFFERENCES}\n\n{differences}")
    return "\n\n".join(parts) + "\n"


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, of cells that are text."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *lines])


def latex(rows: Sequence[Row]) -> str:
    """One booktabs tabular per dataset."""
    parts = []
    for data, members in _by_dataset(rows):
        cited, highest = any(row.cited for row in members), best(members)
        head = ["Method", "ACC", "NMI", "ARI", "Time", *(CITED if cited else [])]
        lines = [f"% {data}", rf"\begin{{tabular}}{{l{'c' * (len(head) - 1)}}}", r"\toprule"]
        lines += [" & ".join(head) + r" \\", r"\midrule"]
        for row in members:
            cells = [_tex(title(row)), *map(_tex, _scores(row, highest, r"\textbf{{{}}}")), _tex(_time(row.seconds()))]
            cells += [rf"\textit{{{_tex(number)}}}" for number in _cited(row)] if cited else []
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", *(f"% {text}" for row in members for text in _reasons(row))]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def numbers_csv(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A CSV file as text: floats in six digits, None as an empty cell."""
    return csv_text(head, ([f"{v:.6g}" if isinstance(v, float) else v for v in line] for line in lines), end="\n")


def _table_csv(rows: Sequence[Row]) -> str:
    """Mean, standard deviation and n of each metric, times, and cited values: one line per row, as in the Markdown."""
    head = ["data", "name", "method", "n", *(f"{m}_{kind}" for m in METRICS for kind in ("mean", "std")), *CLOCKS]
    head += ["failed", "diverged", "collapsed", *(f"{m}_cited" for m in METRICS)]
    lines = []
    for row in (row for _, members in _by_dataset(rows) for row in members):
        statuses = [r.status for r in row.results]
        line: list[object] = [row.data, title(row), row.method, len(row.values("acc"))]
        for values in map(row.values, METRICS):
            line += [float(np.mean(values)) if values else None]
            line += [float(np.std(values, ddof=1)) if len(values) > 1 else None]
        line += [*map(row.seconds, CLOCKS), *(statuses.count(s) for s in ("failed", "diverged", "collapsed"))]
        lines.append(line + [(row.cited or {}).get(m) for m in METRICS])
    return numbers_csv(head, lines)


def _runs_csv(results: Iterable[Result]) -> str:
    """One line per run; its times include those of the run that it started from."""
    head = ["data", "name", "method", "seed", "status", "reason", *METRICS, *(f"{m}_z" for m in METRICS), *CLOCKS]
    head += ["budget", "share", "epochs", "encoder", "folder"]
    lines = []
    for r in results:
        scores = [(kind or {}).get(m) for kind in (r.scores, r.scores_z) for m in METRICS]
        job = [r.job.data, r.job.name, r.job.method, r.job.seed]
        epochs = " ".join(f"{name}={number}" for name, number in (r.allowed or {}).items())
        rest = [r.job.budget, r.share, epochs, r.encoder, r.folder]
        lines.append([*job, r.status, r.reason, *scores, *map(r.total, CLOCKS), *rest])
    return numbers_csv(head, lines)


def _differences_csv(rows: Sequence[Row]) -> str:
    """Every two rows of a dataset compared, seed by seed: mean, low and high of first − second (`Difference`)."""
    lines = []
    for a, b in combinations([row for row in rows if row.results], 2):
        for metric in METRICS if a.data == b.data else ():
            d = compare(a, b, metric)
            spread = (d.low, d.high) if d.n > 1 else (None, None)
            lines.append([a.data, title(a), title(b), metric, d.mean, *spread, d.n])
    return numbers_csv(["data", "first", "second", "metric", "mean", "low", "high", "n"], lines)


def _differences(rows: Sequence[Row], compared: Sequence[tuple[str, str]]) -> str:
    known = {row.name: row for row in rows if row.results}
    pairs = [(known[a], known[b]) for a, b in compared if a in known and b in known]
    lines = ["| | ACC | NMI | ARI |", "|---|---|---|---|"]
    for a, b in pairs:
        cells = " | ".join(str(compare(a, b, metric)) for metric in METRICS)
        lines.append(f"| {title(a)} − {title(b)} | {cells} |")
    return "\n".join(lines) if pairs else ""


def _by_dataset(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for data in dict.fromkeys(row.data for row in rows):
        yield data, [row for row in rows if row.data == data]


def _cited(row: Row) -> list[str]:
    return [f"{row.cited[m]:.3f}" if row.cited and m in row.cited else "–" for m in METRICS]


def _scores(row: Row, highest: Scores, bold: str) -> Iterator[str]:
    """ACC, NMI, ARI as text; `bold` formats the best ones."""
    for metric in METRICS:
        values = row.values(metric)
        is_best = values and round(float(np.mean(values)), 3) == highest[metric]
        yield (bold if is_best else "{}").format(mean_and_std(values) if values else "–")


def _share(row: Row) -> str:
    trained = any(r.allowed for r in row.results)
    return f"{row.share:.0%}" if trained and row.share is not None else "–"


def _reasons(row: Row) -> list[str]:
    return [f"{title(row)}, seed {r.job.seed}: {r.status}. {r.reason}" for r in row.not_ok()]


def _count(row: Row) -> str:
    """The number of runs, and of those that failed, diverged or collapsed."""
    wrong = [r.status for r in row.not_ok()]
    counts = ", ".join(f"{wrong.count(status)} {status}" for status in dict.fromkeys(wrong))
    return (f"{len(row.results)} ({counts})" if counts else str(len(row.results))) if row.results else "cited"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _tex(text: str) -> str:
    return "".join(SIGNS.get(letter, letter) for letter in text)
