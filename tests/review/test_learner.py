"""Pins hold exactly, neighbours follow, the rest stays; fewer pins undo."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from c3clust.errors import InputError
from c3clust.records.pins import Pin
from c3clust.review.learner import Learner

KINDS = ("in", "new", "not", "nowhere", "together", "apart")


def blobs(n=400, spread=1.0):
    """Five groups, of which the clusters put two together."""
    z, y = make_blobs(n, 16, centers=5, cluster_std=spread, center_box=(-4, 4), random_state=0)
    return z, y, np.minimum(y, 3)


def pin(kind, *rows, cluster=None):
    return Pin(kind, tuple(map(str, rows)), cluster)


def random_pins(rng, n, count):
    """Pins of different samples, so that none contradicts another."""
    rows, found = iter(rng.permutation(n).tolist()), []
    for _ in range(count):
        kind = str(rng.choice(KINDS))
        if kind in ("together", "apart"):
            found.append(pin(kind, next(rows), next(rows)))
        else:
            cluster = int(rng.integers(4)) if kind in ("in", "not") else None
            found.append(pin("in" if kind == "new" else kind, next(rows), cluster=cluster))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_pins_hold_exactly(seed):
    z, _, labels = blobs(200, spread=3.0)
    pins = random_pins(np.random.default_rng(seed), 200, 30)
    learner = Learner(z, labels, 4)
    learner.correct(pins)
    now = np.asarray(learner.decisions.target)
    for each in pins:
        found = learner.labels[[int(row) for row in each.samples]]
        if each.kind == "in" and each.cluster is not None:
            assert found[0] == now[each.cluster]
        elif each.kind == "not":
            assert found[0] != each.cluster
        elif each.kind == "nowhere":
            assert found[0] == -1
        elif each.kind == "together":
            assert found[0] == found[1]
        elif each.kind == "apart":
            assert found[0] != found[1]
    inside = learner.labels >= 0
    assert (learner.probabilities.argmax(1) == learner.labels)[inside].all()
    np.testing.assert_allclose(learner.probabilities.sum(1), 1, rtol=1e-5)


def test_fewer_pins_undo_and_the_same_pins_repeat():
    z, _, labels = blobs(200, spread=3.0)
    pins = random_pins(np.random.default_rng(1), 200, 20)
    learner, other = Learner(z, labels, 4), Learner(z, labels, 4)
    learner.correct(pins)
    learner.correct(pins[:7])
    other.correct(pins[:7])
    np.testing.assert_array_equal(learner.labels, other.labels)
    np.testing.assert_array_equal(learner.probabilities, other.probabilities)
    assert learner.questions(6) == other.questions(6)
    learner.correct([])
    np.testing.assert_array_equal(learner.labels, labels)


def test_the_neighbours_of_a_pin_follow():
    z, y, labels = blobs()
    learner = Learner(z, labels, 4)
    learner.correct([pin("in", row) for row in np.flatnonzero(y == 4)[:1]])
    assert learner.n_clusters == 5
    assert (learner.labels == 4)[y == 4].mean() > 0.5
    np.testing.assert_array_equal(learner.labels[y < 4], labels[y < 4])


def test_together_said_twice_merges_clusters_at_their_cores_and_moves_a_single_sample_else():
    z, y, _ = blobs()
    learner = Learner(z, y, 5)
    ends = [int(np.flatnonzero((y == c) & learner.core)[0]) for c in (1, 3)]
    learner.correct([pin("together", *ends)])
    np.testing.assert_array_equal(np.flatnonzero(learner.labels != y), ends[1:])
    learner.correct([pin("together", *ends)] * 2)
    np.testing.assert_array_equal(learner.labels, np.where(y == 3, 1, y))
    edge = int(np.flatnonzero((y == 3) & ~learner.core)[0])
    learner.correct([pin("together", ends[0], edge)])
    assert learner.labels[edge] == 1
    assert 3 in learner.labels


def test_right_answers_move_few_samples_that_were_right():
    z, y, labels = blobs(600, spread=2.5)
    learner, rng, pins = Learner(z, labels, 4), np.random.default_rng(0), []
    for _ in range(10):
        before = learner.labels
        for row in rng.permutation(np.flatnonzero(y < 4))[:5]:
            pins.append(pin("in", int(row), cluster=int(y[row])))
        learner.correct(pins)
        moved = (before == y) & (learner.labels != before)
        assert moved.mean() < 0.01


def test_confirmed_samples_change_nothing():
    z, _, labels = blobs()
    learner = Learner(z, labels, 4, np.eye(4)[labels])
    learner.correct([pin("in", row, cluster=int(labels[row])) for row in range(40)])
    np.testing.assert_array_equal(learner.labels, labels)


def test_samples_in_no_cluster_stay_there_unless_they_are_pinned():
    z, _, labels = blobs()
    outside = labels.copy()
    outside[:10] = -1
    learner = Learner(z, outside, 4)
    learner.correct([pin("in", 0, cluster=2)])
    assert learner.labels[0] == 2
    assert (learner.labels[1:10] == -1).all()


def test_a_sample_moves_to_clusters_with_samples_only():
    z, _, labels = blobs(100)
    learner = Learner(z, labels, 6)  # 4 and 5 were merged into others
    learner.correct([pin("not", 7, cluster=cluster) for cluster in range(4)])
    assert learner.labels[7] == -1
    assert set(learner.labels) <= {-1, 0, 1, 2, 3}


def test_names_are_used_if_they_are_given():
    z, _, labels = blobs(100)
    learner = Learner(z, labels, 4, rows={f"{i}.jpg": i for i in range(100)})
    learner.correct([Pin("in", ("7.jpg",), 0)])
    assert learner.labels[7] == 0
    with pytest.raises(InputError, match="There is no sample '8'"):
        learner.correct([Pin("in", ("8",), 0)])


def test_wrong_values_are_named():
    z, _, labels = blobs(100)
    with pytest.raises(InputError, match="There is no cluster 9"):
        Learner(z, labels, 4).correct([pin("in", 0, cluster=9)])
    with pytest.raises(InputError, match=r"shape \(100, 3\)"):
        Learner(z, labels, 4, np.ones((100, 3)))


def test_a_wrong_answer_holds_but_does_not_spread_and_is_asked_again():
    z, y, _ = blobs(spread=1.0)
    learner, wrong = Learner(z, y, 5, np.eye(5)[y]), int(np.flatnonzero(y == 0)[0])
    pins = [pin("in", wrong, cluster=3)]
    learner.correct(pins)
    np.testing.assert_array_equal(np.flatnonzero(learner.labels != y), [wrong])
    assert learner.questions(1)[0].samples == (wrong,)
    learner.correct([*pins, pin("in", wrong, cluster=0)])
    np.testing.assert_array_equal(learner.labels, y)
    assert learner.questions(1)[0].samples != (wrong,)
    rate = learner.wrong
    learner.correct([*pins, *pins])
    assert learner.labels[wrong] == 3
    assert learner.wrong < rate
