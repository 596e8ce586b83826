"""Session: a run that is reviewed in a page, its history, samples and representation.

The model is loaded in the background: the clusters are shown at once, and what needs z waits for it.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from c3clust.data.samples import Dataset
from c3clust.errors import InputError
from c3clust.records.duplicates import Duplicates
from c3clust.records.pins import NOWHERE, Pin
from c3clust.review.checking import Checking
from c3clust.review.history import History, Now
from c3clust.review.questions import Question
from c3clust.review.samples import LONGEST, Shown
from c3clust.review.teacher import Teacher

__all__ = ["Run", "Session"]

NEIGHBOURS = 8
MEANT = 24  # samples that are found by the meaning of words
ROUNDS = 10  # of k-means with two centres


class Run(Protocol):
    """What a session needs of a finished run beyond its files; methods/_review.py has it."""

    folder: Path

    def listed(self) -> Dataset: ...
    def z(self) -> np.ndarray: ...
    def z_of(self, text: str) -> np.ndarray | None: ...
    def split(self, cluster: int, into: int) -> object: ...
    def regroup(self, n_clusters: int) -> object: ...


@dataclass(frozen=True)
class Done:
    """The clusters after an action, and how many samples the model moved because of it."""

    now: Now
    followed: int = 0


class Session:
    """Everything that the page can ask for, by positions of samples."""

    def __init__(self, run: Run) -> None:
        self.run, self.history = run, History(run.folder)
        self.names = list(self.history.now.assignments.names)
        self.duplicates = Duplicates.read(run.folder, self.names)
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="c3clust-review")
        self._shown: Future[Shown] = self._pool.submit(lambda: Shown(run.listed(), self.names))
        self._lock, self._teacher = threading.RLock(), cast("Teacher | None", None)
        self.checking = Checking(run.folder)
        self._load()
        self._asked: tuple[int, Question] | None = None
        self._skipped: set[tuple[Any, ...]] = set()
        self.actions: dict[str, Callable[..., Done]] = {
            "move": self.move, "new": self.new_cluster, "nowhere": self.nowhere, "confirm": self.confirm,
            "label": self.label, "merge": self.merge, "split": self.split, "regroup": self.regroup, "undo": self.undo,
            "answer": self.answer, "skip": self.skip, "check": self.check, "judge": self.judge,
            "unjudge": self.unjudge,
        }  # fmt: skip

    @property
    def shown(self) -> Shown:
        return self._shown.result()

    @property
    def z(self) -> np.ndarray:
        """[n, D]; waits for the model."""
        return self._z.result()

    @property
    def ready(self) -> bool:
        """Whether z is there, and what learning needs of it."""
        known = self._teacher
        return self._z.done() and self._z.exception() is None and known is not None and known.z is self.z

    def _load(self) -> None:
        """Load the model in the background, and prepare learning."""
        self._z: Future[np.ndarray] = self._pool.submit(self.run.z)
        self._pool.submit(lambda: self.teacher)

    def close(self) -> None:
        self.history.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    # What is shown.

    def state(self, now: Now | None = None) -> dict[str, Any]:
        """The clusters, and what checks say about them."""
        now = now or self.history.now
        return {"ready": self.ready, **now.plain(), "check": self.checking.plain(now)}

    def about(self) -> dict[str, Any]:
        """What stays the same while the page is open."""
        record = self.history.now.record
        kind = record.data.get("kind", "image")
        return {
            "run": self.run.folder.name,
            "method": record.method,
            "kind": kind,
            "noun": {"text": "text", "table": "row", "vector": "sample"}.get(kind, "picture"),
            "names": self.names,
            "copies": [[int(i), int(self.duplicates.original[i])] for i in self.duplicates.copies],
        }

    def sample(self, i: int) -> dict[str, Any]:
        """A sample with its nearest neighbours, its copies and who decided."""
        self._check([i])
        original = self.duplicates.original
        group = np.flatnonzero(original == original[i])
        near = self._nearest(i) if self.ready else None
        return {
            "text": self.shown.text(i, LONGEST),
            "neighbours": near,
            "copies": [int(j) for j in group if j != i],
        }

    def cards(self, samples: Sequence[int]) -> list[str]:
        """The text of each sample."""
        self._check(samples)
        return [self.shown.text(i) for i in samples]

    def search(self, text: str) -> dict[str, Any]:
        """The samples whose name or text contains these words; if there are none, the nearest by their meaning."""
        words = str(text).casefold().split()
        texts = self.shown.text if self.history.now.record.data.get("kind") in ("text", "table") else None
        found = [
            i
            for i, name in enumerate(self.names)
            if all(word in (name if texts is None else f"{name} {texts(i, LONGEST)}").casefold() for word in words)
        ]
        meant = self.run.z_of(str(text)[:LONGEST]) if words and not found and self.ready else None
        if meant is None:
            return {"samples": found, "meant": False}
        return {"samples": self._closest(meant, self.duplicates.distinct, MEANT), "meant": True}

    def like(self, samples: Sequence[int]) -> list[int]:
        """The samples of the same clusters that are closer to these than to the rest: k-means with two centres."""
        self._check(samples)
        labels = self.history.now.assignments.clusters
        inside = np.flatnonzero(np.isin(labels, labels[samples]))
        z, chosen = self.z[inside], np.isin(inside, samples)
        fixed = chosen.copy()
        for _ in range(ROUNDS):
            if chosen.all():
                break
            one, rest = z[chosen].mean(axis=0), z[~chosen].mean(axis=0)
            closer = ((z - one) ** 2).sum(axis=1) < ((z - rest) ** 2).sum(axis=1)
            chosen = closer | fixed
        return inside[chosen].tolist()

    def _nearest(self, i: int) -> list[int]:
        distinct = self.duplicates.distinct
        return self._closest(self.z[i], distinct[distinct != self.duplicates.original[i]], NEIGHBOURS)

    def _closest(self, z: np.ndarray, among: np.ndarray, n: int) -> list[int]:
        distance = ((self.z[among] - z) ** 2).sum(axis=1)
        return among[np.argsort(distance, kind="stable")[:n]].tolist()

    # What is asked.

    @property
    def teacher(self) -> Teacher:
        """What is learned from corrections; made when it is first needed."""
        with self._lock:
            if self._teacher is None or self._teacher.z is not self.z:
                self._teacher = Teacher(self.z, self.names, self.duplicates, self.history.now)
            return self._teacher

    def question(self) -> dict[str, Any] | None:
        """What is worth most to ask now; None if there is nothing, or the model is not there yet."""
        if not self.ready:
            return None
        now, found = self.history.now, None
        for found in self.teacher.questions(now, len(self._skipped)):
            if _key(found) not in self._skipped:
                self._asked = (now.version, found)
                return self.teacher.shown(now, found)
        return None

    def answer(self, answer: str) -> Done:
        """Answer the question that was asked last: "yes" or "no"; a cluster, "new", "none" or "nowhere"."""
        version, found = self._asked or (0, None)
        now = self.history.now
        if found is None or version != now.version:
            raise InputError("That question is out of date: look at the next one.")
        if found.kind != "where":  # where a sample belongs is asked again if the answer is in doubt
            self._skipped.add(_key(found))
        if found.kind == "pair" and answer == "yes":
            return self.merge(sorted(found.clusters))
        return self._pins(lambda edits: self.teacher.pins(now, found, answer))

    def skip(self) -> Done:
        """Do not ask the last question again."""
        if self._asked is not None:
            self._skipped.add(_key(self._asked[1]))
        return Done(self.history.now)

    def check(self) -> Done:
        """Draw random samples to be judged right or wrong."""
        self.checking.start(self.history.now)
        return Done(self.history.now)

    def judge(self, sample: int, right: bool) -> Done:
        """A sample that was drawn is in the right cluster, or not."""
        self._check([sample])
        self.checking.judge(self.history.now, sample, right)
        return Done(self.history.now)

    def unjudge(self) -> Done:
        """Take the last judgement back."""
        self.checking.back()
        return Done(self.history.now)

    # What is done. Each is one step of the history.

    def move(self, samples: Sequence[int], cluster: int | str) -> Done:
        """To a cluster, by number or name."""
        names = self._named(samples)
        return self._pins(lambda edits: [Pin.of("in", names, edits.find(cluster))])

    def new_cluster(self, samples: Sequence[int], name: str = "") -> Done:
        names = self._named(samples)
        return self._pins(lambda edits: [Pin.of("in", names)], [name])

    def nowhere(self, samples: Sequence[int]) -> Done:
        """They belong to no cluster."""
        names = self._named(samples)
        return self._pins(lambda edits: [Pin.of("nowhere", names)])

    def confirm(self, samples: Sequence[int]) -> Done:
        """They are where they belong."""
        self._check(samples)
        labels = self.history.now.assignments.clusters
        here = {int(m): self._named([i for i in samples if labels[i] == m]) for m in np.unique(labels[samples])}
        pins = [Pin.of("nowhere", names) if m == NOWHERE else Pin.of("in", names, m) for m, names in here.items()]
        return self._pins(lambda edits: pins)

    def label(self, cluster: int, name: str) -> Done:
        return Done(self.history.step(lambda edits: edits.label({edits.find(cluster): name})))

    def merge(self, clusters: Sequence[int]) -> Done:
        return Done(self.history.step(lambda edits: edits.merge([edits.find(cluster) for cluster in clusters])))

    def split(self, cluster: int, into: int = 2) -> Done:
        return Done(self.history.around(lambda: self.run.split(cluster, into)))

    def regroup(self, n_clusters: int) -> Done:
        now = self.history.around(lambda: self.run.regroup(n_clusters))
        self._load()
        return Done(now)

    def undo(self) -> Done:
        before = self.history.now.record
        now = self.history.undo()
        if now.record != before:  # a split or regrouping was undone
            self._load()
        return Done(now)

    def _pins(self, pins: Callable[[Any], list[Pin]], new: Sequence[str] = ()) -> Done:
        now = self.history.now
        given = pins(now.edits)
        moved = self.teacher.moved(now, given, new) if self.ready else {}
        return Done(self.history.step(lambda edits: edits.pin(given, new, moved)), len(moved))

    def _named(self, samples: Sequence[int]) -> list[str]:
        """The names of the samples and of their copies: they are the same picture."""
        self._check(samples)
        original = self.duplicates.original
        return [self.names[i] for i in np.flatnonzero(np.isin(original, original[samples]))]

    def _check(self, samples: Sequence[int]) -> None:
        n = len(self.names)
        wrong = next((i for i in samples if type(i) is not int or not 0 <= i < n), None)
        if wrong is not None or not samples:
            raise InputError(f"{str(wrong)[:40]} is not the position of one of the {n:,} samples.")


def _key(question: Question) -> tuple[Any, ...]:
    """What a question is about."""
    return (question.kind, question.samples if question.kind == "where" else question.clusters)
