import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from c3clust.report.confusion import match, scores


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 4, 300)
    found = np.where(rng.random(300) < 0.6, (true + 1) % 4, rng.integers(0, 6, 300))
    counts = np.zeros((6, 4), int)
    np.add.at(counts, (found, true), 1)
    told = scores(counts)
    assert told["nmi"] == pytest.approx(normalized_mutual_info_score(true, found))
    assert told["ari"] == pytest.approx(adjusted_rand_score(true, found))
    assert told["acc"] == pytest.approx(sum(counts[m, k] for k, m in match(counts).items()) / 300)


def test_a_perfect_clustering():
    assert scores(np.diag([5, 6, 7])) == pytest.approx({"acc": 1, "nmi": 1, "ari": 1})


def test_nothing_to_score():
    assert scores(np.zeros((3, 2), int)) == {}


def test_fewer_clusters_than_classes():
    assert match(np.array([[5, 1, 0]])) == {0: 0}
