"""The same pictures give the same samples, the same views and the same clusters, whatever they are stored in."""

import io
import json
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from c3clust import data, methods

DIGITS = np.rint(load_digits().images[:60] * (255 / 16)).astype(np.uint8)
FITTED = ("array [n, H, W]", "npz", "idx", "folder of RGB", "tar")
SHORT = {"cc": {"epochs": 1}, "consensus": {"epochs": 1, "guided_epochs": 1, "members": 2}}


def encoded(picture, mode="L"):
    file = io.BytesIO()
    Image.fromarray(picture).convert(mode).save(file, "PNG")
    return file.getvalue()


def folder(path, mode):
    path.mkdir()
    for i, picture in enumerate(DIGITS):
        (path / f"{i:03d}.png").write_bytes(encoded(picture, mode))
    return path


def zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        for i, picture in enumerate(DIGITS):
            archive.writestr(f"{i:03d}.png", encoded(picture))
    return path


def tar(path):
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for i, picture in enumerate(DIGITS):
            content = encoded(picture)
            member = tarfile.TarInfo(f"{i:03d}.png")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def idx(path):
    path.mkdir()
    (path / "train-images-idx3-ubyte").write_bytes(
        b"\0\0\x08\x03" + struct.pack(">3I", *DIGITS.shape) + DIGITS.tobytes()
    )
    return path


def table(path):
    folder(path.parent / "listed", "L")
    path.write_text("path\n" + "\n".join(f"listed/{i:03d}.png" for i in range(len(DIGITS))))
    return path


def saved(path, x):
    (np.save if path.suffix == ".npy" else np.savez)(path, x)
    return path


@pytest.fixture(scope="module")
def containers(tmp_path_factory):
    place = tmp_path_factory.mktemp("containers")
    return {
        "array [n, H, W]": DIGITS,
        "array [n, H, W, 1]": DIGITS[..., None],
        "floats": DIGITS / 255,
        "npy": saved(place / "x.npy", DIGITS),
        "npz": saved(place / "x.npz", (DIGITS / 255).astype(np.float32)),
        "idx": idx(place / "idx"),
        "folder of L": folder(place / "grey", "L"),
        "folder of RGB": folder(place / "rgb", "RGB"),
        "zip": zipped(place / "x.zip"),
        "tar": tar(place / "x.tar"),
        "shards": tar(place / "shards" / "0.tar").parent,
        "table of paths": table(place / "x.csv"),
        "Pillow images": [Image.fromarray(picture) for picture in DIGITS],
    }


def test_samples_and_content_are_the_same(containers):
    for name, container in containers.items():
        read = data.load(container)
        x = read.x if read.x.dtype == np.uint8 else np.rint(read.x * 255)
        np.testing.assert_array_equal(x, DIGITS[:, None], err_msg=name)
        assert read.content == "handwriting", name


@pytest.mark.parametrize("method", SHORT)
def test_clusters_are_the_same(containers, method):
    expected = None
    for name in FITTED:
        model = methods.load(method)(10, random_state=0, **SHORT[method]).fit(containers[name])
        expected = model.labels_ if expected is None else expected
        np.testing.assert_array_equal(model.labels_, expected, err_msg=name)
        assert model.policy_["policy"] == "handwriting"


@pytest.mark.parametrize("method", ["cc", "simclr", "scan", "dac"])
def test_every_method_has_the_views_of_the_content(method):
    make = methods.load(method)
    for content, policy in (("handwriting", "handwriting"), ("photograph", "photo")):
        short = {
            name: 0 for name in ("epochs", "pretrain_epochs", "self_label_epochs") if name in methods.parameters(method)
        }
        fitted = make(10, random_state=0, **short).fit(data.load(DIGITS, content=content))
        assert fitted.policy_["policy"] == policy


def test_the_command_line_sets_the_content_and_the_record_names_the_policy(containers, tmp_path, c3clust):
    for content, policy in (("handwriting", "handwriting"), ("photograph", "photo")):
        given = () if content == "handwriting" else ("--content", content)
        words = ("fit", containers["folder of RGB"], "-k", 3, "-o", tmp_path / content, "--method", "cc", *given)
        done = c3clust(*words, "--set", "epochs=1")
        assert done.returncode == 0, done.stderr
        record = json.loads((tmp_path / content / "record.json").read_text())
        assert (record["data"]["content"], record["augment"]["policy"]) == (content, policy)
        model = json.loads((tmp_path / content / "model.json").read_text())
        assert model["policy"] == record["augment"]


def test_the_record_of_a_method_without_views_says_so(tmp_path):
    methods.load("kmeans")(3, random_state=0).fit(DIGITS, run_dir=tmp_path / "r")
    record = json.loads((tmp_path / "r" / "record.json").read_text())
    assert (record["data"]["content"], record["augment"]) == ("handwriting", {"policy": "none"})
