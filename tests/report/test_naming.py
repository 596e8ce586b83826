"""Names suggested for clusters."""

import csv

import numpy as np
import pytest

from c3clust.report import View, build, editing, render
from c3clust.report.naming import Suggestion, class_traits, name_terms, suggestion

LABELS = np.repeat([0, 1, 2], 20)
Z = np.eye(3)[LABELS]
PIXELS = np.zeros((60, 1, 8, 8), np.uint8)
CLASSES = ["tench", "church", "palace", "golf ball"]


def suggested(names=None, x=PIXELS, **more):
    names = names or [f"{i:04d}.png" for i in range(60)]
    view = build(x, Z, LABELS, np.full(60, 0.9), names, n_clusters=3, **more)
    return [suggestion(view, i) for i in range(3)]


def test_words_of_folders_and_files():
    names = [f"golden-retriever/IMG_{i}.jpg" for i in range(20)] + [f"mixed/holidayBeach{i}.jpg" for i in range(20)]
    names += [f"DSC_{i}.jpg" for i in range(20)]
    first, second, third = suggested(names)
    assert first == Suggestion("golden retriever", "folder and file names")
    assert second.name in ("beach", "holiday", "mixed")
    assert third is None, "numbers and names that cameras give are no words"


def test_a_word_of_every_file_is_no_name():
    assert suggested([f"summer/{i}.jpg" for i in range(60)]) == [None] * 3


def test_a_word_of_two_clusters_gives_way_to_what_tells_them_apart():
    names = [f"breed-{LABELS[i]}/{i}.jpg" if LABELS[i] else f"{i}.jpg" for i in range(60)]
    assert [found and found.name for found in suggested(names)] == [None, "breed", "breed"]
    scores = np.full((60, 4), 0.01)
    scores[LABELS == 1, 0] = 0.9
    assert [found and found.name for found in suggested(names, seen=(CLASSES, scores))] == [None, "tench", "breed"]


@pytest.mark.parametrize("name", ["", "/", "a.b.c", "\\x\\y.png", "n01440764/n01440764_10029.JPEG", "\ud800.png"])
def test_odd_names_do_no_harm(name):
    assert isinstance(name_terms(name), set)


def test_classes_of_the_encoder():
    scores = np.zeros((60, 4))
    scores[LABELS == 0, 0] = 0.9
    scores[LABELS == 1, 1], scores[LABELS == 1, 2] = 0.5, 0.4
    scores[LABELS == 2] = 0.02
    first, second, third = suggested(seen=(CLASSES, scores))
    assert first == Suggestion("tench", "classes that the encoder knows")
    assert second.name == "church, palace"
    assert third is None


def test_texts_and_tables():
    texts = np.array([f"{('card lost', 'money sent', 'app crashed')[i]} today" for i in LABELS], dtype=object)
    assert {*suggested(x=texts)[0].name.split(", ")} == {"card", "lost"}
    table = np.stack([LABELS * 10.0, LABELS == 1], axis=1)
    names = [found.name for found in suggested(x=table, columns=[("age", None), ("job", ["cook", "smith"])])]
    assert names[0].startswith("low age")
    assert "job = smith" in names[1]
    assert "high age" in names[2]


def test_merged_clusters_get_the_name_of_both():
    scores = np.full((60, 4), 0.01)
    scores[LABELS < 2, 0] = 0.9
    view = build(PIXELS, Z, LABELS, None, [str(i) for i in range(60)], n_clusters=3, seen=(CLASSES, scores))
    assert suggestion(view.merged(np.array([0, 0, 2])), 0).name == "tench"
    assert class_traits(CLASSES, scores, LABELS, 3).names == CLASSES


def test_names_of_the_user_stay(run):
    view = View.read(run)
    editing.label(run, {3: "cats"})
    render(run)
    with open(run / "clusters.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows if row["name"]] == ["cats"]
    assert sum(int(row["samples"]) for row in rows) == view.n


def test_a_view_keeps_what_names_come_from(tmp_path):
    scores = np.full((60, 4), 0.25)
    view = build(PIXELS, Z, LABELS, None, ["beach/1.png"] * 60, n_clusters=3, seen=(CLASSES, scores))
    view.write(tmp_path)
    again = View.read(tmp_path)
    assert again.file_words.names == ["beach"]
    np.testing.assert_array_equal(again.classes_seen.sums, view.classes_seen.sums)
