"""duplicates.csv."""

import numpy as np
import pytest

from c3clust.errors import RunError
from c3clust.records.duplicates import Duplicates

NAMES = ["a", "b, c", "d", "é", "f"]


def test_exact_and_near_copies_join_one_group():
    found = Duplicates.of(np.array([0, 1, 0, 3, 4]), np.array([[0, 4]]), np.array([0.9]))
    assert found.original.tolist() == [0, 1, 0, 3, 0]
    assert found.distinct.tolist() == [0, 1, 3]
    assert found.rows.tolist() == [0, 1, 0, 2, 0]
    assert found.similarity[2] == 1
    assert found.similarity[4] == pytest.approx(0.9)


def test_a_name_of_a_copy_is_no_original():
    exact, named = np.array([0, 1, 0, 3, 0]), np.array([True, True, True, False, False])
    found = Duplicates.of(exact, np.array([[1, 3]]), np.array([0.9]), named)
    assert found.original.tolist() == [4, 3, 4, 3, 4]
    assert found.similarity[[0, 1, 2]].tolist() == [1, 0.9, 1]
    assert np.isnan(found.similarity[[3, 4]]).all()
    assert Duplicates.of(exact, np.empty((0, 2), int), np.empty(0), named | True).original.tolist() == [0, 1, 0, 3, 0]


def test_written_and_read(tmp_path):
    found = Duplicates.of(np.array([0, 1, 1, 3, 4]), np.array([[0, 4]]), np.array([0.87654321]))
    found.write(tmp_path, NAMES)
    lines = (tmp_path / "duplicates.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["name,copy_of,kind,similarity", 'd,"b, c",exact,1.0000', "f,a,near,0.8765"]
    again = Duplicates.read(tmp_path, NAMES)
    assert again.original.tolist() == found.original.tolist()
    np.testing.assert_allclose(again.similarity, found.similarity, atol=1e-4)


def test_a_run_without_the_file_has_none(tmp_path):
    assert Duplicates.read(tmp_path, NAMES).copies.tolist() == []


def test_a_damaged_file_is_one_sentence(tmp_path):
    (tmp_path / "duplicates.csv").write_text("name,copy_of,kind,similarity\nx,a,near,0.9\n")
    with pytest.raises(RunError, match=r"duplicates\.csv is damaged"):
        Duplicates.read(tmp_path, NAMES)
