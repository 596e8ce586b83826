"""Simulated people, and what is made of their answers: the learner of review/, and simpler means beside it.

A person knows the class of each sample, and is wrong with a given probability. All ways get the same features z [n, F],
probabilities c [n, K] and budgets. Those beside the learner are told classes, and their clusters are named by the best
matching with the classes (scipy's assignment), which favours them.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from c3clust import metrics
from c3clust.features.vectors import lengths_alike, scale_rows
from c3clust.review.learner import Learner
from c3clust.review.questions import Question, typical

__all__ = ["WAYS", "Person", "Start", "counted", "named"]

BATCHES = {50: 5, 200: 10}  # questions at a time, up to so many answers
LARGE_BATCH = 25
WEIGHT = 10.0  # of an answer beside a label of the model
Scores = dict[int, float]


@dataclass(frozen=True)
class Start:
    """What all ways start from: features z [n, F], probabilities c [n, K] of their clusters, and classes y [n]."""

    z: np.ndarray
    c: np.ndarray
    y: np.ndarray


class Person:
    """Answers with the class `y` of a sample; with probability `wrong` with another one."""

    def __init__(self, y: np.ndarray, wrong: float, seed: int) -> None:
        self.y, self.wrong, self.random = y, wrong, np.random.default_rng(seed)

    def says(self, row: int) -> int:
        """The class of a sample."""
        if self.random.random() < self.wrong:
            return int(self.random.choice(np.setdiff1d(self.y, self.y[row])))
        return int(self.y[row])

    def answer(self, question: Question, learner: Learner) -> Any:
        """A cluster shows the class of most of its most typical samples; one that no cluster shows is new."""
        wrong = self.random.random() < self.wrong
        if question.kind != "where":
            half = question.samples.index(question.ends[len(question.ends) // 2])
            one, two = (_most(self.y[list(part)]) for part in (question.samples[:half], question.samples[half:]))
            return "yes" if ((one == two) != wrong) == (question.kind == "pair") else "no"
        row, own = question.samples[0], int(learner.labels[question.samples[0]])
        if wrong and question.candidates:
            return int(self.random.choice(question.candidates))
        shows = {int(k): _most(self.y[typical(learner, np.flatnonzero(learner.labels == k))]) for k in learner.live}
        fitting = [k for k in (own, *question.candidates) if shows.get(k) == self.y[row]]
        return fitting[0] if fitting else "none" if self.y[row] in shows.values() else "new"


def learner(case: Start, person: Person, budgets: Sequence[int], seed: int) -> Scores:
    """Questions and corrections of `c3clust review`. A batch ends with a merge, which is confirmed first."""
    model, pins, used, found = Learner(case.z, case.c.argmax(1), case.c.shape[1], case.c, seed), [], 0, {}
    for budget in budgets:
        while used < budget:
            size = next((size for limit, size in BATCHES.items() if used < limit), LARGE_BATCH)
            questions = model.questions(min(size, budget - used))
            if not questions:
                break
            for question in questions:
                answer = person.answer(question, model)
                pins += [SimpleNamespace(**pin) for pin in question.pins(answer)]
                used += 1
                if answer == "new" or question.kind != "where":
                    model.correct(pins)
                if question.kind == "pair" and answer == "yes":
                    break
            model.correct(pins)
        found[budget] = metrics.acc(case.y, model.labels)
    return found


def counted(case: Start, person: Person, answers: int, seed: int) -> int:
    """The number of clusters after so many answers about it, each of which counts at once, as in the page."""
    model, pins = Learner(case.z, case.c.argmax(1), case.c.shape[1], case.c, seed), []
    for _ in range(answers):
        for question in model.questions(1, number=True):
            said = [SimpleNamespace(**pin) for pin in question.pins(person.answer(question, model))]
            pins += [*said, *said]
        model.correct(pins)
    return len(model.live)


def only(case: Start, person: Person, budgets: Sequence[int], seed: int) -> Scores:
    """The hardest samples are corrected, and nothing follows."""
    rows, start = np.argsort(case.c.max(1), kind="stable")[: max(budgets)], named(case)
    said = [person.says(row) for row in rows]
    return {budget: _score(case, start, rows[:budget], said[:budget]) for budget in budgets}


def random_labels(case: Start, person: Person, budgets: Sequence[int], seed: int) -> Scores:
    """Random samples are labelled, and a logistic regression is trained on them."""
    rows = np.random.default_rng(seed).permutation(len(case.y))[: max(budgets)]
    return _scores(
        case, rows, [person.says(row) for row in rows], budgets, lambda rows, said: _classifier(case, rows, said)
    )


def idc_like(case: Start, person: Person, budgets: Sequence[int], seed: int) -> Scores:
    """As IDC (Sun et al., NeurIPS 2024): hard, dense and diverse samples, then a model of answers and sure labels."""
    rows = _hard_dense_diverse(case, max(budgets))
    return _scores(case, rows, [person.says(row) for row in rows], budgets, lambda rows, said: _tuned(case, rows, said))


def cobras_like(case: Start, person: Person, budgets: Sequence[int], seed: int) -> Scores:
    """As COBRAS (van Craenendonck et al., IDA 2018): cells are divided, and each follows the answer for its medoid."""
    x, labels, found, said = _scaled(case.z), named(case), {}, dict[int, int]()
    cells = [np.flatnonzero(case.c.argmax(1) == k) for k in range(case.c.shape[1])]
    cells = [cell for cell in cells if len(cell)]
    waiting = sorted(range(len(cells)), key=lambda i: -len(cells[i]))
    for used in range(max(budgets) + 1):
        if used in budgets:
            found[used] = _score(case, labels, list(said), list(said.values()))
        if not waiting:
            waiting = _divide(cells, x, seed)
        if waiting:
            cell = cells[waiting.pop(0)]
            medoid = int(cell[((x[cell] - x[cell].mean(0)) ** 2).sum(1).argmin()])
            said[medoid] = said[medoid] if medoid in said else person.says(medoid)
            labels[cell] = said[medoid]
    return found


WAYS: dict[str, Callable[[Start, Person, Sequence[int], int], Scores]] = {
    "learner": learner, "corrected only": only, "random labels": random_labels,
    "IDC-like": idc_like, "COBRAS-like": cobras_like,
}  # fmt: skip


def _most(classes: np.ndarray) -> int:
    return int(np.bincount(classes).argmax())


def named(case: Start) -> np.ndarray:
    """The labels of the model as classes, by the best matching; -1 of a cluster without one."""
    labels = case.c.argmax(1)
    counts = np.zeros((case.c.shape[1], int(case.y.max()) + 1))
    np.add.at(counts, (labels, case.y), 1)
    names = np.full(case.c.shape[1], -1)
    clusters, classes = linear_sum_assignment(-counts)
    names[clusters] = classes
    return names[labels]


def _score(case: Start, labels: np.ndarray, rows: Sequence[int] | np.ndarray, said: Sequence[int]) -> float:
    """The share of classes that are right, if the answers hold."""
    final = labels.copy()
    final[np.asarray(rows, dtype=np.int64)] = said
    return float((final == case.y).mean())


def _scores(
    case: Start, rows: np.ndarray, said: Sequence[int], budgets: Sequence[int], model: Callable[..., np.ndarray]
) -> Scores:
    start = named(case)
    labels = {b: model(rows[:b], said[:b]) if len(set(said[:b])) > 1 else start for b in budgets}
    return {budget: _score(case, labels[budget], rows[:budget], said[:budget]) for budget in budgets}


def _classifier(case: Start, rows: np.ndarray, said: Sequence[int], weight: np.ndarray | None = None) -> np.ndarray:
    x = _scaled(case.z)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # few answers, many classes
        return LogisticRegression(max_iter=300).fit(x[rows], np.asarray(said), weight).predict(x)


def _tuned(case: Start, rows: np.ndarray, said: Sequence[int]) -> np.ndarray:
    """Logistic regression on the answers, and on the surer half of the model's labels."""
    start, sure = named(case), np.argsort(-case.c.max(1), kind="stable")[: len(case.y) // 2]
    sure = np.setdiff1d(sure[start[sure] >= 0], rows)
    weight = np.r_[np.full(len(rows), WEIGHT), np.ones(len(sure))]
    return _classifier(case, np.r_[rows, sure], [*said, *start[sure].tolist()], weight)


def _hard_dense_diverse(case: Start, n: int) -> np.ndarray:
    """Samples in turn by their doubt, times their density, times the distance to those that were chosen."""
    x = _scaled(case.z)
    near = np.maximum(x @ x.T, 0) if len(x) <= 10_000 else np.ones((len(x), 1))
    value, distance, found = (1.05 - case.c.max(1)) * (near**8).mean(1), np.full(len(x), np.inf), list[int]()
    for _ in range(min(n, len(x))):
        best = int(np.where(np.isin(np.arange(len(x)), found), -1, value * np.minimum(distance, 4)).argmax())
        found.append(best)
        distance = np.minimum(distance, ((x - x[best]) ** 2).sum(1))
    return np.array(found)


def _divide(cells: list[np.ndarray], x: np.ndarray, seed: int) -> list[int]:
    """Divide the largest cell into two; the positions of its parts."""
    largest = max(range(len(cells)), key=lambda i: len(cells[i]))
    cell = cells[largest]
    if len(cell) < 2:
        return []
    part = KMeans(2, n_init=1, random_state=seed).fit(x[cell]).labels_ == 0
    if part.all() or not part.any():
        part = np.arange(len(cell)) < len(cell) // 2
    cells[largest] = cell[part]
    cells.append(cell[~part])
    return [largest, len(cells) - 1]


def _scaled(z: np.ndarray) -> np.ndarray:
    """z with rows of equal length, or columns of equal spread, as the learner uses it."""
    x = scale_rows(np.asarray(z, dtype=np.float32), lengths_alike(z))[0]
    return x / np.float32(np.sqrt((x**2).sum(1).mean()))
