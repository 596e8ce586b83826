"""An encoder that a file names is loaded only if it is built in, or if the user names it too."""

import json
import shutil

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import c3clust
from c3clust import C3, CC, KMeans, encoders
from c3clust.errors import RunError
from c3clust.files import model_io

FOREIGN = ["st:{folder}", "bert:{folder}", "hf:{folder}", "hf:someone/model", "st:someone/model", "timm:resnet18"]


@pytest.fixture
def watched(monkeypatch):
    """The specs of all encoders that were loaded."""
    seen, load = [], encoders.load

    def watch(which):
        seen.append(which)
        return load(which)

    monkeypatch.setattr(encoders, "load", watch)
    return seen


@pytest.fixture
def model(tmp_path):
    """A saved model without an encoder."""
    return KMeans(2, random_state=0).fit(np.random.default_rng(0).random((12, 4))).save(tmp_path / "model")


def forge(folder, **fields):
    """Replace fields of model.json, with the hash made right."""
    content, tensors = model_io.read(folder / "model", "model")
    model_io.write(folder / "model", content | fields, tensors)


@pytest.mark.parametrize("spec", [*FOREIGN, "{folder}"])
@pytest.mark.parametrize("where", ["entry", "parameter"])
def test_a_file_cannot_have_an_encoder_loaded(model, watched, no_network, tmp_path, spec, where):
    spec = spec.format(folder=shutil.copytree(model, tmp_path / "other"))
    entry = {"spec": spec, "settings": {}, "key": "0" * 64, "about": {"name": "x", "weights": "x"}}
    params = json.loads((model / "model.json").read_text())["params"]
    forge(model, **({"encoder": entry} if where == "entry" else {"params": params | {"encoder": spec}}))
    with pytest.raises(RunError, match=r"names the encoder .* only loaded if you name it yourself"):
        c3clust.load(model)
    assert not watched


def test_the_command_line_refuses_it_too(model, c3clust, tmp_path):
    """The modules.json of the encoder names a class of a file beside it."""
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Transformer: ...\n")
    (evil / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "evil.Transformer"}]))
    about = {"name": "x", "weights": "x"}
    forge(model, encoder={"spec": f"st:{evil}", "settings": {}, "key": "0" * 64, "about": about})
    np.save(tmp_path / "x.npy", np.zeros((3, 4)))
    done = c3clust("predict", model, tmp_path / "x.npy")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--encoder" in done.stderr
    done = c3clust("predict", model, tmp_path / "x.npy", "--encoder", f"st:{evil}")
    assert done.returncode == 2
    assert not (tmp_path / "ran").exists()


def test_the_encoder_given_again_may_have_moved_but_not_changed(bert, sentences, tmp_path, c3clust):
    fitted = KMeans(2, encoder=f"bert:{bert}", random_state=0).fit(sentences)
    run = fitted.save(tmp_path / "model")
    moved = bert.rename(tmp_path / "moved")
    np.testing.assert_array_equal(c3clust_load(run, moved).predict(sentences), fitted.labels_)
    (tmp_path / "t.txt").write_text("\n".join(sentences))
    done = c3clust("predict", run, tmp_path / "t.txt", "--encoder", f"bert:{moved}")
    assert done.returncode == 0, done.stderr
    weights = load_file(moved / "model.safetensors")
    weights["embeddings.LayerNorm.bias"] += 1
    save_file(weights, moved / "model.safetensors", {"format": "pt"})
    with pytest.raises(RunError, match="has other weights than the installed one"):
        c3clust_load(run, moved)


def c3clust_load(run, bert):
    return c3clust.load(run, encoder=f"bert:{bert}")


def test_an_encoder_for_a_run_without_one(model):
    with pytest.raises(RunError, match="was trained without an encoder"):
        c3clust.load(model, encoder="efficientnet-lite0")


def test_a_start_whose_encoder_is_not_built_in_needs_it_by_name(bert, sentences, tmp_path):
    quick = {"epochs": 1, "views": 1, "random_state": 0}
    CC(2, encoder=f"bert:{bert}", **quick).fit(sentences).save(tmp_path / "cc")
    with pytest.raises(RunError, match="only loaded if you name it yourself"):
        C3(2, start=str(tmp_path / "cc"), **quick).fit(sentences)
    C3(2, start=str(tmp_path / "cc"), encoder=f"bert:{bert}", **quick).fit(sentences)
