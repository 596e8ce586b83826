"""Text of files on its way to terminals, spreadsheets and files."""

import csv
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3clust import KMeans, data
from c3clust.errors import DataError
from c3clust.files.text import encoded, from_cell, printable, to_cell
from c3clust.records.assignments import Assignments, read_labels, write_labels

HOSTILE = "a\x1b]0;title\x07\x1b[2Jb\x9b31m\u202eexe.png"
FORMULAS = ["=1+1", "+a", "-a", "@a", "\ta", "\ra", "'=1", "''@x", "'tis", "-1", "-1.5e3", "plain"]


def test_nothing_that_a_terminal_obeys_is_left():
    text = printable(HOSTILE)
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 or letter == "\u202e" for letter in text)
    assert printable("Grüße 猫 👩‍👩‍👧\n\tx") == "Grüße 猫 👩‍👩‍👧\n\tx"


@given(st.text())
def test_cells_are_read_back(text):
    assert from_cell(to_cell(text)) == text


def test_a_spreadsheet_sees_no_formula(tmp_path):
    Assignments(FORMULAS, np.zeros(12, int), np.ones(12)).write(tmp_path / "assignments.csv")
    write_labels(tmp_path / "labels.csv", FORMULAS, FORMULAS)
    for name in ("assignments.csv", "labels.csv"):
        with open(tmp_path / name, newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell[0] in "=+-@\t\r" and cell not in ("-1", "-1.5e3")]
    assert Assignments.read(tmp_path).names == FORMULAS
    assert read_labels(tmp_path / "labels.csv", FORMULAS) == FORMULAS


def test_lone_surrogates_can_be_written(tmp_path):
    write_labels(tmp_path / "labels.csv", ["a", "b\udcff"], ["\ud800", "x"])
    assert b"b\xff,x" in (tmp_path / "labels.csv").read_bytes()
    assert encoded("\ud800") == b"\\ud800"


def test_a_class_that_no_file_can_hold_is_refused_before_training(tmp_path):
    samples = data.Samples(np.random.default_rng(0).random((4, 3)), list("abcd"), np.arange(4) % 2, ["\ud800", "x"])
    with pytest.raises(DataError, match=r"^The dataset has the name of a class with U\+D800"):
        KMeans(2, random_state=0).fit(samples, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes")
def test_names_of_any_bytes_are_printed(c3clust_process, tmp_path):
    folder = os.fsencode(tmp_path / "photos")
    os.mkdir(folder)
    pixels = b"P5 4 4 255\n" + bytes(range(0, 160, 10))
    names = [b"\xff.pgm", b"=1.pgm", b"a\x1b[31m.pgm"]
    for name in names:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(pixels)
    run = tmp_path / "run"
    done = c3clust_process("fit", tmp_path / "photos", "-k", 1, "--method", "kmeans", "-o", run, text=False)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    done = c3clust_process("predict", run, tmp_path / "photos", text=False)
    assert done.returncode == 0, done.stderr
    assert b"\xff.pgm,0," in done.stdout
    assert b"'=1.pgm,0," in done.stdout
