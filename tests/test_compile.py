"""compile=True: the encoder is compiled while it trains, and a failure is one sentence."""

import numpy as np
import pytest
import torch
from torch import nn

from c3clust import CC
from c3clust.errors import InputError
from c3clust.training.context import compiled

X = np.random.default_rng(0).random((24, 5))


def test_same_labels_with_a_compiler_that_changes_nothing(monkeypatch):
    calls = []

    def compile(module):
        calls.append(module)
        module._compiled_call_impl = module._call_impl

    monkeypatch.setattr(nn.Module, "compile", compile)
    plain, fast = (CC(3, epochs=2, random_state=0, compile=c).fit(X) for c in (False, True))
    np.testing.assert_array_equal(plain.predict_proba(X), fast.predict_proba(X))
    assert calls
    assert fast.network_.f._compiled_call_impl is None  # predict, copies and files know nothing of it


def test_a_failure_is_one_sentence(monkeypatch):
    def fail(module):
        raise torch._dynamo.exc.TorchDynamoException("no working C++ compiler was found.\nA long story.")

    monkeypatch.setattr(nn.Module, "compile", fail)
    with pytest.raises(
        InputError, match=r"compile=True cannot be used here: no working C\+\+ compiler .* Omit compile"
    ):
        CC(3, epochs=1, random_state=0, compile=True).fit(X)


def test_nothing_is_compiled_unasked():
    with compiled(None):
        pass
