"""Checking: the answers of "Check 30", kept in checks.json of the run folder, and what they say.

{"format": 1, "clusters": a hash of the clusters that were judged, "drawn": [names], "right": {name: true or false}}
Each answer is written at once. review/check.py draws the samples and has the interval.
"""

import hashlib
import json
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import InputError, RunError
from c3clust.files.atomic import read_json, write_atomically
from c3clust.files.lock import MOMENT, locked
from c3clust.review.check import CHECKS, accuracy, draw
from c3clust.review.history import Now

__all__ = ["Checking"]

FILE = "checks.json"
FORMAT = 1


class Checking:
    """The checks of a run."""

    def __init__(self, run: Path) -> None:
        self.run = run

    def plain(self, now: Now) -> dict[str, Any] | None:
        """For the page: the samples to judge by position, the answers, and the result. None if none were drawn.

        stale: whether clusters have changed since the samples were drawn.
        """
        found = self._read()
        if found is None:
            return None
        names = now.assignments.names
        position = {name: i for i, name in enumerate(names)}
        right = found["right"]
        drawn = [position[name] for name in found["drawn"] if name in position]
        judged = np.array([right[names[i]] for i in drawn if names[i] in right], dtype=bool)
        return {
            "drawn": drawn,
            "done": len(judged),
            "result": asdict(accuracy(judged, len(names))) if len(judged) == len(drawn) and len(drawn) else None,
            "left": [i for i in drawn if names[i] not in right],
            "stale": found["clusters"] != _hash(now),
        }

    def start(self, now: Now) -> None:
        """Draw new samples, of the clusters as they are."""
        rows = draw(now.assignments.clusters, CHECKS, secrets.randbits(32))
        names = [now.assignments.names[i] for i in rows]
        self._write({"format": FORMAT, "clusters": _hash(now), "drawn": names, "right": {}})

    def judge(self, now: Now, sample: int, right: bool) -> None:
        """A sample is in the right cluster, or not."""
        found = self._read()
        name = now.assignments.names[sample]
        if found is None or name not in found["drawn"] or type(right) is not bool:
            raise InputError(f"{name!r} is not among the samples to be checked: begin again.")
        self._write({**found, "right": {**found["right"], name: right}})

    def back(self) -> None:
        """Forget the last judgement."""
        found = self._read()
        if found is None or not found["right"]:
            raise InputError("Nothing was judged yet.")
        right = list(found["right"].items())
        self._write({**found, "right": dict(right[:-1])})

    def _write(self, content: dict[str, Any]) -> None:
        with locked(self.run, MOMENT):
            write_atomically(self.run / FILE, (json.dumps(content, indent=1) + "\n").encode())

    def _read(self) -> dict[str, Any] | None:
        path = self.run / FILE
        try:
            raw = read_json(path)
            drawn, right = raw["drawn"], raw["right"]
            texts = all(isinstance(name, str) for name in [*drawn, *right, raw["clusters"]])
            if raw["format"] != FORMAT or not texts or not all(type(value) is bool for value in right.values()):
                raise ValueError("its parts are of other types")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise RunError(f"{path} is damaged: {str(error).rstrip('.')}. Delete it to check again.") from None
        return raw


def _hash(now: Now) -> str:
    return hashlib.sha256(now.assignments.clusters.astype("<i8").tobytes()).hexdigest()[:32]
