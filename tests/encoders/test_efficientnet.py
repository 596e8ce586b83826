"""EfficientNet-Lite0, and what happens without its weights."""

import numpy as np
import pytest
import torch

from c3clust import CC, C3Adaptive, KMeans, data, encoders, load
from c3clust.encoders import efficientnet, photographs, weights
from c3clust.errors import MissingExtraError, RunError

QUICK = {"n_clusters": 2, "random_state": 0, "batch_size": 8}
installed = pytest.mark.skipif(photographs.missing() is not None, reason="the extra photos is not installed")


def test_lite0_has_the_known_number_of_weights():
    """4,652,008 of the original, less the 1,281,000 of its classifier."""
    network = efficientnet.EfficientNetLite("lite0")
    assert sum(p.numel() for p in network.parameters()) == 4_652_008 - 1_281_000
    assert network.eval()(torch.rand(1, 3, 65, 50)).shape == (1, 1280)


@pytest.mark.parametrize(("side", "kernel", "stride"), [(7, 3, 2), (8, 3, 2), (8, 5, 2), (9, 5, 1)])
def test_padding_is_that_of_tensorflow(side, kernel, stride):
    """SAME: ceil(side / stride) outputs, and of an odd number of pixels one more at the end."""
    conv = efficientnet.Same(1, 1, kernel, stride, bias=False)
    x = torch.rand(1, 1, side, side)
    out = -(-side // stride)
    total = (out - 1) * stride + kernel - side
    padded = torch.zeros(side + total, side + total)
    padded[total // 2 : total // 2 + side, total // 2 : total // 2 + side] = x[0, 0]
    weight, places = conv.weight[0, 0].detach(), range(0, out * stride, stride)
    expected = [[(padded[i : i + kernel, j : j + kernel] * weight).sum().item() for j in places] for i in places]
    torch.testing.assert_close(conv(x)[0, 0].detach(), torch.tensor(expected))


@installed
def test_lite0_knows_its_own_pixels(pictures):
    """Pixels are scaled as (x - 127) / 128, grey is made colour, and other sizes are resized."""
    encoder = encoders.load("efficientnet-lite0").resize_to(64)
    x = pictures(2)
    direct = encoder.network.module((torch.from_numpy(x).float() - 127) / 128)
    torch.testing.assert_close(encoder.encode(x), direct.detach(), rtol=1e-4, atol=1e-4)
    grey = x[:, :1]
    torch.testing.assert_close(encoder.encode(grey), encoder.encode(np.repeat(grey, 3, axis=1)), rtol=1e-4, atol=1e-4)
    assert encoder.encode(pictures(1, side=30)).shape == (1, 1280)
    assert encoder.describe()["labels"] == "yes"


@installed
def test_auto_takes_photographs_only(pictures):
    assert encoders.auto(data.load(pictures()))[0] == "efficientnet-lite0"
    assert encoders.auto(data.load(pictures(channels=1)))[0] == "efficientnet-lite0"
    assert encoders.auto(data.load(pictures(side=20)))[0] == "efficientnet-lite0"
    for others in (pictures(side=19), np.zeros((9, 28, 28), np.uint8), np.zeros((9, 70))):
        assert encoders.auto(data.load(others)) == (None, None)
    assert C3Adaptive(backbone="resnet18")._input_options().load_options() == {"image_size": None}
    assert C3Adaptive()._input_options().load_options() == {"image_size": None, "largest": 192}
    assert KMeans()._input_options().load_options() == {"image_size": None}


@pytest.fixture
def without_weights(monkeypatch):
    monkeypatch.setattr(weights, "find", lambda name: None)


def test_a_missing_extra_is_a_note_and_costs_nothing(without_weights, caplog, pictures):
    fitted = C3Adaptive(cc_epochs=0, epochs=0, zeta=0.6, verbose=True, **QUICK).fit(pictures(4))
    assert fitted.encoder_ is None
    assert fitted.input_shape_ == (3, 64, 64)
    assert any('pip install "c3clust[photos]"' in note for note in fitted.notes_)
    assert caplog.messages == fitted.notes_
    assert C3Adaptive(cc_epochs=0, epochs=0, zeta=0.6, **QUICK).fit(pictures(4, side=16)).notes_ == []


def test_one_that_is_asked_for_must_be_there(without_weights, pictures):
    with pytest.raises(MissingExtraError, match=r'efficientnet-lite0 needs .* pip install "c3clust\[photos\]"'):
        CC(encoder="efficientnet-lite0", **QUICK).fit(pictures())


@installed
def test_predict_says_which_encoder_it_needs(tmp_path, monkeypatch, pictures):
    KMeans(2, encoder="efficientnet-lite0", image_size=64, random_state=0).fit(pictures(6)).save(tmp_path)
    monkeypatch.setattr(weights, "find", lambda name: None)
    with pytest.raises(MissingExtraError, match="efficientnet-lite0 needs its weights"):
        load(tmp_path)


def test_a_damaged_file_of_weights(tmp_path, monkeypatch):
    (tmp_path / "weights.pth").write_bytes(b"not tensors")
    monkeypatch.setattr(weights, "find", lambda name: tmp_path / "weights.pth")
    monkeypatch.setenv("C3CLUST_ANY_WEIGHTS", "1")
    with pytest.raises(RunError, match="does not hold the weights of efficientnet-lite0"):
        encoders.load("efficientnet-lite0")


@pytest.mark.skipif(photographs.missing() is not None, reason="the weights are not installed")
@pytest.mark.skipif(photographs.class_names() is None, reason="the names of the classes are not installed")
def test_the_encoder_knows_the_names_of_its_classes():
    names, probabilities = encoders.load("efficientnet-lite0").classes()
    assert len(names) == 1000
    assert names[0] == "tench"
    p = probabilities(torch.zeros(3, 1280))
    assert p.shape == (3, 1000)
    assert p.sum(dim=1).tolist() == pytest.approx([1, 1, 1])


def test_without_the_names_there_are_no_suggestions(monkeypatch):
    monkeypatch.setattr(photographs, "NAMES", "a-package-that-is-not-installed")
    assert photographs.class_names() is None
