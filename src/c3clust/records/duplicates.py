"""duplicates.csv: the samples that are copies of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import write_atomically
from c3clust.files.text import encoded
from c3clust.records.tables import csv_text, read_columns

__all__ = ["Duplicates"]

FILE = "duplicates.csv"
COLUMNS = ("name", "copy_of", "kind", "similarity")


@dataclass(frozen=True, eq=False)
class Duplicates:
    """original: [n] the position of the sample that each one is a copy of, its own if it is none; similarity: [n], 1
    for exact copies, NaN for samples that are not copies. The original of a group is its first sample, of those that
    are not named like a copy.
    """

    original: np.ndarray
    similarity: np.ndarray

    @classmethod
    def none(cls, n: int) -> "Duplicates":
        return cls(np.arange(n), np.full(n, np.nan))

    @classmethod
    def of(
        cls, exact: np.ndarray, pairs: np.ndarray, similarity: np.ndarray, named: np.ndarray | None = None
    ) -> "Duplicates":
        """Join exact copies (`exact` [n]: the first of each) and pairs [P, 2] of near ones into groups.

        named: [n] whether the name of a sample is that of a copy; such a sample is an original only among its like.

        >>> found = Duplicates.of(np.array([0, 1, 0, 3]), np.array([[0, 3]]), np.array([0.9]))
        >>> found.original.tolist(), found.similarity.tolist()
        ([0, 1, 0, 0], [nan, nan, 1.0, 0.9])
        """
        from scipy.sparse import csr_matrix  # takes longer to import than the rest of this layer
        from scipy.sparse.csgraph import connected_components

        n = len(exact)
        graph = csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (n, n))
        group = connected_components(graph, directed=False)[1][exact]
        order = np.arange(n) if named is None else np.argsort(named, kind="stable")
        _, first, inverse = np.unique(group[order], return_index=True, return_inverse=True)
        original = np.empty(n, np.int64)
        original[order] = order[first][inverse]
        best = np.zeros(n)  # of near copies: the largest similarity to another of the group
        for column in (0, 1):
            np.maximum.at(best, pairs[:, column], similarity)
        best = np.where(np.bincount(exact, minlength=n)[exact] > 1, 1.0, best)
        return cls(original, np.where(original == np.arange(n), np.nan, best))

    @property
    def distinct(self) -> np.ndarray:
        """The positions of the samples that are not copies."""
        return np.flatnonzero(self.original == np.arange(len(self.original)))

    @property
    def copies(self) -> np.ndarray:
        """The positions of the copies."""
        return np.flatnonzero(self.original != np.arange(len(self.original)))

    @property
    def rows(self) -> np.ndarray:
        """[n]: the position among `distinct` of each sample's original."""
        return np.searchsorted(self.distinct, self.original)

    def groups(self, names: Sequence[str]) -> dict[str, list[str]]:
        """The names of the group of each sample that has copies, or is one."""
        by_original: dict[int, list[str]] = {}
        for i in self.copies:
            first = int(self.original[i])
            by_original.setdefault(first, [names[first]]).append(names[i])
        return {name: group for group in by_original.values() for name in group}

    def write(self, run: Path, names: Sequence[str]) -> None:
        """Write run/duplicates.csv, the list of copies."""
        rows = [
            (names[i], names[self.original[i]], "exact" if self.similarity[i] == 1 else "near", f"{s:.4f}")
            for i, s in zip(self.copies, self.similarity[self.copies], strict=True)
        ]
        write_atomically(Path(run) / FILE, encoded(csv_text(COLUMNS, rows)))

    @classmethod
    def read(cls, run: str | Path, names: Sequence[str]) -> "Duplicates":
        """Those of a run whose samples have these names; none where the file does not exist (an older run)."""
        path, found = Path(run) / FILE, cls.none(len(names))
        if not path.exists():
            return found
        position = {name: i for i, name in enumerate(names)}
        try:
            for name, copy_of, _, similarity in read_columns(path, COLUMNS):
                found.original[position[name]] = position[copy_of]
                found.similarity[position[name]] = float(similarity)
        except (KeyError, ValueError) as error:
            raise RunError(f"{path} is damaged: {error}.") from None
        return found
