"""What sets each cluster apart: the words of its texts, or the columns of its rows.

Kept as sums over clusters, so that a merge of clusters is an addition of rows. M clusters, J traits.

Words are ranked by c-TF-IDF: a word counts for more in a cluster the oftener it is there, and the rarer it is overall.
Grootendorst, BERTopic, 2022, https://arxiv.org/abs/2203.05794, section 3.3; the root of its count is taken, so that the
most frequent words of a language do not lead, and only words that are oftener here than elsewhere are shown.

Columns are ranked by the difference of the cluster's mean from that of all rows, in standard deviations of all rows; a
category is a number there, 1 where a row is of it and 0 where not, so that its mean is a share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["Traits", "of_columns", "of_texts", "row_texts"]

MOST_TEXTS = 50_000  # whose words are counted
CANDIDATES = 40  # words kept for each cluster
OFTENER = 1.5  # times as often as overall
APART = 0.2  # standard deviations
LEVELS = 50  # categories of a column


@dataclass(frozen=True, eq=False)
class Traits:
    """kind: "words" or "columns".

    sums, counts: [M, J] of words: how often each is in a cluster, and how many words there are in all; of columns: the
    sum of the values that are there, and how many are. spread: [J] standard deviation of all rows. share: [J] whether
    a trait is a category.
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
        """The traits that set a cluster apart, the strongest first: name, its mean here and in all, and its weight."""
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
        """Mean of each trait in each cluster [M, J], in all [J], and how much it sets the cluster apart [M, J]."""
        here = self.sums / np.maximum(self.counts, 1)
        overall = self.sums.sum(axis=0) / np.maximum(self.counts.sum(axis=0), 1)
        if self.kind == "words":
            weight = c_tf_idf(self.sums, self.counts)
            return here, overall, np.where(here > OFTENER * overall, weight, 0)
        apart = np.where(self.counts > 0, (here - overall) / self.spread, 0)
        return here, overall, np.where((np.abs(apart) >= APART) & ((apart > 0) | ~self.share), apart, 0)


def c_tf_idf(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """sqrt(tf) log(1 + A / f): tf a word's share of a cluster, f how often it is in all, A words a cluster. [M, J]"""
    clusters = max(int((counts.max(axis=1) > 0).sum()), 1)
    a = counts.sum(axis=0) / clusters
    return np.sqrt(sums / np.maximum(counts, 1)) * np.log1p(a / np.maximum(sums.sum(axis=0), 1))


def of_texts(texts: Sequence[str], labels: np.ndarray, n_clusters: int, seed: int = 0) -> Traits | None:
    """Counts of the words that may set a cluster apart; None if there are none. A word is two letters or more."""
    chosen = np.random.default_rng(seed).permutation(len(texts))[:MOST_TEXTS]
    counter = CountVectorizer(token_pattern=r"(?u)\b[^\W\d_]{2,}\b", min_df=2 if len(chosen) >= 50 else 1)
    try:
        found = counter.fit_transform(texts[i] for i in chosen)
    except ValueError:  # no word is left
        return None
    member = csr_matrix((np.ones(len(chosen)), (labels[chosen], np.arange(len(chosen)))), (n_clusters, len(chosen)))
    sums = np.asarray((member @ found).todense(), dtype=np.float64)
    counts = np.repeat(sums.sum(axis=1, keepdims=True), sums.shape[1], axis=1)
    none = np.zeros(sums.shape[1])
    names = [str(name) for name in counter.get_feature_names_out()]
    whole = Traits("words", names, sums, counts, none, none.astype(bool))
    weight = whole._weights()[2]
    kept = np.unique(np.argsort(-weight, axis=1, kind="stable")[:, :CANDIDATES])
    return Traits(
        "words", [names[j] for j in kept], sums[:, kept], counts[:, kept], none[kept], none[kept].astype(bool)
    )


def of_columns(
    x: np.ndarray, columns: Sequence[tuple[str, Sequence[str] | None]], labels: np.ndarray, n_clusters: int
) -> Traits | None:
    """Sums of the columns of a table; None if no column tells rows apart. x: [n, C], codes where there are levels."""
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
    """Each row as words: its columns and their values, as many as there is room for.

    >>> row_texts(np.array([[1.5, 0.0], [np.nan, 1.0]]), [("age", None), ("job", ["cook", "smith"])], 80)
    ['age 1.5, job cook', 'job smith']
    """
    rows = []
    for row in x:
        told = [
            f"{name} {levels[int(value)] if levels else f'{value:.6g}'}"
            for value, (name, levels) in zip(row, columns, strict=True)
            if not np.isnan(value)
        ]
        rows.append(", ".join(told)[:longest])
    return rows
