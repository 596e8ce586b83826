"""data.load, data.names and data.describe: what is common to all sources."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from c3clust import data
from c3clust.errors import DataError, InputError

NAMES = ["cifar10", "cifar100", "digits", "fashion-mnist", "imagenet-10", "imagenet-dogs", "mnist", "tiny-imagenet"]


def test_the_folder_is_the_list():
    assert data.names() == NAMES


def test_describe_says_what_where_and_how(tmp_path, monkeypatch):
    monkeypatch.setenv("C3CLUST_DATA", str(tmp_path / "sets"))
    described = {each.name: each for each in data.describe()}
    assert list(described) == NAMES
    assert described["digits"].present
    assert described["cifar10"].looks_in[:2] == (str(tmp_path / "sets"), "data")
    assert not described["cifar10"].present
    assert "cifar-10-binary.tar.gz" in described["cifar10"].fetch
    assert "/usr/share/datasets/fashion-mnist" in described["fashion-mnist"].looks_in
    assert "apt-get install dataset-fashion-mnist" in described["fashion-mnist"].fetch
    assert described["imagenet-10"].fetch is None
    assert all(each.what and each.address and each.layout for each in described.values())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("digits", "fashion-mnist")])
def test_a_missing_set_gets_address_and_layout(name):
    with pytest.raises(DataError, match=rf"{name} was not found in data, .*Get it (with|from) .*http.*; expected: "):
        data.load(name)


def test_an_explicit_root_is_the_only_place_searched(tmp_path, monkeypatch):
    monkeypatch.setenv("C3CLUST_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"mnist was not found in elsewhere\."):
        data.load("mnist", root="elsewhere")


def test_an_unknown_place_suggests_a_name():
    with pytest.raises(DataError, match=r"neither a path that exists nor a known data set\. Did you mean mnist"):
        data.load("minst")
    with pytest.raises(InputError, match="The source is empty"):
        data.load("")


def test_a_file_of_no_kind(tmp_path):
    (tmp_path / "notes.doc").write_text("?")
    with pytest.raises(DataError, match="cannot be read as data"):
        data.load(tmp_path / "notes.doc")


def test_a_bare_name_is_the_set_and_a_path_the_folder(picture):
    Path("digits").mkdir()
    picture().save("digits/a.png")
    assert len(data.load("digits")) == 1797
    assert len(data.load("./digits")) == 1
    assert len(data.load(Path("digits"))) == 1


def test_images_pass_through_and_subsets_are_fixed():
    images = data.load("digits")
    assert data.load(images) is images
    part = data.load("digits-1k")
    chosen = np.sort(np.random.default_rng(0).permutation(1797)[:1000])
    np.testing.assert_array_equal(part.x, images.x[chosen])
    np.testing.assert_array_equal(part.y, images.y[chosen])
    assert part.names[0] == str(chosen[0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": "names"},
        {"image_size": 0},
        {"image_size": 10**6},
        {"channels": 2},
        {"max_bad": 1.5},
        {"max_bad": -0.1},
        {"memory": -1},
        {"workers": 0},
    ],
)
def test_a_wrong_option_is_named_with_its_value(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(InputError, match=rf"{name}='?{value}'? "):
        data.load("digits", **wrong)


def test_the_data_layer_itself_imports_nothing_heavy():
    """With a bare parent package, for the package's own front door may import what it promises."""
    heavy = ("torch", "sklearn", "PIL", "pyarrow", "joblib")
    package = Path(data.__file__).parents[1]
    code = f"""
import sys, types
parent = sys.modules["c3clust"] = types.ModuleType("c3clust")
parent.__path__ = [{str(package)!r}]
import c3clust.data
c3clust.data.names()
print([module for module in {heavy} if module in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
