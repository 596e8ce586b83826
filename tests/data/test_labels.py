"""Labels from a file, for scores only."""

import numpy as np
import pytest

from c3clust import data
from c3clust.errors import C3ClustError


@pytest.fixture
def x(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((6, 5)))
    return tmp_path / "x.npy"


def test_labels_of_an_array_and_of_tables(x, tmp_path):
    np.save(tmp_path / "y.npy", np.array([3, 3, 5, 5, 3, 5]))
    found = data.load(x, labels=tmp_path / "y.npy")
    assert found.y.tolist() == [0, 0, 1, 1, 0, 1]
    assert list(found.classes) == ["3", "5"]
    (tmp_path / "order.csv").write_text("label\n" + "\n".join("aabbab") + "\n")
    assert data.load(x, labels=str(tmp_path / "order.csv")).y.tolist() == [0, 0, 1, 1, 0, 1]
    rows = [f"{i},{'odd' if i % 2 else 'even'}" for i in reversed(range(6))]
    (tmp_path / "names.csv").write_text("name,label\n" + "\n".join(rows) + "\n")
    assert data.load(x, labels=str(tmp_path / "names.csv")).y.tolist() == [0, 1, 0, 1, 0, 1]


def test_wrong_files_are_one_sentence(x, tmp_path):
    np.save(tmp_path / "few.npy", np.zeros(3, int))
    np.save(tmp_path / "wide.npy", np.zeros((6, 2), int))
    (tmp_path / "some.csv").write_text("name,label\n0,a\n1,b\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "text.npy").write_text("x")
    for name, message in {
        "few.npy": "3 labels and .* 6 samples",
        "wide.npy": r"shape \(6, 2\)",
        "some.csv": "no label for 4 of 6",
        "other.csv": "needs a column label",
        "text.npy": "numpy file",
        "none.npy": "that exists",
    }.items():
        with pytest.raises(C3ClustError, match=message):
            data.load(x, labels=tmp_path / name)


def test_scores_of_a_fit(c3clust, x, tmp_path):
    np.save(tmp_path / "y.npy", np.array([0, 0, 1, 1, 0, 1]))
    words = ["fit", x, "-k", "2", "--method", "kmeans", "-o", tmp_path / "run", "--labels", tmp_path / "y.npy"]
    assert "ACC" in c3clust(*words).stdout
