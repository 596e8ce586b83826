"""Limits on what a file may ask for, so that memory stays in proportion to its size. docs/SECURITY.md lists them.

An environment variable of the same name replaces each of them.
"""

import os

from c3clust.errors import InputError

__all__ = ["DEFAULTS", "limit"]

DEFAULTS = {
    "C3CLUST_MAX_JSON": 32 * 2**20,  # bytes of one JSON file
    "C3CLUST_MAX_CLUSTERS": 2**16,  # clusters of a run
}


def limit(name: str) -> int:
    """The limit of this name: that of the environment, or the default.

    >>> limit("C3CLUST_MAX_CLUSTERS")
    65536
    """
    given = os.environ.get(name, "")
    if given and not given.isdecimal():
        raise InputError(
            f"The environment variable {name}={given!r} is not a whole number: leave it out, or change it."
        )
    return int(given) if given else DEFAULTS[name]
