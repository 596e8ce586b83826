"""Frozen networks by onnxruntime: the same features as torch, or torch itself."""

import copy
import pickle
import signal

import numpy as np
import pytest
import torch
from torch import nn

from c3clust import augment
from c3clust.encoders import compiled as compiled_module
from c3clust.encoders.base import about
from c3clust.encoders.compiled import compiled
from c3clust.encoders.image import ImageEncoder, from_module

pytest.importorskip("onnxruntime")


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU6(), nn.AvgPool2d(3))

    def forward(self, x):
        return self.layers(x).flatten(1)


def new_encoder(module=None):
    return ImageEncoder("small", module or Small(), about("small", "a test", "made here"), 16, (0.5,) * 3, (0.25,) * 3)


def pictures(n=5, size=24):
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (n, 3, size, size), dtype=np.uint8))


def test_features_are_those_of_torch_for_every_batch_size():
    encoder, x = new_encoder(), pictures()
    found = encoder.encode(x)
    assert callable(encoder._compiled[(3, 16, 16), torch.get_num_threads()])
    with torch.inference_mode():
        expected = encoder.network(augment.prepare(x, (16, 16)))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert torch.equal(encoder.encode(x), found)
    assert torch.equal(torch.cat([encoder.encode(x[i : i + 1]) for i in range(5)]), found)


def test_grey_pictures_have_a_session_of_their_own():
    encoder = new_encoder()
    encoder.encode(pictures())
    encoder.encode(pictures()[:, :1])
    assert {shape for shape, _ in encoder._compiled} == {(3, 16, 16), (1, 16, 16)}


def test_an_encoder_can_be_copied_and_pickled():
    encoder = new_encoder()
    found = encoder.encode(pictures())
    for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        assert torch.equal(other.encode(pictures()), found)


class OfTheBatch(nn.Module):
    """Depends on the number of pictures, which an export would make a constant."""

    def forward(self, x):
        return x.flatten(1)[:, :4] * int(x.shape[0])


class Odd(nn.Module):
    def forward(self, x):
        return x.flatten(1)[:, :4] + np.asarray(x.detach()).sum() * 0  # leaves torch


@pytest.mark.parametrize("module", [OfTheBatch(), Odd(), nn.AdaptiveAvgPool2d(5)])
def test_what_cannot_be_exported_is_run_by_torch_without_a_word(module, capfd):
    x = torch.rand(5, 3, 8, 8)
    run = compiled(module, (3, 8, 8))
    assert run is None or torch.equal(run(x), module(x))
    assert len(new_encoder(module).encode(pictures())) == 5
    assert capfd.readouterr() == ("", "")


def test_a_module_of_the_users_own_is_run_by_torch():
    encoder = from_module(Small())
    encoder.encode(pictures())
    assert not encoder._compiled


def test_without_onnxruntime_torch_runs_it(monkeypatch):
    monkeypatch.setattr(compiled_module, "installed", lambda: False)
    encoder = new_encoder()
    assert encoder.encode(pictures()).shape == (5, 32)
    assert list(encoder._compiled.values()) == [None]


class Interrupted(Small):
    """Gets a signal while it is exported."""

    def forward(self, x):
        if torch.jit.is_tracing():
            signal.raise_signal(signal.SIGINT)
        return super().forward(x)


@pytest.fixture
def ctrl_c():
    """Python's own handler: a process that was started in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_during_the_export_is_not_lost(ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        compiled(Interrupted(), (3, 16, 16))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_large_networks_are_left_to_torch(monkeypatch):
    monkeypatch.setattr(compiled_module, "LARGEST", 10)
    assert compiled(Small(), (3, 16, 16)) is None
