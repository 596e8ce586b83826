"""The numbers behind the figures: rows of a CSV file, made from results and read back from the file."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from c3clust.bench import Result, result_of
from c3clust.bench.format import numbers_csv
from c3clust.bench.statistics import METRICS
from c3clust.errors import RunError
from c3clust.files.atomic import write_atomically
from c3clust.files.text import from_cell

Rows = list[dict[str, Any]]
Results = Sequence[Result]
Figure = Any  # of matplotlib, which is optional


def write_rows(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, numbers_csv(list(rows[0]), [list(row.values()) for row in rows]).encode())


def read_rows(path: Path) -> Rows:
    """The rows of a CSV file; numbers as float, all else as str."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}. Run the experiment first.") from None


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return from_cell(text)


def select(rows: Rows, **values: Any) -> Rows:
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def distinct(rows: Rows, name: str) -> list[Any]:
    """The distinct values of a column, in order of appearance."""
    return list(dict.fromkeys(row[name] for row in rows))


def by_data(rows: Rows) -> dict[str, Rows]:
    """The rows of each dataset; of one, without a name, if the file has no column `data`."""
    if "data" not in rows[0]:
        return {"": rows}
    return {data: select(rows, data=data) for data in distinct(rows, "data")}


def scores_of(entry: Mapping[str, Any]) -> dict[str, float]:
    """ACC, NMI and ARI of an entry that may contain more."""
    return {metric: entry[metric] for metric in METRICS}


def epochs_from_start(result: Result) -> list[dict[str, Any]]:
    """The evaluation of each epoch of a C3 run (bench/epoch_scores.py); epoch 0 is the last epoch of its CC."""
    before = result.start.epochs("cc")[-1:] if result.start else []
    return [*before, *(entry for stage in ("c3", "settle") for entry in result.epochs(stage))]


def epochs_trained_on(result: Result) -> list[dict[str, Any]]:
    """The evaluation of each epoch of a CC that was trained on, from the last epoch of the run that it continues."""
    assert result.job.after is not None
    before = result_of(result.folder.parents[2], result.job.after)
    return [*before.epochs("cc")[-1:], *result.epochs("cc")[int(before.job.params["epochs"]) :]]
