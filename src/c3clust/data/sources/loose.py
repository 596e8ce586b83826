"""Single images: one file, or from Python a list or a column of a data frame of paths, bytes and Pillow images."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from c3clust.data.io.decode import names_an_image
from c3clust.data.io.pictures import EncodedFiles, to_samples
from c3clust.data.io.spans import Span, Spool
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.errors import DataError


def claims(path: Path) -> Claim:
    return Claim.KIND if path.is_file() and names_an_image(path.name) else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The one image, under its own name."""
    return to_samples(EncodedFiles.of([(path.name, _file(path))], str(path)), options)


def are_pictures(value: Any) -> bool:
    """Whether a value is an image (bytes or a Pillow image), or a sequence of images and paths of images.

    A str is a path if it ends like an image file, whether the file exists or not.
    """
    if _is_picture(value):
        return True
    items = _items(value)
    if not items or not all(_is_picture(item) or isinstance(item, str | os.PathLike) for item in items):
        return False
    return all(names_an_image(item) for item in items if isinstance(item, str))


def from_pictures(value: Any, options: Options) -> Samples:
    """The images in order. A path is a name; others are named by the index of a column, or by their position."""
    items = [value] if _is_picture(value) else _items(value)
    index = getattr(value, "index", None)
    given = [str(i) for i in range(len(items))] if index is None or callable(index) else [str(i) for i in index]
    spool, found = Spool(), []
    for name, item in zip(given, items, strict=True):
        is_path = isinstance(item, str | os.PathLike)
        found.append(
            (os.fspath(item) if is_path else name, _file(Path(item)) if is_path else spool.add(_encoded(item)))
        )
    spool.close()
    return to_samples(EncodedFiles.of(found, "list of images", spool=spool), options)


def _items(value: Any) -> Sequence[Any]:
    """The entries of a list, a tuple or a column of a data frame; none of anything else."""
    if isinstance(value, list | tuple):
        return value
    is_column = hasattr(value, "to_list") and not hasattr(value, "columns")
    return value.to_list() if is_column else ()


def _is_picture(item: Any) -> bool:
    if type(item) is dict:  # a cell of a Hugging Face dataset; a sparse matrix of scipy is a subclass
        return isinstance(item.get("bytes"), bytes)
    return isinstance(item, bytes | bytearray) or (hasattr(item, "getbands") and hasattr(item, "save"))


def _file(path: Path) -> Span:
    path = path.expanduser().absolute()
    try:
        return Span(str(path), path.stat().st_size)
    except (OSError, ValueError) as error:
        return Span(str(path), 0, refused=getattr(error, "strerror", None) or str(error))


def _encoded(item: Any) -> bytes:
    """The bytes of an encoded image; a Pillow image as PNG, or as TIFF where PNG has no such mode."""
    item = item["bytes"] if isinstance(item, dict) else item
    if isinstance(item, bytes | bytearray):
        return bytes(item)
    file = io.BytesIO()
    try:
        item.save(
            file, "PNG" if item.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16") else "TIFF", compress_level=1
        )
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"A Pillow image of mode {item.mode} cannot be read ({error}): convert it to RGB.") from error
    return file.getvalue()
