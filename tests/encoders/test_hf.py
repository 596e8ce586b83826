import json

import numpy as np
import pytest
import torch

from c3clust import CC, encoders, load
from c3clust.errors import MissingExtraError, RunError

QUICK = {"n_clusters": 2, "random_state": 0, "batch_size": 8}
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
PIXELS = {"image_size": 32, "patch_size": 16}


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
def test_a_folder_of_transformers_needs_no_network(transformers, tmp_path, no_network, kind, labels, pictures):
    model = hf_folder(transformers, tmp_path / "model", kind)
    x = pictures(6, side=32)
    encoder = encoders.load(f"hf:{tmp_path / 'model'}")
    expected = model(pixel_values=(torch.from_numpy(x) / 255 - 0.5) / 0.25).last_hidden_state[:, 0]
    torch.testing.assert_close(encoder.encode(x), expected.detach(), rtol=1e-4, atol=1e-4)
    assert encoder.describe()["labels"] == labels
    fitted = CC(encoder=f"hf:{tmp_path / 'model'}", views=1, epochs=1, **QUICK).fit(x)
    fitted.save(tmp_path / "run")
    np.testing.assert_array_equal(load(tmp_path / "run", encoder=f"hf:{tmp_path / 'model'}").predict(x), fitted.labels_)


@pytest.mark.parametrize("kind", ["Dinov2", "ViT"])
def test_it_is_run_by_onnxruntime_and_the_same_every_time(transformers, tmp_path, kind, pictures):
    pytest.importorskip("onnxruntime")
    hf_folder(transformers, tmp_path, kind)
    encoder, x = encoders.load(f"hf:{tmp_path}"), pictures(6, side=32)
    first = encoder.encode(x)
    assert None not in encoder._compiled.values()
    encoder.compiles = False
    encoder._compiled.clear()
    torch.testing.assert_close(first, encoder.encode(x), rtol=1e-4, atol=1e-4)
    assert torch.equal(first, encoders.load(f"hf:{tmp_path}").encode(x))


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
