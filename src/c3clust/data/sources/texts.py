"""Texts: a .txt file with one text per line, a column of a table, or a list of str.

Empty texts are left out, with a note; the others are named by their line numbers. Files are in UTF-8, or in UTF-16 with
a byte order mark. A .txt file whose lines all end like image files is a list of images (manifest.py), unless `kind` is
"text".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.samples import Dataset, Texts
from c3clust.data.source import Claim, Options
from c3clust.data.sources import manifest
from c3clust.errors import DataError, InputError
from c3clust.files.text import encoding


def claims(path: Path) -> Claim:
    return Claim.KIND if path.is_file() and path.suffix.lower() == ".txt" else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Dataset:
    if options.kind == "table":
        raise InputError(f"{path} is a file of texts, one per line: it cannot be read as a table.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    code = encoding(content)
    paths = _lines(content.decode(code, "replace" if code == "utf-16" else "surrogateescape"))  # names have any bytes
    if options.kind == "image" or (options.kind is None and manifest.are_image_paths(paths)):
        return manifest.read_paths(path, paths, options)
    return from_texts(_lines(_decoded(path, content)), str(path), first=1)


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _decoded(path: Path, content: bytes) -> str:
    try:
        text = content.decode(encoding(content))
    except UnicodeDecodeError as error:
        line, byte = error.object[: error.start].count(b"\n") + 1, f"0x{error.object[error.start]:02x}"
        way = "Convert it, for example with: iconv -f LATIN1 -t UTF-8."
        raise DataError(f"{path} is not in UTF-8 (line {line} has the byte {byte}). {way}") from None
    if "\0" in text:
        raise DataError(f"{path} contains zero bytes and is not a text file. Give one text per line, in UTF-8.")
    return text


def from_texts(
    texts: Sequence[Any],
    place: str = "texts",
    names: Sequence[str] | None = None,
    y: np.ndarray | None = None,
    classes: Sequence[str] | None = None,
    *,
    first: int = 0,
) -> Texts:
    """Texts without the empty ones. By default they are named by their position, counted from `first`.

    >>> from_texts(["a red fox", " ", "a grey wolf"]).names
    ['0', '2']
    """
    wrong = next((text for text in texts if text is not None and not isinstance(text, str)), None)
    if wrong is not None:
        raise InputError(f"{place} contains {wrong!r} among its texts: each must be a str.")
    kept = [i for i, text in enumerate(texts) if text is not None and text.strip()]
    if not kept:
        raise DataError(f"{place} contains no text. Give one text per line.")
    x = np.empty(len(kept), dtype=object)
    x[:] = [texts[i].strip() for i in kept]
    empty = len(texts) - len(kept)
    notes = [f"{'1 empty text was' if empty == 1 else f'{empty:,} empty texts were'} left out."] if empty else ()
    kept_names = [str(i + first) if names is None else names[i] for i in kept]
    return Texts(x, kept_names, None if y is None else y[kept], classes, place=place, notes=notes)


def are_texts(value: Any) -> bool:
    """Whether a value is a sequence of texts: a list, tuple, one-dimensional array or column of str."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(text, str) for text in value)
    if getattr(value, "ndim", None) != 1 or not len(value):
        return False
    return all(isinstance(text, str) for text in np.asarray(value, dtype=object))
