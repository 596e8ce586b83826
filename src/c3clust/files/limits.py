"""Limits on what a file may request, so that memory stays in proportion to its size. docs/SECURITY.md lists them.

An environment variable of the same name replaces each of them.
"""

import os

from c3clust.errors import InputError

__all__ = ["DEFAULTS", "bomb", "limit", "set_limit", "unpacked_limit"]

DEFAULTS = {
    "C3CLUST_MAX_JSON": 32 * 2**20,  # bytes of one JSON file
    "C3CLUST_MAX_CLUSTERS": 2**12,  # clusters of a run: the report compares each with each
    "C3CLUST_MAX_RATIO": 100,  # a data file of s bytes may unpack to this times s,
    "C3CLUST_MAX_SMALL": 2**28,  # plus this many bytes
    "C3CLUST_MAX_IMAGE": 2**28,  # bytes of one encoded image
    "C3CLUST_MAX_PIXELS": 89_478_485,  # of one image: Pillow's own limit, 256 MiB of RGB
    "C3CLUST_MAX_ONNX": 2**31 - 1,  # bytes of one ONNX file: the limit of the format itself
    "C3CLUST_MAX_TAR_HEADER": 2**20,  # bytes of the header of one file in a tar
}


def limit(name: str) -> int:
    """The limit of this name: that of the environment, or the default.

    >>> limit("C3CLUST_MAX_CLUSTERS")
    4096
    """
    given = os.environ.get(name, "")
    if given and not given.isdecimal():
        raise InputError(f"The environment variable {name}={given!r} is not an integer: unset it, or change it.")
    return int(given) if given else DEFAULTS[name]


def set_limit(name: str, value: int) -> None:
    """Replace a limit, in this process and those that it starts."""
    os.environ[name] = str(int(value))


def unpacked_limit(size: int) -> int:
    """The bytes that a data file of this size may unpack to, in memory or on disk."""
    return limit("C3CLUST_MAX_RATIO") * size + limit("C3CLUST_MAX_SMALL")


def bomb(path: object, size: int) -> str:
    """The message about a file of this size that unpacks to more."""
    return (
        f"{path} has {size:,} bytes and unpacks to more than {unpacked_limit(size):,}, like a decompression bomb. If "
        "you trust it, set C3CLUST_MAX_RATIO, how many times its size it may have, to more than "
        f"{limit('C3CLUST_MAX_RATIO')}."
    )
