"""The study of answers: people answer as they should, each run is done once, and the table is made from the files."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from c3clust import paper
from c3clust.errors import InputError
from c3clust.paper import Setting, answers, starts
from c3clust.paper.people import WAYS, Person, Start
from c3clust.review.learner import Learner
from c3clust.review.questions import Question


@pytest.fixture
def case():
    """Four groups; half of one is in the cluster of another."""
    z, y = make_blobs(200, 8, centers=4, cluster_std=0.6, center_box=(-4, 4), random_state=1)
    labels = np.where((y == 3) | ((y == 2) & (np.arange(200) % 2 == 0)), y, np.minimum(y, 1))
    return Start(z, np.eye(4)[labels] * 0.9 + 0.025, y)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_starts_alike_and_is_right_when_all_is_told(case, way):
    found = WAYS[way](case, Person(case.y, 0.0, 0), (0, 20, 200), 0)
    assert found[0] == pytest.approx(WAYS["corrected only"](case, Person(case.y, 0.0, 0), (0,), 0)[0])
    assert found[200] == 1
    assert found[0] <= found[20] + 0.05


def test_a_person_is_wrong_as_often_as_asked():
    person = Person(np.arange(2000) % 5, 0.1, 0)
    wrong = np.mean([person.says(row) != row % 5 for row in range(2000)])
    assert 0.07 < wrong < 0.13


def test_a_person_knows_what_clusters_show(case):
    learner, person = Learner(case.z, case.c.argmax(1), 4, case.c), Person(case.y, 0.0, 0)
    one, three = (int(np.flatnonzero(case.y == k)[0]) for k in (1, 3))
    two = int(np.flatnonzero((case.y == 2) & (learner.labels == 1))[0])
    assert person.answer(Question("where", (1,), (two,), (1, 2)), learner) == 2
    assert person.answer(Question("where", (1,), (two,), (1, 0)), learner) == "none"
    assert person.answer(Question("where", (3,), (three,), (3, 0)), learner) == 3
    assert person.answer(Question("pair", (0, 3), (one, three), ends=(one, three)), learner) == "no"
    assert person.answer(Question("split", (0,), (one, three), ends=(one, three)), learner) == "yes"


def test_the_study_is_resumed_and_its_files_are_whole(case, tmp_path, monkeypatch):
    (tmp_path / "given").mkdir()
    np.savez(tmp_path / "given" / "blobs-0.npz", z=case.z, c=case.c, y=case.y)
    monkeypatch.setattr(answers, "BUDGETS", (0, 10))
    monkeypatch.setattr(starts, "_own", lambda: [])
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    files = paper.make("answers", Setting(str(tmp_path / "given"), (0,)), tmp_path / "out")
    assert {path.name for path in files} >= {"answers.csv", "answers-table.md", "answers.md", "answers.png"}
    lines = (tmp_path / "out" / "answers.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * (len(WAYS) + 2)
    monkeypatch.setattr(answers, "Person", None)  # nothing is run again
    again = paper.make("answers", Setting(str(tmp_path / "given"), (0,)), tmp_path / "out")
    assert again == files


def test_a_file_that_is_not_a_case_is_named(tmp_path):
    np.savez(tmp_path / "blobs.npz", z=np.zeros((3, 2)))
    with pytest.raises(InputError, match="is not named NAME-SEED"):
        list(starts._given(tmp_path))
