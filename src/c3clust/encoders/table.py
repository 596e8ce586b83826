"""The encoder of tables: rows of numbers and categories -> features, by what scikit-learn learned from the columns.

    numbers       (x - mean) / standard deviation (StandardScaler); one feature
    categories    one feature a category, 1 where a row is of it (OneHotEncoder); the 50 most frequent
    missing       0 in all features of the column, as is a category that was not seen in training

So a missing value looks like one that a view has hidden (augment/rows.py). What was learned is kept as plain numbers
and words in model.json. Columns that cannot tell rows apart are left out, and the run says so.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import Tensor

from c3clust.augment import Policy, Rows
from c3clust.data.samples import Column, Samples
from c3clust.encoders.base import Encoder
from c3clust.errors import InputError, suggest

__all__ = ["EXAMPLE", "TableEncoder", "claims", "load", "missing", "suits"]

log = logging.getLogger("c3clust")
EXAMPLE = "table"
CATEGORIES = 50
ABOUT = {
    "name": "table",
    "what": "numbers standardised, categories one feature each",
    "weights": "learned from the columns of this table",
    "licence": "MIT",
    "labels": "no",
    "trained_on": "this table",
}


def claims(spec: str) -> bool:
    return spec == EXAMPLE


def suits(images: Samples) -> str | None:
    """Tables."""
    return EXAMPLE if images.kind == "table" else None


def missing() -> None:
    """Nothing has to be installed."""


def load(spec: str) -> "TableEncoder":
    return TableEncoder()


@dataclass(frozen=True)
class Numbers:
    """A column of numbers."""

    name: str
    mean: float
    spread: float
    width = 1

    def encode(self, x: np.ndarray) -> np.ndarray:
        """[n] -> [n, 1]"""
        return np.nan_to_num((x[:, None] - self.mean) / self.spread)


@dataclass(frozen=True)
class Categories:
    """A column of categories."""

    name: str
    known: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.known)

    def encode(self, x: np.ndarray) -> np.ndarray:
        """[n] codes into `known` -> [n, categories]"""
        return (x[:, None] == np.arange(self.width)).astype(np.float64)


class TableEncoder(Encoder):
    """Rows [n, C] of a table -> [n, F]. Columns are found by their names."""

    spec = EXAMPLE
    kind = "table"
    batch = 4096
    scaled = True
    leads = True

    def __init__(self) -> None:
        self.columns: list[Numbers | Categories] = []
        self.notes: list[str] = []

    def __repr__(self) -> str:
        return "table"

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)

    def describe(self) -> dict[str, Any]:
        return dict(ABOUT)

    def fit(self, images: Samples) -> None:
        """Learn the columns."""
        self.columns, self.notes = [], []
        for column, x in zip(images.columns or (), images.x[:].T, strict=True):
            why = _useless(column, x)
            if why:
                self.notes.append(f"Column {column.name!r} is left out: {why}.")
            else:
                self.columns.append(_numbers(column, x) if column.levels is None else self._categories(column, x))
        if not self.columns:
            raise InputError(
                f"{images.place} has no column that tells its rows apart: {' '.join(self.notes)} "
                "Give columns of numbers or categories whose values differ."
            )

    def _categories(self, column: Column, x: np.ndarray) -> Categories:
        given = np.array(column.levels, dtype=object)[x[~np.isnan(x)].astype(int)]
        known = [str(level) for level in OneHotEncoder().fit(given[:, None]).categories_[0]]
        if len(known) > CATEGORIES:
            counts = {level: int((given == level).sum()) for level in known}
            kept = sorted(known, key=lambda level: -counts[level])[:CATEGORIES]
            self.notes.append(
                f"Of the {len(known):,} categories of column {column.name!r} the {CATEGORIES} most frequent count."
            )
            known = [level for level in known if level in set(kept)]
        return Categories(column.name, tuple(known))

    def settings(self) -> dict[str, Any]:
        return {
            "columns": [
                {"name": c.name, "mean": c.mean, "spread": c.spread}
                if isinstance(c, Numbers)
                else {"name": c.name, "categories": list(c.known)}
                for c in self.columns
            ]
        }

    def recall(self, settings: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        try:
            self.columns = [_recalled(column) for column in settings["columns"]]
        except (KeyError, TypeError, ValueError):
            raise InputError("what it says of the columns of its table cannot be read.") from None

    def reading(self) -> dict[str, Any]:
        return {"kind": "table", "columns": tuple(column.name for column in self.columns)}

    def check(self, images: Samples) -> None:
        if images.kind != "table":
            raise InputError('encoder "table" takes the rows of a CSV or Parquet table, or a data frame.')
        given = [column.name for column in images.columns or ()]
        absent = [column.name for column in self.columns if column.name not in given]
        if absent:
            raise InputError(
                f"{images.place} has no column {absent[0]!r}, which this model was trained on"
                f"{f' (nor {len(absent) - 1} others)' if len(absent) > 1 else ''}. {suggest(absent[0], given)}"
            )

    def taken(self, images: Samples) -> Samples:
        """The columns that were learned, with their codes, whatever other columns there are."""
        self.check(images)
        given = {column.name: (column, images.x[:, i]) for i, column in enumerate(images.columns or ())}
        x = np.stack([_codes(column, *given[column.name], images.place) for column in self.columns], axis=1)
        return replace(images, x=x, columns=[given[column.name][0] for column in self.columns])

    def on_features(self, policy: Policy) -> Policy:
        """Views are made of the encoded rows, anew in each epoch."""
        if isinstance(policy, Rows):
            return Rows(policy.resample, policy.mask, tuple(column.width for column in self.columns))
        return policy

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        parts = [column.encode(x) for column, x in zip(self.columns, np.asarray(samples).T, strict=True)]
        h = torch.from_numpy(np.concatenate(parts, axis=1).astype(np.float32))
        return h if policy is None or generator is None else self.on_features(policy)(h, (), generator)


def _useless(column: Column, x: np.ndarray) -> str | None:
    """Why a column cannot tell rows apart in a way that others share."""
    given = x[~np.isnan(x)]
    if not len(given):
        return "all of its values are missing"
    if (given == given[0]).all():
        return "all of its values are the same"
    if column.levels is None and len(given) == len(x) and x[0] in (0, 1) and (np.diff(x) == 1).all():
        return "it counts the rows"
    if column.levels is not None and len(np.unique(given)) > max(CATEGORIES, len(given) / 2):
        return "nearly every row has a value of its own"
    return None


def _numbers(column: Column, x: np.ndarray) -> Numbers:
    scaler = StandardScaler().fit(x[:, None])
    return Numbers(column.name, float(scaler.mean_[0]), float(scaler.scale_[0]))


def _recalled(kept: Any) -> Numbers | Categories:
    name = str(kept["name"])
    if "categories" in kept:
        return Categories(name, tuple(str(level) for level in kept["categories"]))
    mean, spread = float(kept["mean"]), float(kept["spread"])
    if not np.isfinite(mean) or not np.isfinite(spread) or spread <= 0:
        raise ValueError("not a scale")
    return Numbers(name, mean, spread)


def _codes(column: Numbers | Categories, given: Column, x: np.ndarray, place: str) -> np.ndarray:
    """Values of a column as the learned one has them: numbers as they are, categories as codes into those known."""
    if isinstance(column, Numbers):
        if given.levels is None:
            return x
        raise InputError(
            f"{place} has {given.levels[0]!r} in column {column.name!r}, where this model was trained on numbers. "
            "Leave a cell empty if its value is missing."
        )
    levels: Sequence[str]
    if given.levels is None:
        levels, x = _as_words(x)
    else:
        levels = given.levels
    code = {level: float(i) for i, level in enumerate(column.known)}
    new = [level for level in levels if level not in code]
    table = np.array([code.get(level, np.nan) for level in levels] + [np.nan])
    out = table[np.where(np.isnan(x), len(levels), x).astype(int)]
    rows = int((np.isnan(out) & ~np.isnan(x)).sum())
    if new and len(column.known) < CATEGORIES:
        log.warning(
            "%s has %s in column %r of %s, unknown to this model: taken as missing.",
            place, repr(new[0]) + (f" and {len(new) - 1} more" if len(new) > 1 else ""), column.name,
            "1 row" if rows == 1 else f"{rows:,} rows",
        )  # fmt: skip
    return out


def _as_words(x: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Numbers as categories: their words, and codes into these."""
    values, codes = np.unique(x[~np.isnan(x)], return_inverse=True)
    out = np.full(len(x), np.nan)
    out[~np.isnan(x)] = codes
    return [f"{value:g}" if not float(value).is_integer() else str(int(value)) for value in values], out
