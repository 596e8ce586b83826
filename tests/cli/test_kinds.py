"""Texts and tables from the command line, as a user meets them."""

import csv
import json

import numpy as np
import pytest

QUICK = ()


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table of two kinds of people with gaps, and their true kind."""
    rng = np.random.default_rng(0)
    rows = ["age,job,hours,class"]
    for i in range(40):
        age = "" if i % 9 == 4 else f"{rng.normal(20 if i % 2 else 60, 4):.2f}"
        rows.append(f"{age},{'student' if i % 2 else 'cook'},{rng.normal(10 if i % 2 else 40, 5):.3f},{'ab'[i % 2]}")
    path = tmp_path_factory.mktemp("tables") / "people.csv"
    path.write_text("\n".join(rows))
    return path


@pytest.fixture(scope="module")
def run(people, tmp_path_factory, c3clust_process):
    out = tmp_path_factory.mktemp("runs") / "people"
    done = c3clust_process("fit", people, "-k", "2", "-o", out, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "40 rows in 2 clusters" in done.stdout
    return out


def test_the_record_of_a_table(run):
    record = json.loads((run / "record.json").read_text())
    assert record["data"]["kind"] == "table"
    assert set(record["scores"]) == {"acc", "nmi", "ari"}
    assert record["encoder"]["labels"] == "no"
    assert record["encoder"]["augment"] == {"policy": "table", "resample": 0.3, "mask": 0.1, "widths": [1, 2, 1]}
    assert any("'class' is read as true labels" in note for note in record["notes"])
    page = (run / "report.html").read_text()
    assert "40 rows in 2 clusters" in page
    assert '"traits":"columns"' in page


def test_predict_from_the_folder_alone(c3clust, run, people, tmp_path):
    with open(run / "assignments.csv", newline="") as file:
        before = [row[:2] for row in csv.reader(file)]
    done = c3clust("predict", run, people)
    assert [row[:2] for row in csv.reader(done.stdout.splitlines())] == before
    (tmp_path / "new.csv").write_text("job,age,hours\npilot,,12\n")
    done = c3clust("predict", run, tmp_path / "new.csv")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,hours\n1,2\n", "no column 'job'"),
        ("age,job,hours\nx,cook,2\n", "trained on numbers"),
        ("age,job,hours\n1,cook\n", "2 cells in row 1 and 3 columns"),
    ],
)
def test_wrong_columns_get_one_sentence(c3clust, run, tmp_path, text, words):
    (tmp_path / "new.csv").write_text(text)
    done = c3clust("predict", run, tmp_path / "new.csv")
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_rows_are_not_exported_as_images(c3clust, run, tmp_path):
    done = c3clust("export", run, "--to", tmp_path / "out")
    assert done.returncode == 2
    assert "is of rows, not images" in done.stderr


def test_columns_and_kind_are_remembered(c3clust, people, tmp_path):
    words = ("-k", "2", "--kind", "table", "--column", "age", "--column", "hours", "--method", "kmeans")
    done = c3clust("fit", people, *words, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "run" / "request.json").read_text())["options"]["columns"] == ["age", "hours"]
    columns = json.loads((tmp_path / "run" / "model.json").read_text())["encoder"]["settings"]["columns"]
    assert [column["name"] for column in columns] == ["age", "hours"]


def test_texts_without_their_encoder_get_one_sentence(c3clust, tmp_path, monkeypatch):
    from c3clust.encoders import text

    monkeypatch.setattr(text, "MODULE", "no_such_module")
    (tmp_path / "t.txt").write_text("a red fox\na grey wolf\na blue whale\n")
    done = c3clust("fit", tmp_path / "t.txt", "-k", "2", "-o", tmp_path / "run")
    assert done.returncode == 2
    assert 'pip install "c3clust[text]"' in done.stderr
    assert not (tmp_path / "run" / "record.json").exists()
