"""Traits: the words of its texts, or the columns of its rows, that distinguish a cluster from the others.

They are stored as sums per cluster, so that merging clusters adds rows. M clusters, J traits.

Words are ranked by c-TF-IDF: a word has a larger weight in a cluster the more frequent it is there, and the rarer it is
overall (Grootendorst, BERTopic, 2022, https://arxiv.org/abs/2203.05794, section 3.3). The square root of its frequency
is used, so that the most frequent words of a language do not come first, and only words that are more frequent in the
cluster than overall are shown.

Columns are ranked by the difference between the mean of the cluster and of all rows, in standard deviations of all
rows. A category counts as a number, 1 for the rows that have it and 0 for the others, so its mean is a share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["Traits", "row_texts", "traits_of_columns", "traits_of_texts"]

MAX_TEXTS = 50_000  # whose words are counted
CANDIDATES = 40  # words kept for each cluster
FREQUENT = 1.5  # times as frequent as overall
DISTANT = 0.2  # standard deviations
LEVELS = 50  # categories of a column


@dataclass(frozen=True, eq=False)
class Traits:
    """kind: "words" or "columns".

    sums, counts: [M, J]. Of words: the frequency of each in a cluster, and the number of all its words; of columns: the
    sum of the known values, and their number. spread: [J] standard deviation over all rows. share: [J] whether a trait
    is a category.
    """

    kind: str
    names: list[str]
    sums: np.ndarray
    counts: np.ndarray
    spread: np.ndarray
    share: np.ndarray

    def merged(self, target: np.ndarray) -> "Traits":
        """The traits after each cluster i has become target[i]."""
        sums, counts = np.zeros_like(self.sums), np.zeros_like(self.counts)
        np.add.at(sums, target, self.sums)
        np.add.at(counts, target, self.counts)
        return replace(self, sums=sums, counts=counts)

    def top(self, cluster: int, most: int = 10) -> list[dict[str, Any]]:
        """The strongest traits of a cluster: name, mean in the cluster ("here") and in all, and weight."""
        here, overall, weight = self._weights()
        order = [j for j in np.argsort(-np.abs(weight[cluster]), kind="stable") if weight[cluster, j] != 0][:most]
        return [
            {
                "name": self.names[j],
                "share": bool(self.share[j]),
                "here": float(here[cluster, j]),
                "all": float(overall[j]),
                "weight": float(weight[cluster, j]),
            }
            for j in order
        ]

    def _weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean of each trait in each cluster [M, J] and in all [J], and its weight [M, J]."""
        here = self.sums / np.maximum(self.counts, 1)
        overall = self.sums.sum(axis=0) / np.maximum(self.counts.sum(axis=0), 1)
        if self.kind == "words":
            weight = c_tf_idf(self.sums, self.counts)
            return here, overall, np.where(here > FREQUENT * overall, weight, 0)
        distance = np.where(self.counts > 0, (here - overall) / self.spread, 0)
        return here, overall, np.where((np.abs(distance) >= DISTANT) & ((distance > 0) | ~self.share), distance, 0)


def c_tf_idf(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """sqrt(tf) log(1 + A / f): tf its fraction of a cluster, f its frequency in all, A words per cluster. [M, J]"""
    clusters = max(int((counts.max(axis=1) > 0).sum()), 1)
    a = counts.sum(axis=0) / clusters
    return np.sqrt(sums / np.maximum(counts, 1)) * np.log1p(a / np.maximum(sums.sum(axis=0), 1))


def traits_of_texts(texts: Sequence[str], labels: np.ndarray, n_clusters: int, seed: int = 0) -> Traits | None:
    """Counts of the words that may distinguish clusters; None if there are none. A word has two letters or more."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    chosen = np.random.default_rng(seed).permutation(len(texts))[:MAX_TEXTS]
    counter = CountVectorizer(token_pattern=r"(?u)\b[^\W\d_]{2,}\b", min_df=2 if len(chosen) >= 50 else 1)
    try:
        frequencies = counter.fit_transform(texts[i] for i in chosen)
    except ValueError:  # there are no words
        return None
    member = csr_matrix((np.ones(len(chosen)), (labels[chosen], np.arange(len(chosen)))), (n_clusters, len(chosen)))
    sums = np.asarray((member @ frequencies).todense(), dtype=np.float64)
    counts = np.repeat(sums.sum(axis=1, keepdims=True), sums.shape[1], axis=1)
    none = np.zeros(sums.shape[1])
    names = [str(name) for name in counter.get_feature_names_out()]
    whole = Traits("words", names, sums, counts, none, none.astype(bool))
    weight = whole._weights()[2]
    kept = np.unique(np.argsort(-weight, axis=1, kind="stable")[:, :CANDIDATES])
    return Traits(
        "words", [names[j] for j in kept], sums[:, kept], counts[:, kept], none[kept], none[kept].astype(bool)
    )


def traits_of_columns(
    x: np.ndarray, columns: Sequence[tuple[str, Sequence[str] | None]], labels: np.ndarray, n_clusters: int
) -> Traits | None:
    """Sums of the columns of a table; None if all are constant. x: [n, C], with codes for columns that have levels."""
    names: list[str] = []
    values: list[np.ndarray] = []
    share: list[bool] = []
    for j, (name, levels) in enumerate(columns):
        there = ~np.isnan(x[:, j])
        if levels is None:
            names.append(name)
            values.append(x[:, j])
            share.append(False)
            continue
        sizes = np.bincount(x[there, j].astype(int), minlength=len(levels))
        for code in np.argsort(-sizes, kind="stable")[:LEVELS]:
            names.append(f"{name} = {levels[code]}")
            values.append(np.where(there, x[:, j] == code, np.nan))
            share.append(True)
    table = np.stack(values, axis=1) if values else np.zeros((len(x), 0))
    there = ~np.isnan(table)
    filled = np.where(there, table, 0.0)
    sums, counts = np.zeros((n_clusters, table.shape[1])), np.zeros((n_clusters, table.shape[1]))
    np.add.at(sums, labels, filled)
    np.add.at(counts, labels, there.astype(np.float64))
    mean = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    spread = np.sqrt((np.where(there, filled - mean, 0.0) ** 2).sum(axis=0) / np.maximum(counts.sum(axis=0), 1))
    kept = np.flatnonzero(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300))
    if not len(kept):
        return None
    parts = (sums[:, kept], counts[:, kept], spread[kept], np.array(share)[kept])
    return Traits("columns", [names[j] for j in kept], *parts)


def row_texts(x: np.ndarray, columns: Sequence[tuple[str, Sequence[str] | None]], longest: int) -> list[str]:
    """Each row as text: its columns and their values, as many as fit.

    >>> row_texts(np.array([[1.5, 0.0], [np.nan, 1.0]]), [("age", None), ("job", ["cook", "smith"])], 80)
    ['age 1.5, job cook', 'job smith']
    """
    rows = []
    for row in x:
        cells = [
            f"{name} {levels[int(value)] if levels else f'{value:.6g}'}"
            for value, (name, levels) in zip(row, columns, strict=True)
            if not np.isnan(value)
        ]
        rows.append(", ".join(cells)[:longest])
    return rows
