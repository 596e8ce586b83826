"""list."""

import os

from c3clust import data


def test_list(c3clust):
    assert "c3" in c3clust("list", "methods").stdout
    told = c3clust("list", "recipes").stdout
    assert "c3-cifar10" in told
    about = [line.split(maxsplit=1)[1] for line in told.splitlines()]
    assert len(set(about)) == len(about)  # those of one method and data set differ
    assert "digits" in c3clust("list", "data").stdout


def test_addresses_are_not_broken(c3clust, monkeypatch):
    monkeypatch.setattr("c3clust.cli.options.get_terminal_size", lambda: os.terminal_size((40, 24)))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    entries = [(entry.fetch or entry.address) for entry in data.describe() if not entry.found]
    told = c3clust("list", "data").stdout
    assert entries
    assert all(f"get it: {address}\n" in told for address in entries)


def test_encoders_say_what_they_are(c3clust):
    lines = c3clust("list", "encoders").stdout.splitlines()
    assert all(len(line.split()) > 3 for line in lines)
