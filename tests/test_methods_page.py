"""The programs of docs/METHODS.md run, on a part of the digits: optimisers, schedules, logs and your own views."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from c3clust import data

PAGE = (Path(__file__).parents[1] / "docs" / "METHODS.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def written(monkeypatch):
    """What TensorBoard, which is not installed everywhere, is given; "digits" are few."""
    entries, load, few = [], data.load, SimpleNamespace(x=data.load("digits").x[:60])
    writer = SimpleNamespace(add_scalar=lambda *entry: entries.append(entry))
    module = SimpleNamespace(SummaryWriter=lambda folder: writer)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr(data, "load", lambda x, **options: few if isinstance(x, str) else load(x, **options))
    return entries


def test_every_program_runs(written):
    assert len(PROGRAMS) == 4
    shared = {}
    for program in PROGRAMS:
        exec(program, shared)
    assert {name.split("/")[0] for name, _, _ in written} == {"simclr", "scan", "self_label"}
    assert ("scan/loss", 1) in {(name, epoch) for name, _, epoch in written}
