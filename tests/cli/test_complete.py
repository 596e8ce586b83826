"""Completion of values, by the protocol that shells use: environment variables of a real process."""

import os
import subprocess
import sys

import pytest

from c3clust.cli import complete

CODE = "import sys; from c3clust.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a run in runs/, an empty folder and a file."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "runs" / "photos").mkdir(parents=True)
    (folder / "runs" / "photos" / "record.json").write_text("{}")
    (folder / "runs" / "other").mkdir()
    (folder / "dinner").mkdir()
    return folder


def tab(place, *words, **environment):
    """What bash is told for a TAB after the last of these words."""
    told = {"_C3CLUST_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(("c3clust", *words))}
    told |= {"COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, cwd=place, env=os.environ | told | environment
    )
    assert not {"torch", "sklearn", "scipy", "numpy", "PIL"} & set(done.stderr.split())
    return done.stdout.split()


def test_values_are_completed_in_a_process(place):
    assert tab(place, "fit", "digits", "--method", "km") == ["kmeans"]
    assert tab(place, "label", "") == ["runs/photos"]
    assert tab(place, "bench", "digits", "--methods", "kmeans", "c") == ["c3", "c3_adaptive", "cc", "consensus"]


def test_zsh_and_fish_complete_the_last_of_several_words(place):
    words = {"_TYPER_COMPLETE_ARGS": "c3clust bench x --methods kmeans km", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert tab(place, **words, _C3CLUST_COMPLETE="complete_fish", COMP_CWORD="0") == ["kmeans"]


def test_what_is_completed(place, monkeypatch):
    monkeypatch.chdir(place)
    assert complete.data("di") == ["digits", "dinner/"]
    assert complete.data("dinn") == []  # the shell completes paths
    assert complete.runs("runs/") == ["runs/photos"]
    assert complete.runs("nowhere/") == []
    assert complete.encoders("h") == ["hf:"]
    assert complete.encoders("r") == ["runs/photos"]
    assert "c3-cifar10" in complete.recipes("c3-")
    assert complete.experiments("al") == ["all"]
    assert complete.methods("cc,km") == ["cc,kmeans"]
    assert complete.listings("m") == ["methods"]


def test_an_unfinished_run_is_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "request.json").write_text("{}")
    assert complete.runs("b") == ["begun"]
