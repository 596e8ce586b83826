"""The walk of one fit: each decision is made once, and nothing is computed twice."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from c3clust import Consensus, augment, data
from c3clust.features.preprocess import Preprocessor
from c3clust.records.record import RunRecord
from c3clust.runs import Run
from c3clust.training import context


def count(monkeypatch, owner, name):
    """The calls of owner.name, from now on."""
    calls = []
    original = getattr(owner, name)

    def counted(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    return calls


@pytest.fixture
def source(tmp_path):
    np.save(tmp_path / "digits.npy", load_digits().images[:80] / 16)
    return tmp_path / "digits.npy"


def test_each_decision_of_a_fit_is_made_once(monkeypatch, source, tmp_path):
    method = Consensus(3, epochs=1, guided_epochs=1, members=2, random_state=0)
    calls = {
        "load": count(monkeypatch, data, "load"),
        "preprocessor": count(monkeypatch, Preprocessor, "choose"),
        "policy": count(monkeypatch, augment, "default"),
        "device": count(monkeypatch, context, "find_device"),
        "record": count(monkeypatch, RunRecord, "write"),
        "folder": count(monkeypatch, Run, "claim"),
        "findings": count(monkeypatch, sys.modules["c3clust.report.verdict"], "findings"),
        "outputs": count(monkeypatch, context.TrainingContext, "outputs"),
        "embedding": count(monkeypatch, Consensus, "_embed"),
    }
    monkeypatch.setattr("c3clust.estimator.base.find_device", context.find_device)
    method.fit(source, run_dir=tmp_path / "run")
    assert {name: len(made) for name, made in calls.items()} == dict.fromkeys(calls, 1) | {"embedding": 0}


def test_the_plan_says_what_the_fit_does(source):
    method = Consensus(3, epochs=1, guided_epochs=1, members=2, random_state=7)
    plan = method.plan(data.load(source))
    assert (plan.seed, plan.device.type, plan.note) == (7, "cpu", None)
    assert augment.spec(plan.policy) == method.fit(source).policy_
