"""Questions: never about the same sample twice; the hidden class and the divided one are found."""

import numpy as np
from sklearn.datasets import make_blobs

from c3clust.paper.people import Person
from c3clust.records.pins import Pin
from c3clust.review.learner import Learner


def blobs():
    return make_blobs(300, 8, centers=4, cluster_std=0.6, center_box=(-4, 4), random_state=1)


def pins_of(question, answer):
    return [Pin(p["kind"], tuple(map(str, p["samples"])), p["cluster"]) for p in question.pins(answer)]


def test_no_sample_is_asked_about_twice():
    z, y = blobs()
    learner, pins, asked = Learner(z, y, 4), [], []
    for _ in range(8):
        for question in learner.questions(5):
            if question.kind == "where":
                asked += question.samples
                pins += pins_of(question, int(y[question.samples[0]]))
            else:
                pins += pins_of(question, "no")
        learner.correct(pins)
    assert len(asked) == len(set(asked)) > 20


def test_a_divided_class_is_the_first_pair_and_yes_merges_it():
    z, y = blobs()
    labels = np.where((y == 2) & (np.arange(300) % 2 == 0), 4, y)
    learner = Learner(z, labels, 5)
    question = next(q for q in learner.questions(4) if q.kind == "pair")
    assert question.clusters == (2, 4)
    learner.correct(pins_of(question, "yes") * 2)
    np.testing.assert_array_equal(learner.labels, y)
    learner.correct(pins_of(question, "no") * 2)
    assert all(q.clusters != (2, 4) for q in learner.questions(400) if q.kind == "pair")


def test_none_of_five_is_asked_again_with_the_others():
    z, y = make_blobs(300, 8, centers=8, random_state=0)
    learner = Learner(z, y, 8)
    first = next(q for q in learner.questions(40) if q.kind == "where")
    learner.correct(pins_of(first, "none"))
    again = next(q for q in learner.questions(300) if q.samples == first.samples)
    assert not set(again.candidates) & set(first.candidates)


def test_a_where_question_offers_five_clusters_with_the_own_first():
    z, y = make_blobs(300, 8, centers=8, random_state=0)
    learner = Learner(z, y, 8)
    for question in (q for q in learner.questions(6) if q.kind == "where"):
        assert len(set(question.candidates)) == 5
        assert question.candidates[0] == learner.labels[question.samples[0]]


def test_all_samples_may_be_asked_about():
    z, y = blobs()
    learner = Learner(z[:12], y[:12], 4)
    questions = learner.questions(1000)
    assert sorted(q.samples[0] for q in questions if q.kind == "where") == list(range(12))


def test_a_merge_is_confirmed_by_a_second_question_which_shows_others():
    z, y = blobs()
    labels = np.where((y == 2) & (np.arange(300) % 2 == 0), 4, y)
    learner = Learner(z, labels, 5)
    pair = next(q for q in learner.questions(4) if q.kind == "pair")
    learner.correct(pins_of(pair, "yes"))
    assert (learner.labels != labels).sum() == 1
    second = learner.questions(1)[0]
    assert (second.kind, set(second.clusters), set(second.ends)) == ("pair", {2, 4}, set(pair.ends))
    assert len((set(second.samples) - set(second.ends)) & set(pair.samples)) <= 2
    learner.correct([*pins_of(pair, "yes"), *pins_of(second, "no")])
    np.testing.assert_array_equal(learner.labels, labels)
    learner.correct([*pins_of(pair, "yes"), *pins_of(second, "yes")])
    np.testing.assert_array_equal(learner.labels, y)
    assert all(4 not in q.clusters for q in learner.questions(20))


def test_a_cluster_of_two_things_is_asked_about_then_where_its_part_belongs():
    z, y = blobs()
    labels = np.minimum(y, 2)
    learner, person = Learner(z, labels, 3), Person(y, 0.0, 0)
    split = next(q for q in learner.questions(20) if q.kind == "split")
    half = len(split.samples) // 2
    assert [set(y[list(part)]) for part in (split.samples[:half], split.samples[half:])] in ([{2}, {3}], [{3}, {2}])
    assert person.answer(split, learner) == "yes"
    pins = pins_of(split, "yes")
    learner.correct(pins)
    then = learner.questions(1)[0]
    assert (then.kind, person.answer(then, learner)) == ("where", "new")
    learner.correct([*pins, *pins_of(then, "new")])
    assert (learner.labels == 3).sum() > 30
    learner.correct(pins_of(split, "no"))
    assert all(q.samples != split.samples for q in learner.questions(20))
