"""The encoder of tables: rows of numbers and categories -> features.

    numbers       one feature, (x - mean) / standard deviation (StandardScaler)
    categories    one feature per category, for the 50 most frequent
    missing       0 in all features of the column; likewise a category that is not in the training data, and a number
                  that stands far from all others, such as -9999 (data/extremes.py)

So a missing value is encoded like one that a view masks (augment/table.py). The learned parameters are stored as
numbers and words in model.json. Columns without information about the rows are left out, with a note.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from c3clust.augment import Policy, Rows
from c3clust.data.extremes import usual_range
from c3clust.data.samples import Column, Dataset, Table
from c3clust.encoders.base import Encoder, about
from c3clust.errors import InputError, suggest

log = logging.getLogger("c3clust")
NAME = "table"
EXAMPLES = {"table": "rows of a table: numbers standardised, categories one feature each; learned from the table"}
BUILT_IN = (NAME,)
CATEGORIES = 50
ABOUT = about(
    NAME, "numbers standardised, categories one feature each", "learned from the columns of this table", "MIT", "no",
    "this table",
)  # fmt: skip


def claims(spec: str) -> bool:
    return spec == NAME


def suits(dataset: Dataset) -> str | None:
    return NAME if isinstance(dataset, Table) else None


def missing() -> None:
    """None: nothing needs to be installed."""


def load(spec: str) -> "TableEncoder":
    return TableEncoder()


@dataclass(frozen=True)
class Numbers:
    """low, high: numbers outside are treated as missing."""

    name: str
    mean: float
    spread: float
    low: float | None = None
    high: float | None = None
    width = 1

    def encode(self, x: np.ndarray) -> np.ndarray:
        """[n] -> [n, 1]"""
        x = x if self.low is None else np.where((x < self.low) | (x > self.high), np.nan, x)
        return np.nan_to_num((x[:, None] - self.mean) / self.spread)


@dataclass(frozen=True)
class Categories:
    name: str
    categories: list[str]

    @property
    def width(self) -> int:
        return len(self.categories)

    def encode(self, x: np.ndarray) -> np.ndarray:
        """[n] codes into `categories` -> [n, categories]"""
        return (x[:, None] == np.arange(self.width)).astype(np.float64)


class TableEncoder(Encoder):
    """Rows [n, C] of a table -> [n, F]. Columns are matched by name."""

    spec = NAME
    takes = Table
    batch = 4096
    scaled = True
    init_head_from_features = True
    about = ABOUT

    def __init__(self) -> None:
        self.columns: list[Numbers | Categories] = []
        self.notes: list[str] = []

    @property
    def width(self) -> int:  # type: ignore[override]
        return sum(column.width for column in self.columns)

    def fit(self, dataset: Dataset) -> None:
        assert isinstance(dataset, Table)
        self.columns, self.notes = [], []
        x, columns = dataset.x[:], dataset.columns
        usual = [None if columns[i].levels is not None else usual_range(x[:, i]) for i in range(len(columns))]
        for i, bounds in enumerate(usual):
            if bounds is not None:
                x = x.copy()
                x[:, i] = self._without_extremes(columns[i].name, x[:, i], bounds, dataset.names)
        reasons = [_useless(column, values) for column, values in zip(columns, x.T, strict=True)]
        numbers = [i for i, reason in enumerate(reasons) if reason is None and columns[i].levels is None]
        scaler = StandardScaler().fit(x[:, numbers]) if numbers else None  # faster than one per column
        scales = iter(zip(scaler.mean_, scaler.scale_, strict=True)) if scaler else iter(())
        for i, (column, reason) in enumerate(zip(columns, reasons, strict=True)):
            if reason:
                self.notes.append(f"Column {column.name!r} is ignored: {reason}.")
            elif column.levels is None:
                mean, spread = next(scales)
                self.columns.append(Numbers(column.name, float(mean), float(spread), *(usual[i] or ())))
            else:
                self.columns.append(self._categories(column, x[:, i]))
        if not self.columns:
            why, way = " ".join(self.notes), "Give columns of numbers or categories whose values differ."
            raise InputError(f"{dataset.place} has no column that distinguishes its rows: {why} {way}")

    def _without_extremes(
        self, name: str, x: np.ndarray, bounds: tuple[float, float], names: Sequence[str]
    ) -> np.ndarray:
        """The values of a column, missing where they are far from all others; a note says which."""
        rows = np.flatnonzero((x < bounds[0]) | (x > bounds[1]))
        where = f"row {names[rows[0]]}" + (f" and {len(rows) - 1:,} more" if len(rows) > 1 else "")
        self.notes.append(
            f"Column {name!r} has {x[rows[0]]:.6g} in {where}, far from its other values: such values are treated as "
            "missing. If they are real, rescale the column, for example by its logarithm."
        )
        log.warning("%s", self.notes[-1])
        x = x.copy()
        x[rows] = np.nan
        return x

    def _categories(self, column: Column, x: np.ndarray) -> Categories:
        given = np.array(column.levels, dtype=object)[x[~np.isnan(x)].astype(int)]
        known, counts = np.unique(given, return_counts=True)
        if len(known) > CATEGORIES:
            what = f"{len(known):,} categories of column {column.name!r}"
            self.notes.append(f"Of the {what}, only the {CATEGORIES} most frequent are used.")
            known = known[np.sort(np.argsort(-counts, kind="stable")[:CATEGORIES])]
        return Categories(column.name, known.tolist())

    def state(self) -> dict[str, Any]:
        return {"columns": [asdict(column) for column in self.columns]}

    def load_state(self, state: dict[str, Any]) -> None:
        try:
            self.columns = [_column(entry) for entry in state["columns"]]
        except (KeyError, TypeError, ValueError):
            raise InputError("its entry for the columns of its table cannot be read.") from None

    def load_options(self) -> dict[str, Any]:
        words = tuple(column.name for column in self.columns if isinstance(column, Categories))
        return {"kind": "table", "columns": tuple(column.name for column in self.columns), "words": words}

    def validate(self, dataset: Dataset) -> Dataset:
        """Of a fitted encoder, the table with the learned columns and their codes; other columns are dropped."""
        if not isinstance(dataset, Table):
            raise InputError('encoder "table" takes the rows of a CSV or Parquet table, or a data frame.')
        if not self.columns:
            return dataset
        given = {column.name: (column, dataset.x[:, i]) for i, column in enumerate(dataset.columns)}
        absent = [column.name for column in self.columns if column.name not in given]
        if absent:
            others = f" (nor {len(absent) - 1} others)" if len(absent) > 1 else ""
            what = f"no column {absent[0]!r}, which this model was trained on{others}"
            raise InputError(f"{dataset.place} has {what}. {suggest(absent[0], given)}")
        x = np.stack([_codes(column, *given[column.name], dataset.place) for column in self.columns], axis=1)
        return replace(dataset, x=x, columns=[given[column.name][0] for column in self.columns])

    def feature_policy(self, policy: Policy) -> Policy:
        """Views are made from the encoded rows, new ones in each epoch."""
        if isinstance(policy, Rows):
            return Rows(policy.resample, policy.mask, tuple(column.width for column in self.columns))
        return policy

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        parts = [column.encode(x) for column, x in zip(self.columns, np.asarray(samples).T, strict=True)]
        h = torch.from_numpy(np.concatenate(parts, axis=1).astype(np.float32))
        return h if policy is None or generator is None else self.feature_policy(policy)(h, (), generator)


def _useless(column: Column, x: np.ndarray) -> str | None:
    """The reason why a column has no information about clusters of rows; None if it has."""
    given = x[~np.isnan(x)]
    if not len(given):
        return "all of its values are missing"
    if (given == given[0]).all():
        return "all of its values are the same"
    if column.levels is None and len(given) == len(x) and x[0] in (0, 1) and (np.diff(x) == 1).all():
        return "it is a row number"
    if column.levels is not None and len(np.unique(given)) > max(CATEGORIES, len(given) / 2):
        return "nearly all of its values differ"
    return None


def _column(entry: Any) -> Numbers | Categories:
    name = str(entry["name"])
    if "categories" in entry:
        return Categories(name, [str(level) for level in entry["categories"]])
    mean, spread = float(entry["mean"]), float(entry["spread"])
    if not np.isfinite(mean) or not np.isfinite(spread) or spread <= 0:
        raise ValueError("not a scale")
    bounds = [entry.get(end) for end in ("low", "high")]
    if None in bounds:
        return Numbers(name, mean, spread)
    low, high = map(float, bounds)
    if not -np.inf < low < high < np.inf:
        raise ValueError("not a range")
    return Numbers(name, mean, spread, low, high)


def _codes(column: Numbers | Categories, given: Column, x: np.ndarray, place: str) -> np.ndarray:
    """Values of a given column for the learned one: numbers unchanged, categories as codes into the learned ones."""
    if isinstance(column, Numbers):
        if given.levels is None:
            return x
        raise InputError(
            f"{place} has {given.levels[0]!r} in column {column.name!r}, where this model was trained on numbers. "
            "Leave a cell empty if its value is missing."
        )
    levels, x = _as_words(x) if given.levels is None else (given.levels, x)
    code = {level: float(i) for i, level in enumerate(column.categories)}
    new = [level for level in levels if level not in code]
    table = np.array([code.get(level, np.nan) for level in levels] + [np.nan])
    out = table[np.where(np.isnan(x), len(levels), x).astype(int)]
    rows = int((np.isnan(out) & ~np.isnan(x)).sum())
    if new and len(column.categories) < CATEGORIES:
        what = repr(new[0]) + (f" and {len(new) - 1} more" if len(new) > 1 else "")
        of = f"column {column.name!r} of {'1 row' if rows == 1 else f'{rows:,} rows'}"
        log.warning("%s has %s in %s, unknown to this model: treated as missing.", place, what, of)
    return out


def _as_words(x: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Numbers as categories: the words, and codes into them."""
    values, codes = np.unique(x[~np.isnan(x)], return_inverse=True)
    out = np.full(len(x), np.nan)
    out[~np.isnan(x)] = codes
    return tuple(f"{value:g}" if not float(value).is_integer() else str(int(value)) for value in values), out
