"""Questions about the number of clusters: what is divided or hidden is asked about first; then the number is right."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from c3clust.paper.people import Person, Start, counted
from c3clust.records.duplicates import Duplicates
from c3clust.review.history import History
from c3clust.review.learner import Learner
from c3clust.review.teacher import Teacher


@dataclass(frozen=True)
class Said:
    kind: str = ""
    samples: tuple = ()
    cluster: int | None = None


def blobs():
    return make_blobs(300, 8, centers=5, cluster_std=0.6, center_box=(-4, 4), random_state=1)


def divided(y):
    """Half of a class is in a cluster of its own."""
    return np.where((y == 0) & (np.arange(300) % 2 == 0), y.max() + 1, y)


def hidden(y):
    """Two classes are in one cluster."""
    return np.minimum(y, 3)


def test_a_divided_class_is_the_first_question():
    z, y = blobs()
    first = Learner(z, divided(y), 6).questions(1, number=True)[0]
    assert (first.kind, set(first.clusters)) == ("pair", {0, 5})


def test_a_hidden_class_is_asked_about_before_other_samples():
    z, y = blobs()
    where = next(each for each in Learner(z, hidden(y), 4).questions(20, number=True) if each.kind == "where")
    assert y[where.samples[0]] in (3, 4)


@pytest.mark.parametrize("change", [divided, hidden, lambda y: divided(hidden(y))])
def test_the_number_is_right_after_ten_answers(change):
    z, y = blobs()
    labels = change(y)
    c = np.eye(labels.max() + 1)[labels] * 0.9 + 0.01
    assert counted(Start(z, c, y), Person(y, 0.0, 0), 10, 0) == 5


def test_what_was_answered_is_not_asked_again():
    z, y = blobs()
    learner, person, pins, asked = Learner(z, y, 5), Person(y, 0.0, 0), [], []
    for _ in range(10):
        question = learner.questions(1, number=True)[0]
        asked.append((question.kind, question.samples[0], question.clusters))
        pins += [Said(**pin) for pin in question.pins(person.answer(question, learner))] * 2
        learner.correct(pins)
    assert len(set(asked)) == len(asked)


def test_the_page_asks_about_the_number_if_it_was_estimated(fitted):
    now = History(fitted).now
    names = list(now.assignments.names)
    z = np.load(fitted / "z.npy")
    given, estimated = (Teacher(z, names, Duplicates.none(len(names)), now) for _ in range(2))
    counting = estimated.questions(replace(now, record=replace(now.record, choice={"chosen": 10})))
    learner = estimated._known[2]
    assert counting == learner.questions(len(counting), number=True)
    assert given.questions(now) == learner.questions(len(counting))
