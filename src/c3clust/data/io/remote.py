"""Files that are named by a URL: s3://, gs://, https://, memory:// and whatever else fsspec knows."""

import importlib.util
from typing import Any, BinaryIO

from c3clust.errors import DataError, MissingExtraError, first_line

__all__ = ["is_url", "list_tars", "open_url", "read_range", "size_of"]


def is_url(place: Any) -> bool:
    """Whether a place is a URL and not a path. A path as `pathlib` writes it has no double slash.

    >>> is_url("s3://bucket/shards"), is_url("photos//cats"), is_url("C:/photos")
    (True, False, False)
    """
    return isinstance(place, str) and "://" in place


def list_tars(url: str) -> list[str]:
    """The URLs of the .tar files that a URL names: one of them, all in a folder, or those that match a pattern (*)."""
    files, path = _find(url)
    if path.endswith(".tar") and "*" not in path:
        return [url]
    pattern = path if "*" in path else f"{path.rstrip('/')}/*.tar"
    try:
        return [files.unstrip_protocol(each) for each in sorted(files.glob(pattern))]
    except Exception as error:  # each file system has its own errors
        raise DataError(f"{url} cannot be listed ({first_line(error)}). Check the address and the rights.") from error


def open_url(url: str) -> BinaryIO:
    """A file that can be read and sought."""
    files, path = _find(url)
    return files.open(path, "rb")


def size_of(url: str) -> int:
    """The size of a file in bytes."""
    files, path = _find(url)
    return int(files.size(path) or 0)


def read_range(url: str, offset: int, size: int) -> bytes:
    """Some bytes of a file, in one request. OSError if they cannot be read."""
    files, path = _find(url)
    try:
        return files.cat_file(path, start=offset, end=offset + size)
    except Exception as error:
        raise OSError(0, first_line(error), url) from error


def _find(url: str) -> tuple[Any, str]:
    """The file system of a URL, and its path there."""
    if importlib.util.find_spec("fsspec") is None:
        raise MissingExtraError(f"{url} needs the package fsspec: pip install fsspec.")
    import fsspec

    try:
        return fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(f"{url} needs another package: {first_line(error)}.") from error
    except ValueError as error:
        raise DataError(f"{url} cannot be read ({first_line(error)}). Check the address.") from error
