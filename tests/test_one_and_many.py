"""What is predicted for a sample does not depend on which other samples are in the call."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from c3clust import data, load, methods
from c3clust.errors import InputError, RunError
from c3clust.features.preprocess import PIXEL_MAX

SMALL = {
    "n_clusters": 3, "cc_epochs": 1, "pretrain_epochs": 1, "epochs": 1, "hidden": (16,), "n_init": 2, "members": 1,
    "prior": "even", "random_state": 0,
}  # fmt: skip
DIGITS = load_digits().images[:40]
DARK = np.where(DIGITS > 8, 1.0, 0.0)  # of 255: almost black
BYTES = np.concatenate([DIGITS * 15.9, DARK]).astype(np.uint8)
KINDS = {
    "uint8": BYTES,
    "uint16": BYTES.astype(np.uint16),
    "float 0-255": BYTES.astype(np.float32),
    "float 0-1": BYTES / 255,
    "vectors": DIGITS.reshape(40, -1) + 1e5,
}


def make(name, **changes):
    known = methods.parameters(name)
    return methods.load(name)(**{k: v for k, v in (SMALL | changes).items() if k in known})


def assert_alone_as_together(fitted, x, rows):
    together, c = fitted.predict(x), fitted.predict_proba(x)
    for i in rows:
        one = x.iloc[i : i + 1] if hasattr(x, "iloc") else x[i : i + 1]
        assert fitted.predict(one)[0] == together[i]
        np.testing.assert_allclose(fitted.predict_proba(one)[0], c[i], rtol=1e-3, atol=1e-4)


CASES = [*((name, kind) for name in methods.names() for kind in ("float 0-255", "vectors"))]
CASES += [(name, kind) for name in ("kmeans", "dec") for kind in KINDS if (name, kind) not in CASES]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_arrays(name, kind, tmp_path):
    x = KINDS[kind]
    fitted = make(name).fit(x)
    rows = [0, len(x) - 1]
    assert_alone_as_together(fitted, x, rows)
    fitted.save(tmp_path)
    assert_alone_as_together(load(tmp_path), x, rows[-1:])


def test_dark_pictures_alone():
    """The case that was found: of the dark pictures alone, all values are within [0, 1]."""
    x = KINDS["float 0-255"]
    fitted = make("kmeans", n_clusters=8).fit(x)
    np.testing.assert_array_equal(fitted.predict(x[40:]), fitted.labels_[40:])


def test_files(tmp_path):
    np.save(tmp_path / "all.npy", KINDS["float 0-255"])
    np.save(tmp_path / "dark.npy", KINDS["float 0-255"][40:])
    fitted = make("kmeans", n_clusters=8).fit(tmp_path / "all.npy")
    np.testing.assert_array_equal(fitted.predict(tmp_path / "dark.npy"), fitted.labels_[40:])


def test_the_scale_of_bytes_follows_from_the_type():
    fitted = make("kmeans").fit(BYTES)
    for x in (BYTES / 255, BYTES.astype(np.int64), torch.from_numpy(BYTES.astype(np.int32))):
        np.testing.assert_array_equal(fitted.predict(x), fitted.labels_)
    with pytest.raises(InputError, match="1 in floats"):
        fitted.predict(BYTES.astype(np.float32))


def test_another_scale_is_refused():
    fitted = make("kmeans").fit(BYTES / 255)
    with pytest.raises(InputError, match="values up to 254, but white is 1"):
        fitted.predict(BYTES.astype(np.float32))
    with pytest.raises(InputError, match="load it with pixel_max=1"):
        fitted.predict(data.load(BYTES.astype(np.float32)))
    with pytest.raises(InputError, match="pixel_max=7"):
        data.load(DIGITS, pixel_max=7)
    fitted = make("kmeans").fit(KINDS["float 0-255"])
    dark = KINDS["float 0-255"][40:]
    with pytest.raises(InputError, match="load it with pixel_max=255"):
        fitted.predict(data.load(dark))
    np.testing.assert_array_equal(fitted.predict(data.load(dark, pixel_max=255)), fitted.labels_[40:])


def test_a_model_with_another_scale_of_pixels_is_refused(tmp_path):
    fitted = make("kmeans").fit(BYTES)
    fitted.preprocessor_.pixel_max = 3.0
    with pytest.raises(RunError, match=PIXEL_MAX):
        load(fitted.save(tmp_path))


def test_a_model_without_a_scale_of_pixels_looks_at_the_values(tmp_path):
    fitted = make("kmeans").fit(KINDS["float 0-255"])
    fitted.preprocessor_.pixel_max = None
    old = load(fitted.save(tmp_path))
    np.testing.assert_array_equal(old.predict(BYTES.astype(np.float32)), fitted.labels_)


@pytest.mark.parametrize("name", ["kmeans", "consensus", "c3", "cc", "dec"])
def test_tables(name, tmp_path, recwarn):
    """A row of numbers alone, in a column of categories, is still a category."""
    rng = np.random.default_rng(0)
    codes = rng.choice(["007", "1.50", "x", "2"], 60)
    lines = [f"{code},{number:.3f},{'' if i % 7 == 0 else i % 5}" for i, (code, number) in
             enumerate(zip(codes, rng.normal(size=60), strict=True))]  # fmt: skip
    write = lambda rows: (tmp_path / "t.csv").write_text("\n".join(["code,number,other", *rows]) + "\n")  # noqa: E731
    write(lines)
    fitted = make(name).fit(tmp_path / "t.csv")
    together, c = fitted.predict(tmp_path / "t.csv"), fitted.predict_proba(tmp_path / "t.csv")
    for i in (0, 1, 2, 3, 4):
        write(lines[i : i + 1])
        assert fitted.predict(tmp_path / "t.csv")[0] == together[i]
        np.testing.assert_allclose(fitted.predict_proba(tmp_path / "t.csv")[0], c[i], rtol=1e-3, atol=1e-4)
