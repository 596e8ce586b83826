import numpy as np
import pytest

from c3clust.report import build
from c3clust.report.placed import placed


@pytest.mark.parametrize("none", [(False, False), (False, True), (True, False), (True, True)])
def test_a_view_with_placed_samples_is_that_of_the_new_labels(none):
    """none: whether samples are in no cluster, before and after."""
    rng = np.random.default_rng(0)
    n = 200
    z, y = rng.normal(size=(n, 6)).astype(np.float32), rng.integers(0, 3, n)
    before = rng.integers(-1 if none[0] else 0, 4, n)
    after = np.where(rng.random(n) < 0.2, rng.integers(-1 if none[1] else 0, 6, n), before)
    after = after if none[1] else np.where(after < 0, 5, after)
    names, sure = [f"{i}.png" for i in range(n)], rng.random(n)
    old = build(None, z, before, sure, names, y, ["a", "b", "c"], n_clusters=4)
    new = build(None, z, after, sure, names, y, ["a", "b", "c"], n_clusters=6)
    found = placed(old, before, after, sure, 6)
    assert found.unassigned == new.unassigned == none[1]
    assert found.by_hand == (none[1] and not none[0])
    for name in ("sizes", "confusion"):
        np.testing.assert_array_equal(getattr(found, name), getattr(new, name))
    np.testing.assert_allclose(found.certain, new.certain)
    np.testing.assert_allclose(found.centres, new.centres, atol=1e-2)  # z of a view has half precision
    at = {name: label for name, label in zip(new.names, new.labels, strict=True)}
    assert {name: label for name, label in zip(found.names, found.labels, strict=True)} == at
    again = placed(found, after, before, sure, 6)
    np.testing.assert_array_equal(again.sizes[:4], old.sizes[:4])


def test_the_second_best_cluster_is_the_nearest_other():
    z = np.array([[0, 0], [0.1, 0], [5, 0], [5.1, 0], [20, 0], [20.1, 0]], np.float32)
    view = build(None, z, np.array([0, 0, 1, 1, 3, 3]), None, list("abcdef"), n_clusters=4)
    assert dict(zip(view.names, view.second().tolist(), strict=True)) == {
        "a": 1, "b": 1, "c": 0, "d": 0, "e": 1, "f": 1,
    }  # fmt: skip
    alone = build(None, z, np.zeros(6, int), None, list("abcdef"), n_clusters=2)
    assert set(alone.second().tolist()) == {-1}
