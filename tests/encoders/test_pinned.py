"""Weights that are not the known ones are refused, with a sentence that says how to allow them."""

import hashlib

import pytest

from c3clust import encoders
from c3clust.encoders import photographs, pinned, text, weights
from c3clust.encoders.pinned import check_files
from c3clust.errors import RunError


def test_known_files(tmp_path, monkeypatch):
    (tmp_path / "a.bin").write_bytes(b"weights")
    known = {"a.bin": hashlib.sha256(b"weights").hexdigest()}
    check_files(tmp_path, known, "some-package")
    (tmp_path / "a.bin").write_bytes(b"other weights")
    with pytest.raises(RunError, match=r"not the file that c3clust knows.*package==0\.1\.0.*ANY_WEIGHTS=1"):
        check_files(tmp_path, known, "some-package")
    (tmp_path / "a.bin").unlink()
    with pytest.raises(RunError, match=r"a\.bin cannot be read"):
        check_files(tmp_path, known, "some-package")
    monkeypatch.setenv(pinned.ALLOW, "1")
    check_files(tmp_path, known, "some-package")


@pytest.mark.parametrize("name", ["efficientnet-lite0", "minilm"])
def test_other_weights_are_refused_before_they_are_read(name, tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers")
    place = tmp_path / "efficientnet-lite0-57934424.pth"
    place.write_bytes(b"other")
    monkeypatch.setattr(weights, "find", lambda name: place)
    monkeypatch.setattr(text, "_package", lambda: tmp_path)
    for file in pinned.MINILM:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"other")
    with pytest.raises(RunError, match="not the file that c3clust knows"):
        encoders.load(name)


@pytest.mark.skipif(photographs.missing() is not None, reason="the weights are not installed")
def test_the_installed_weights_are_known():
    assert encoders.load("efficientnet-lite0").width == 1280
