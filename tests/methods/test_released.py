"""Checkpoints of CC's released code, built from a network of that layout: imported, started from, written back."""

import io
import json
import zipfile

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from c3clust import C3, CC, load
from c3clust.errors import InputError, RunError
from c3clust.losses.terms import entropy
from c3clust.methods import export_checkpoint, import_checkpoint
from c3clust.methods._released import _which, read_checkpoint, write_checkpoint
from c3clust.networks import ClusterNet
from c3clust.networks.resnet import RESNETS, ResNet

WIDTHS = (64, 128, 256, 512)
LAYERS = {"resnet18": (2, 2, 2, 2), "resnet34": (3, 4, 6, 3)}


class Block(nn.Module):
    """A block with the names of torchvision's."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Released(nn.Module):
    """The layout of the released code: resnet, instance_projector and cluster_projector."""

    def __init__(self, layers, n_clusters, width=128):
        super().__init__()
        self.resnet = nn.Module()
        self.resnet.conv1, self.resnet.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        inputs = 64
        for number, (blocks, outputs) in enumerate(zip(layers, WIDTHS, strict=True), 1):
            first = Block(inputs, outputs, 1 if number == 1 else 2)
            rest = [Block(outputs, outputs, 1) for _ in range(blocks - 1)]
            setattr(self.resnet, f"layer{number}", nn.Sequential(first, *rest))
            inputs = outputs
        self.instance_projector = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, width))
        self.cluster_projector = nn.Sequential(
            nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, n_clusters), nn.Softmax(dim=1)
        )

    def forward(self, x):
        r = self.resnet
        x = F.max_pool2d(F.relu(r.bn1(r.conv1(x))), 3, 2, 1)
        h = r.layer4(r.layer3(r.layer2(r.layer1(x)))).mean(dim=(2, 3))
        return F.normalize(self.instance_projector(h), dim=1), self.cluster_projector(h)


@pytest.fixture(scope="module")
def released():
    """A network of the released layout, with running means as after training."""
    torch.manual_seed(0)
    network = Released(LAYERS["resnet18"], 3)
    with torch.no_grad():
        network.train()(torch.rand(8, 3, 64, 64))
    return network.eval()


@pytest.fixture(scope="module")
def checkpoint(released, tmp_path_factory):
    path = tmp_path_factory.mktemp("released") / "checkpoint_1000.tar"
    optimizer = torch.optim.Adam(released.parameters(), lr=3e-4)
    torch.save({"net": released.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1000}, path)
    return path


@pytest.fixture(scope="module")
def pictures():
    return np.random.default_rng(0).integers(0, 256, (12, 3, 32, 32)).astype(np.uint8)


def same(released, network):
    """Strict equality of z and c: the same operations in the same order and memory layout."""
    x = torch.rand(4, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        z, c = released(x)
        own_z, own_c = network.to(memory_format=torch.contiguous_format).eval()(x)
    assert torch.equal(z, own_z)
    assert torch.equal(c, own_c)
    assert entropy(c).max() > 0


@pytest.mark.parametrize("which", ["zip", "legacy", "module"])
def test_an_imported_network_gives_the_same_z_and_c(released, which, tmp_path):
    prefix = "module." if which == "module" else ""
    net = {prefix + name: t for name, t in released.state_dict().items()}
    content = {"net": net, "optimizer": {"state": {}, "param_groups": []}, "epoch": 1000}
    torch.save(content, tmp_path / "c.tar", _use_new_zipfile_serialization=which != "legacy")
    assert zipfile.is_zipfile(tmp_path / "c.tar") == (which != "legacy")
    imported = import_checkpoint(tmp_path / "c.tar", tmp_path / "cc", image_size=64)
    assert (imported.n_clusters, imported.backbone, imported.projection_dim, imported.epochs) == (
        3,
        "resnet18",
        128,
        1000,
    )
    same(released, imported.network_)
    kept = load(tmp_path / "cc")
    assert kept.input_shape_ == (3, 64, 64)
    same(released, kept.network_)


def test_names_and_shapes_of_a_resnet34_fit(tmp_path):
    with torch.device("meta"):
        reference, own = Released(LAYERS["resnet34"], 10), ClusterNet(ResNet("resnet34", 3, "imagenet"), 512, 128, 10)
    assert len(reference.state_dict()) == 224
    from c3clust.methods._released import _released_name

    names = {_released_name(name, LAYERS["resnet34"]): t.shape for name, t in own.state_dict().items()}
    assert names == {name: t.shape for name, t in reference.state_dict().items()}


@pytest.mark.parametrize("which", sorted(RESNETS))
def test_each_resnet_is_known_by_its_layers(which):
    with torch.device("meta"):
        assert _which(ResNet(which, 3, "imagenet")) == which


def test_c3_and_cc_start_from_the_file_itself(checkpoint, pictures, tmp_path):
    imported = read_checkpoint(CC, checkpoint, 32)
    expected = imported.predict_proba(pictures)
    start = {"start": str(checkpoint), "image_size": 32, "random_state": 0}
    cc = CC(3, epochs=0, **start).fit(pictures)
    c3 = C3(3, epochs=0, **start).fit(pictures)
    np.testing.assert_array_equal(cc.predict_proba(pictures), expected)
    np.testing.assert_array_equal(c3.predict_proba(pictures), expected)
    for fitted in (cc, c3):  # a backbone of "auto" would be another one at 32 px
        np.testing.assert_array_equal(load(fitted.save(tmp_path)).predict_proba(pictures), expected)
    with pytest.raises(InputError, match="start was fitted for 3 clusters"):
        CC(4, epochs=0, **start).fit(pictures)


def test_what_is_exported_is_read_by_the_released_layout(released, checkpoint, tmp_path):
    import_checkpoint(checkpoint, tmp_path / "cc", 64)
    export_checkpoint(tmp_path / "cc", tmp_path / "back.tar")
    content = torch.load(tmp_path / "back.tar", weights_only=True)
    assert set(content) == {"net", "optimizer", "epoch"}
    assert content["epoch"] == 1000
    assert list(content["net"]) == list(released.state_dict())
    for name, t in released.state_dict().items():
        assert torch.equal(content["net"][name], t), name
    other = Released(LAYERS["resnet18"], 3)
    other.load_state_dict(content["net"])
    torch.optim.Adam(other.parameters()).load_state_dict(content["optimizer"])
    with pytest.raises(InputError, match="exists already: nothing is overwritten"):
        export_checkpoint(tmp_path / "cc", tmp_path / "back.tar")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda net: net.pop("resnet.layer2.0.bn1.weight"), "resnet.layer2.0.bn1.weight is missing in a resnet18"),
        (lambda net: net.update({"resnet.fc.weight": torch.zeros(2)}), "resnet.fc.weight is unknown"),
        (lambda net: net.update({"resnet.bn1.bias": torch.zeros(65)}), r"has the shape \(65,\), not \(64,\)"),
        (lambda net: net.pop("instance_projector.2.weight"), "instance_projector.2.weight is missing"),
        (lambda net: net.update({"cluster_projector.2.bias": torch.full((3,), torch.nan)}), "contains NaN or infinity"),
        (lambda net: net.update({"resnet.bn1.bias": torch.zeros(1).expand(64)}), "bn1.bias is not a plain tensor"),
        (lambda net: net.update({"extra": torch.zeros(2)}), "extra is unknown"),
        (lambda net: net.update({"resnet.bn1.bias": 3}), "bn1.bias is not a plain tensor"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_with_one_sentence(released, change, why, tmp_path):
    net = dict(released.state_dict())
    change(net)
    torch.save({"net": net}, tmp_path / "c.tar")
    with pytest.raises(RunError, match=why) as error:
        import_checkpoint(tmp_path / "c.tar", tmp_path / "cc")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "cc").exists()


class Evil:
    def __reduce__(self):
        return print, ("run",)


@pytest.mark.parametrize("legacy", [False, True])
def test_no_code_of_a_file_is_run(tmp_path, legacy, capsys):
    torch.save({"net": Evil()}, tmp_path / "c.tar", _use_new_zipfile_serialization=not legacy)
    capsys.readouterr()
    with pytest.raises(RunError, match="it holds something other than tensors and plain values, which might run code"):
        read_checkpoint(CC, tmp_path / "c.tar")
    assert capsys.readouterr().out == ""


def zip_of_text():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.txt", "text")
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        b"PK\x03\x04 damaged",
        b"<html>",
        b"\x80\x04\x95",
        b"\x80\x55",
        b"\x80\x02]q\x00.",
        zip_of_text(),
    ],
)
def test_other_files_are_refused_in_our_own_words(tmp_path, content):
    (tmp_path / "c.tar").write_bytes(content)
    with pytest.raises(RunError, match=r"c\.tar is no checkpoint that torch\.save wrote, or it was cut off") as error:
        read_checkpoint(CC, tmp_path / "c.tar")
    assert "weights_only" not in str(error.value)


def test_a_file_that_unpacks_to_too_much(checkpoint, monkeypatch):
    monkeypatch.setenv("C3CLUST_MAX_RATIO", "0")
    monkeypatch.setenv("C3CLUST_MAX_SMALL", "1000")
    with pytest.raises(RunError, match="released code: it unpacks to"):
        read_checkpoint(CC, checkpoint)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_file_that_was_cut_off(released, tmp_path, legacy):
    torch.save({"net": released.state_dict()}, tmp_path / "c.tar", _use_new_zipfile_serialization=not legacy)
    whole = (tmp_path / "c.tar").read_bytes()
    (tmp_path / "c.tar").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RunError, match="or it was cut off: download it again"):
        read_checkpoint(CC, tmp_path / "c.tar")


def test_networks_that_the_released_code_does_not_have_are_not_exported(tmp_path):
    with torch.device("meta"):
        small = ClusterNet(ResNet("resnet18", 3, "small"), 512, 8, 2)
        calibrated = ClusterNet(ResNet("resnet18", 3, "imagenet"), 512, 8, 2)
        calibrated.temperature = torch.ones(())
    for network, why in ((small, "it has another stem"), (calibrated, "labels"), (nn.Linear(2, 2), "not a ResNet")):
        with pytest.raises(InputError, match=why):
            write_checkpoint(network, tmp_path / "c.tar", 1)
    assert not list(tmp_path.iterdir())


def test_the_commands(c3clust, checkpoint, pictures, tmp_path):
    done = c3clust("import", checkpoint, "-o", tmp_path / "cc", "--image-size", "32")
    assert done.returncode == 0, done.stderr
    assert "resnet18, 3 clusters, 1000 epochs, 32 px" in done.stdout
    again = c3clust("import", checkpoint, "-o", tmp_path / "cc")
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)
    told = json.loads(c3clust("import", checkpoint, "-o", tmp_path / "json", "--json").stdout)
    known = {"backbone": "resnet18", "n_clusters": 3, "epochs": 1000, "image_size": 224}
    assert told == {"model": str(tmp_path / "json"), **known}
    np.save(tmp_path / "x.npy", pictures)
    quick = ("--method", "c3_adaptive", "--set", "epochs=1", "--set", "batch_size=12", "--set", "zeta=0.6", "-q")
    for name, start in (("a", tmp_path / "cc"), ("b", checkpoint)):
        size = ("--image-size", "32") if name == "b" else ()
        fit = c3clust("fit", tmp_path / "x.npy", "-k", 3, "--start", start, "-o", tmp_path / name, *quick, *size)
        assert fit.returncode == 0, fit.stderr
    assert (tmp_path / "a" / "assignments.csv").read_bytes() == (tmp_path / "b" / "assignments.csv").read_bytes()
    out = c3clust("export", tmp_path / "a", "--format", "cc", "--to", tmp_path / "c3.tar", "--json")
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout) == {"run": str(tmp_path / "a"), "to": str(tmp_path / "c3.tar")}
    assert read_checkpoint(CC, tmp_path / "c3.tar").n_clusters == 3
    lost = c3clust("import", tmp_path / "nowhere.tar", "-o", tmp_path / "new")
    assert (lost.returncode, lost.stderr.count("\n")) == (2, 1)
    assert "Did you mean cc?" in c3clust("export", tmp_path / "a", "--format", "ccc", "--to", tmp_path / "d").stderr
