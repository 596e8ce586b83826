"""The program: help, version, errors, and what it imports."""

import os
import re
import subprocess
import sys

import pytest
import typer

from c3clust import cli
from c3clust.records.record import RunRecord


def test_a_real_process_fails_with_one_sentence(c3clust_process, tmp_path):
    done = c3clust_process("fit", tmp_path / "nowhere", "-k", 2, "-o", tmp_path / "r")
    assert done.returncode == 2
    assert done.stderr.startswith("c3clust: ")
    assert len(done.stderr.splitlines()) == 1


def test_help_and_version(c3clust):
    assert c3clust("--version").stdout.startswith("c3clust 0.")
    for command in (
        "fit",
        "resume",
        "predict",
        "evaluate",
        "list",
        "report",
        "export",
        "label",
        "merge",
        "undo",
        "bench",
        "paper",
    ):
        assert "Example" in c3clust(command, "--help").stdout


def test_no_word_in_brackets_is_lost_in_the_help():
    """Typer reads it as a style, and omits it."""
    command = typer.main.get_command(cli._app(cli.COMMANDS))
    for name, each in command.commands.items():
        for text in (each.help, *(getattr(param, "help", None) for param in each.params)):
            assert not re.findall(r"(?<!\\)\[[a-z/]", text or ""), name


HEAVY = {"torch", "sklearn", "scipy"}
UNUSED_BY_EDITS = {"rich", "PIL", "c3clust.cli.bench", "c3clust.cli.fit"}
LIGHT = [  # a command, and what it does not import beside
    (["--version"], {"numpy", "rich", "PIL"}),
    (["--help"], {"numpy", "PIL"}),
    (["fit", "--help"], {"numpy", "PIL"}),
    (["label", "RUN", "1=cats"], UNUSED_BY_EDITS),
    (["merge", "RUN", "1", "2"], UNUSED_BY_EDITS),
    (["undo", "RUN"], UNUSED_BY_EDITS),
    (["list", "methods"], {"numpy", "rich", "PIL"}),
    (["list", "encoders"], {"numpy", "rich", "PIL"}),
    (["list", "recipes"], {"numpy", "rich", "PIL"}),
    (["list", "experiments"], {"numpy", "rich", "PIL"}),
    (["list", "data"], {"rich"}),
]
REPORT = """
import sys
from c3clust.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(("words", "others"), LIGHT)
def test_commands_that_train_nothing_import_little(words, others, tmp_path):
    RunRecord(method="c3", n_clusters=3, params={}, seed=0, data={"n": 9}).write(tmp_path / "record.json")
    (tmp_path / "assignments.csv").write_text("name,cluster,confidence\n0,1,0.9\n")
    words = [str(tmp_path) if word == "RUN" else word for word in words]
    done = subprocess.run([sys.executable, "-c", REPORT, *words], capture_output=True, text=True, check=False)
    assert not (HEAVY | others) & set(done.stderr.splitlines()[-1].split())
    assert done.returncode == (2 if words[0] == "undo" else 0)


def test_an_unknown_error_is_one_sentence_too(c3clust, monkeypatch, tmp_path):
    def broken(*_):
        raise LookupError("first line\nsecond line")

    monkeypatch.setattr("c3clust.records.record.RunRecord.read", broken)
    done = c3clust("evaluate", tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "LookupError: first line" in done.stderr
    assert "C3CLUST_DEBUG=1" in done.stderr
    monkeypatch.setenv("C3CLUST_DEBUG", "1")
    with pytest.raises(LookupError):
        c3clust("evaluate", tmp_path)


@pytest.mark.parametrize("source", ["~nobody-of-this-name/x", "~/x"])
def test_a_home_folder_that_is_not_known(c3clust, monkeypatch, tmp_path, source):
    def no_home(path):
        raise KeyError(path)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", no_home)
    done = c3clust("fit", source, "-k", 2, "-o", tmp_path / "run")
    assert done.returncode == 2
    assert "the home folder (~) is unknown" in done.stderr
    assert c3clust("list", "data").returncode == 0


def test_names_with_escapes_are_shown_not_obeyed(c3clust, tmp_path):
    done = c3clust("predict", tmp_path / "a\x1b]0;x\x07", "digits")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\\x1b]0;x\\x07" in done.stderr


def test_letters_that_a_pipe_cannot_show_are_escaped(tmp_path):
    words = [sys.executable, "-m", "c3clust", "predict", "猫", "x.jpg"]
    done = subprocess.run(words, capture_output=True, cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": "cp1252"})
    assert done.returncode == 2
    assert b"\\u732b" in done.stderr
