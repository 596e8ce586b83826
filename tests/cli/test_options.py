"""How results are printed."""

import json
import os
from types import SimpleNamespace

from c3clust.cli import options

ADDRESS = "https://example.org/a-long-address/that-no-line-holds"


def test_lines_are_as_wide_as_the_terminal_and_addresses_stay_whole(monkeypatch):
    monkeypatch.setattr(options, "get_terminal_size", lambda: os.terminal_size((20, 24)))
    terminal, file = SimpleNamespace(isatty=lambda: True), SimpleNamespace(isatty=lambda: False)
    text = f"some words and more words {ADDRESS}"
    lines = options._wrapped(text, terminal).split("\n")
    assert len(lines) > 2
    assert any(line.strip() == ADDRESS for line in lines)
    assert options._wrapped(text, file) == text


def test_json_has_no_numbers_that_json_lacks(capsys):
    options.json_out({"a": float("nan"), "b": [1, None, True, "x"], 3: {"c": 0.5}})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1, None, True, "x"], "3": {"c": 0.5}}
