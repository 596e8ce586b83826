"""Shown: the samples of a run as the page shows them, images as thumbnails, texts and table rows as cards.

Only samples of the run can be read, by their position: no path comes from the page.
"""

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from c3clust.data.io.decode import decode_whole
from c3clust.data.io.spans import Span, Unreadable, read_span
from c3clust.data.io.stream import Stream
from c3clust.data.samples import Dataset, Table
from c3clust.errors import DataError
from c3clust.report.sprites import as_pictures
from c3clust.report.traits import row_texts

__all__ = ["Shown"]

THUMB = 192  # px: the longest side
WHOLE = 1600
CACHED = 4096  # thumbnails in memory
CARD = 400  # characters of a text or a row
LONGEST = 20_000  # characters of a whole one


class Shown:
    """names: those of the run. dataset: its samples, or a list of the files that hold them."""

    def __init__(self, dataset: Dataset, names: Sequence[str]) -> None:
        self.x: Any = dataset.x
        self.columns = [(c.name, c.levels) for c in dataset.columns] if isinstance(dataset, Table) else None
        self.spans: list[Span] | None = None
        if isinstance(self.x, Stream):
            listed = dict(zip(dataset.names, self.x.spans, strict=True))
            if any(name not in listed for name in names):
                raise DataError(f"{dataset.place} does not contain the samples of this run: name its --source.")
            self.spans = [listed[name] for name in names]
        elif [str(name) for name in dataset.names] != list(names):
            raise DataError(f"{dataset.place} does not contain the samples of this run: name its --source.")
        self.thumb = lru_cache(CACHED)(lambda i: self._encoded(i, THUMB))

    def whole(self, i: int) -> bytes:
        """The original of an image, as WebP."""
        return self._encoded(i, WHOLE)

    def text(self, i: int, longest: int = CARD) -> str:
        """A text or a table row; "" for images and vectors."""
        if self.columns is not None:
            return row_texts(self.x[i : i + 1], self.columns, longest)[0]
        return str(self.x[i])[:longest] if len(self.x.shape) == 1 else ""

    def _encoded(self, i: int, longest: int) -> bytes:
        from PIL import Image

        out = io.BytesIO()
        picture = Image.fromarray(self._pixels(i, longest))
        picture.save(out, "webp", quality=82, method=2, lossless=max(picture.size) <= 64)
        return out.getvalue()

    def _pixels(self, i: int, longest: int) -> np.ndarray:
        if self.spans is None:
            return _scaled(as_pictures(self.x[i : i + 1])[0], longest)
        try:
            return decode_whole(read_span(self.spans[i]), longest)
        except Unreadable as error:
            raise DataError(f"This image cannot be read any more: {error}.") from None


def _scaled(picture: np.ndarray, longest: int) -> np.ndarray:
    """At most `longest` pixels per side; small images keep their size, and the page enlarges them."""
    step = -(-max(picture.shape[:2]) // longest)
    return picture[::step, ::step]
