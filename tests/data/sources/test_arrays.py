import numpy as np
import pytest
import torch

from c3clust import data
from c3clust.data.sources.arrays import from_array
from c3clust.errors import DataError, InputError

RNG = np.random.default_rng(0)


def pixels(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((5, 3, 8, 9), (5, 3, 8, 9)),
        ((5, 8, 9, 3), (5, 3, 8, 9)),
        ((5, 1, 8, 9), (5, 1, 8, 9)),
        ((5, 8, 9, 1), (5, 1, 8, 9)),
        ((5, 8, 9), (5, 1, 8, 9)),
    ],
)
def test_every_layout_becomes_channels_first(shape, expected):
    x = pixels(*shape)
    out = from_array(x).x
    assert out.shape == expected
    assert out.dtype == np.uint8
    moved = x[:, None] if x.ndim == 3 else x if shape == expected else x.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(out, moved)


def test_floats_in_0_1_are_kept_and_floats_to_255_are_divided():
    x = RNG.random((4, 3, 6, 6))
    np.testing.assert_allclose(from_array(x).x, x, rtol=1e-6)
    np.testing.assert_allclose(from_array(x * 255).x, x, atol=1e-5)
    assert from_array(x).x.dtype == np.float32


def test_integers_and_booleans_are_pixels_too():
    np.testing.assert_allclose(from_array(np.full((2, 5, 5), 51, np.int64)).x, 0.2)
    assert from_array(np.ones((2, 5, 5), bool)).x.max() == 1


def test_a_tensor_with_gradient_is_taken():
    assert from_array(torch.rand(4, 3, 6, 6, requires_grad=True)).x.shape == (4, 3, 6, 6)


def test_rows_are_feature_vectors_of_any_range():
    images = from_array(RNG.normal(size=(6, 4)) * 1000)
    assert images.x.shape == (6, 4)
    assert images.x.dtype == np.float64  # it is centred before it is cast
    assert images.content == "vector"


@pytest.mark.parametrize(("given", "kept"), [("f2", "f4"), ("f4", "f4"), ("u2", "f4"), ("i4", "f8"), ("i8", "f8")])
def test_rows_are_kept_in_a_type_that_holds_them(given, kept):
    x = np.arange(12).reshape(4, 3)
    found = from_array(x.astype(given)).x
    assert found.dtype == kept
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros((5,)), r"\(5,\)"),
        (np.zeros((2, 2, 2, 2, 2)), r"\(2, 2, 2, 2, 2\)"),
        (np.zeros((0, 8, 8)), "is empty"),
        (np.zeros((4, 0)), "is empty"),
        (np.full((3, 8, 8), np.nan), "NaN or infinite values in 3 of 3"),
        (np.array([[1.0, 2.0], [np.inf, 0.0]]), "first at index 1"),
        (np.full((3, 8, 8), -1.0), "from -1 to -1"),
        (np.full((3, 8, 8), 256.0), "to 256"),
        (np.zeros((3, 4, 8, 4)), "channel axis"),
        (np.zeros((3, 1, 8, 3)), "may be"),
        (np.array([["a", "b"]]), "<U1"),
        (np.array([None, 3]), "object"),
        ([[1, 2], [3]], "array of numbers"),
        (np.zeros((2, 2), complex), "complex"),
    ],
)
def test_what_cannot_be_used_gets_one_sentence(x, words):
    with pytest.raises(InputError, match=words):
        data.load(x)


def test_npy_and_npz(tmp_path):
    x, y = pixels(6, 8, 8, 3), np.array(list("abcabc"))
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "both.npz", images=x, labels=y)
    np.savez(tmp_path / "one.npz", whatever=x)
    assert data.load(tmp_path / "x.npy").x.shape == (6, 3, 8, 8)
    assert data.load(tmp_path / "one.npz").y is None
    both = data.load(str(tmp_path / "both.npz"))
    np.testing.assert_array_equal(both.y, [0, 1, 2, 0, 1, 2])
    assert both.classes == ["a", "b", "c"]


def test_pickled_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(DataError, match="cannot be read as a numpy file"):
            data.load(tmp_path / name)


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_damaged_numpy_files_are_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x93NUMPY nonsense")
    with pytest.raises(DataError, match=name):
        data.load(tmp_path / name)


def test_npz_without_a_clear_name_or_with_too_few_labels(tmp_path):
    np.savez(tmp_path / "two.npz", first=pixels(2, 8, 8), second=pixels(2, 8, 8))
    with pytest.raises(InputError, match="first, second"):
        data.load(tmp_path / "two.npz")
    np.savez(tmp_path / "few.npz", x=pixels(3, 8, 8), y=[1, 2])
    with pytest.raises(InputError, match="one label per image"):
        data.load(tmp_path / "few.npz")
