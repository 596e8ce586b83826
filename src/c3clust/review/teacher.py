"""Teacher: what the decisions of a person say about the other samples of a run.

Each decision starts from the clusters as they are. What was decided before holds where it was decided. A new decision
counts as two answers: it is made in sight of its effect, and can be undone.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from c3clust.errors import InputError
from c3clust.records.duplicates import Duplicates
from c3clust.records.pins import NOWHERE, Pin
from c3clust.review.decisions import CONFIRMED, PAIRED
from c3clust.review.history import Now
from c3clust.review.learner import Learner
from c3clust.review.questions import Question, typical
from c3clust.review.space import Space

__all__ = ["Teacher"]

ANCHORS = 300  # earlier decisions that are kept in mind, and samples of one decision that are learned from
EXAMPLES = 3  # samples that show a candidate
AHEAD = 12  # questions that are chosen at a time
COUNTED = 20  # decisions until which questions are about the number of clusters, if it was estimated
CERTAINTY = (0.8, 0.95)  # of the least and the most confident sample, where the confidence is not calibrated
LEAST = 0.5  # certainty of a sample in its own cluster: it moves for a reason only


class Teacher:
    """z: [n, D]; names, duplicates: of the samples."""

    def __init__(self, z: np.ndarray, names: Sequence[str], duplicates: Duplicates, now: Now) -> None:
        self.z, self.names, self.duplicates = z, names, duplicates
        self.rows = {name: i for i, name in enumerate(names)}
        self.space = Space(z, now.assignments.clusters, now.record.seed)
        self._known: tuple[int, int, Learner, list[Question]] | None = None

    def moved(self, now: Now, pins: Sequence[Pin], new: Sequence[str] = ()) -> dict[str, tuple[int, float]]:
        """The samples that follow new decisions: cluster and probability. Copies are where their original is.

        Into a new cluster, samples follow only from the clusters that its own came from, if they are nearer to its own.
        """
        trial = now.edits.pin(pins, new)
        given = [_cut(pin) for pin in trial.pins[len(now.edits.pins) :]]
        learner = self._learner(now, given)
        before, rows = now.assignments.clusters, self.duplicates.original
        labels = learner.labels[rows]
        near = self._near(labels, before, given, now.edits.n_all)
        found = np.flatnonzero((labels != before) & (labels != NOWHERE) & near)
        chance = learner.probabilities[rows[found], labels[found]]
        return {
            self.names[i]: (int(labels[i]), float(min(p, 1.0)))
            for i, p in zip(found.tolist(), chance.tolist(), strict=True)
            if self.names[i] not in trial.person
        }

    def _near(self, labels: np.ndarray, before: np.ndarray, given: Sequence[Pin], n_all: int) -> np.ndarray:
        """[n]: whether a sample may follow: into a new cluster, if it is nearer to its samples than to the own mean."""
        x, found, means = self.space.x, labels < n_all, self.space.means(before, n_all)[0]
        from_own = ((x - means[before]) ** 2).sum(1)
        for pin in given:
            if pin.cluster is not None and pin.cluster >= n_all:
                rows = [self.rows[name] for name in pin.samples]
                closer = ((x - x[rows].mean(0)) ** 2).sum(1) < from_own
                found |= (labels == pin.cluster) & np.isin(before, before[rows]) & closer
        return found

    def questions(self, now: Now, skipped: int = 0) -> list[Question]:
        """The questions that are worth most now, best first; of an estimated number of clusters, about that first."""
        n, known = AHEAD * (1 + skipped // AHEAD), self._known
        if known is None or known[:2] != (now.version, n):
            learner = known[2] if known is not None and known[0] == now.version else self._learner(now)
            number = now.record.choice is not None and len(now.edits.operations) < COUNTED
            self._known = known = (now.version, n, learner, learner.questions(n, number) or learner.questions(n))
        return known[3]

    def shown(self, now: Now, question: Question) -> dict[str, Any]:
        """A question for the page, with samples that show each candidate."""
        assert self._known is not None
        learner = self._known[2]
        half = len(question.samples) // 2
        inside = [learner.labels[list(question.samples)] == c for c in question.clusters]
        sides = [np.array(question.samples)[rows].tolist() for rows in inside] if question.kind == "pair" else []
        return {
            "kind": question.kind,
            "clusters": list(question.clusters),
            "samples": list(question.samples),
            "sides": sides
            if question.kind == "pair"
            else [list(question.samples[:half]), list(question.samples[half:])],
            "candidates": [
                {"cluster": c, "samples": typical(learner, np.flatnonzero(learner.labels == c), EXAMPLES).tolist()}
                for c in question.candidates
            ],
        }

    def pins(self, now: Now, question: Question, answer: str) -> list[Pin]:
        """What an answer says."""
        if answer == "nowhere":
            return [Pin.of("nowhere", [self.names[i] for i in question.samples])]
        known = {"where": ("none", "new", *map(str, now.edits.live))}.get(question.kind, ("yes", "no"))
        if answer not in known:
            raise InputError(f"{str(answer)[:40]!r} is not an answer to this question.")
        return [
            Pin.of(pin["kind"], [self.names[i] for i in pin["samples"]], pin["cluster"])
            for pin in question.pins(answer)
        ]

    def _learner(self, now: Now, pins: Sequence[Pin] = ()) -> Learner:
        edits, labels = now.edits, now.assignments.clusters
        learner = Learner(self.z, labels, edits.n_all, self._prior(now), now.record.seed, self.rows, space=self.space)
        learner.correct([*self._earlier(now), *pins, *pins])
        return learner

    def _earlier(self, now: Now) -> list[Pin]:
        """What was decided before, of the last samples that were placed."""
        edits, labels = now.edits, now.assignments.clusters
        placed = [name for name in edits.placed if name in edits.person][-ANCHORS:]
        held = [(name, int(labels[self.rows[name]])) for name in placed]
        kept = [pin for pin in edits.pins if pin.kind in ("not", *PAIRED)][-ANCHORS:]
        times = Counter(name for pin in edits.pins for name in pin.samples)
        pins = [
            Pin.of("nowhere", [name]) if m == NOWHERE else Pin.of("in", [name], m)
            for name, m in held
            for _ in range(min(times[name], CONFIRMED))
        ]
        live = set(edits.live)
        return [*(pin for pin in kept if self._holds(pin, labels, live)), *pins]

    def _holds(self, pin: Pin, labels: np.ndarray, live: set[int]) -> bool:
        """Whether a decision still holds of the clusters that there are: two that were merged since are not apart."""
        if pin.kind == "not":
            return pin.cluster in live
        found = [int(labels[self.rows[name]]) for name in pin.samples]
        return len(set(found)) == (1 if pin.kind == "together" else len(found))

    def _prior(self, now: Now) -> np.ndarray:
        """[n, M]: the confidence of each sample in its own cluster; the rest by the distances to the other means."""
        labels, n = now.assignments.clusters, now.edits.n_all
        inside = np.flatnonzero(labels >= 0)
        means, _ = self.space.means(labels, n)
        x = self.space.x
        nearness = -((x**2).sum(1)[:, None] + (means**2).sum(1) - 2 * x @ means.T)
        nearness[:, np.bincount(labels[inside], minlength=n) == 0] = -np.inf
        nearness[inside, labels[inside]] = -np.inf
        share = np.exp(nearness - np.maximum(nearness.max(1, keepdims=True), -1e30))
        share /= np.maximum(share.sum(1, keepdims=True), 1e-30)
        own = self._certainty(now)
        prior = share * (1 - own)[:, None]
        prior[inside, labels[inside]] = np.maximum(own, prior.max(1))[inside]
        return prior

    def _certainty(self, now: Now) -> np.ndarray:
        """[n]: how certain the own cluster is: the confidence where it is calibrated, else by its rank."""
        confidence = np.nan_to_num(now.assignments.confidence, nan=1.0)
        person = np.array([name in now.edits.person for name in self.names])
        if now.record.quality is None:
            low, high = CERTAINTY
            rank = np.searchsorted(np.sort(confidence), confidence) / len(confidence)
            confidence = np.where(person, 1.0, low + (high - low) * rank)
        return np.maximum(confidence, LEAST).astype(np.float32)


def _cut(pin: Pin) -> Pin:
    """A decision about very many samples, of which some are learned from; all hold."""
    step = -(-len(pin.samples) // ANCHORS)
    return Pin.of(pin.kind, pin.samples[::step], pin.cluster)
