"""Embeddings from files: one vector a sample, or several views of it."""

import numpy as np
import pytest

from c3clust import CC, KMeans, data, load
from c3clust.data.io.row_groups import KEPT, RowGroups
from c3clust.data.io.views import Views
from c3clust.errors import DataError, InputError

RNG = np.random.default_rng(0)
FLAT = RNG.normal(size=(12, 5))
STACKED = FLAT[:, None] + RNG.normal(scale=0.1, size=(12, 3, 5))


def parquet(path, **columns):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({name: column.tolist() for name, column in columns.items()}), path)
    return path


def test_views_of_an_array():
    images = data.load(STACKED, embeddings=True)
    assert isinstance(images.x, Views)
    assert images.x.shape == (12, 5)
    assert images.content == "views"
    np.testing.assert_allclose(images.x[:], STACKED[:, 0], rtol=1e-6)
    np.testing.assert_allclose(images.x.views[np.array([2, 1])], STACKED[[2, 1]], rtol=1e-6)
    np.testing.assert_allclose(images.x.views[3], STACKED[3], rtol=1e-6)
    assert data.load(FLAT, embeddings=True).content == "vector"


def test_without_being_told_three_axes_are_pictures():
    assert data.load(np.abs(STACKED) / 9).x.shape == (12, 1, 3, 5)
    with pytest.raises(InputError, match="for embeddings"):
        data.load(STACKED)
    with pytest.raises(InputError, match=r"embeddings must be \[n, F\]"):
        data.load(np.zeros((3, 3, 3, 3)), embeddings=True)
    with pytest.raises(InputError, match="finite"):
        data.load(np.full((4, 2, 3), np.nan), embeddings=True)


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet"])
@pytest.mark.parametrize("x", [FLAT, STACKED], ids=["single", "views"])
def test_files(tmp_path, kind, x):
    path, y = tmp_path / f"x.{kind}", np.repeat([0, 1], 6)
    if kind == "npy":
        np.save(path, x)
    elif kind == "npz":
        np.savez(path, embeddings=x, y=y)
    else:
        parquet(path, embedding=x, label=y)
    images = data.load(path, embeddings=kind == "npy")
    np.testing.assert_allclose(images.x[:], x if x.ndim == 2 else x[:, 0], rtol=1e-6)
    if x.ndim == 3:
        np.testing.assert_allclose(images.x.views[:], x, rtol=1e-6)
    if kind != "npy":
        np.testing.assert_array_equal(images.y, y)


def test_rows_of_different_lengths_are_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"embedding": [[1.0, 2.0], [3.0]]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="different lengths"):
        data.load(tmp_path / "x.parquet")


def test_fingerprints_see_every_view():
    other = STACKED.copy()
    other[4, 2, 1] += 1
    first, second = (data.fingerprint(data.load(x, embeddings=True)) for x in (STACKED, other))
    assert first != second


def test_given_views_are_what_training_draws_from():
    """Every pair of a step is two different views of a sample as they were given."""
    seen = []

    def look(x, size, generator):
        seen.append(x.clone())
        return x

    fitted = CC(2, epochs=1, batch_size=12, scale="none", augment=look, random_state=0)
    fitted.fit(data.load(STACKED, embeddings=True))
    x_a, x_b = (x.numpy() for x in seen)
    views = fitted.preprocessor_.scaling(STACKED)
    at_a = [np.argwhere((views == row).all(axis=2)).squeeze() for row in x_a]
    at_b = [np.argwhere((views == row).all(axis=2)).squeeze() for row in x_b]
    assert all(a[0] == b[0] and a[1] != b[1] for a, b in zip(at_a, at_b, strict=True))
    assert len({int(a[1]) for a in at_a}) > 1


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("l2", FLAT / np.linalg.norm(FLAT, axis=1, keepdims=True)),
        ("standard", (FLAT - FLAT.mean(0)) / FLAT.std(0)),
        ("none", FLAT),
        ("auto", FLAT),
    ],
)
def test_scales(scale, expected, tmp_path):
    fitted = KMeans(2, scale=scale, random_state=0).fit(FLAT)
    centres = np.stack([expected[fitted.labels_ == k].mean(0) for k in range(2)])
    scaling = fitted.preprocessor_.scaling
    found = fitted.network_.centres.numpy()
    found = found if scaling.standard else found * scaling.spread + scaling.centre  # only shifted, and by one factor
    np.testing.assert_allclose(found, centres, rtol=1e-4, atol=1e-5)
    fitted.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path).predict(FLAT), fitted.labels_)
    with pytest.raises(InputError, match="scale='unit' is unknown"):
        KMeans(2, scale="unit").fit(FLAT)


def test_a_model_of_embeddings_predicts_from_a_file(tmp_path):
    np.save(tmp_path / "x.npy", STACKED)
    fitted = CC(2, epochs=1, random_state=0).fit(data.load(tmp_path / "x.npy", embeddings=True))
    np.testing.assert_array_equal(fitted.predict(tmp_path / "x.npy"), fitted.labels_)


@pytest.fixture
def folder(tmp_path):
    """Three files of 20 vectors with labels, in row groups of 8."""
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    x = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    for i in range(3):
        rows = x[20 * i : 20 * i + 20]
        table = pa.table({"embedding": rows.tolist(), "label": [f"class {j % 2}" for j in range(20)]})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=8)
    return tmp_path, x


def test_a_folder_is_read_by_row_group(folder):
    path, x = folder
    samples = data.load(path)
    assert isinstance(samples.x, RowGroups)
    assert [group.rows for group in samples.x.groups] == [8, 8, 4] * 3
    assert (samples.kind, samples.content, list(samples.classes)) == ("vector", "vector", ["class 0", "class 1"])
    for index in (slice(None), slice(5, 33), np.array([59, 0, 20, 20]), 17, -1, np.arange(60) % 7 == 0):
        np.testing.assert_array_equal(samples.x[index], x[index])
    assert len(samples.x._kept) == KEPT
    with pytest.raises(IndexError):
        samples.x[60]


def test_a_folder_is_clustered_as_an_array_is(folder):
    path, x = folder
    streamed = KMeans(2, random_state=0).fit(str(path))
    np.testing.assert_array_equal(streamed.labels_, KMeans(2, random_state=0).fit(x).labels_)


@pytest.mark.parametrize(
    ("values", "message"),
    [([[1.0, 2.0]], "different lengths"), ([[1.0, 2.0, 3.0, np.nan]], "NaN"), ([[[1.0], [2.0]]], "nested")],
)
def test_a_folder_that_does_not_fit_together(folder, values, message):
    path, _ = folder
    parquet(path / "9.parquet", embedding=np.array(values))
    with pytest.raises(DataError, match=message):
        data.load(path)


def test_a_vector_column_of_any_name_is_found_and_told(tmp_path):
    ids, price = np.array([f"item {i}" for i in range(12)]), np.arange(12.0) ** 2
    found = data.load(parquet(tmp_path / "x.parquet", id=ids, vec=FLAT, price=price))
    np.testing.assert_allclose(found.x[:], FLAT, rtol=1e-6)
    assert found.names == list(ids)
    assert found.taken == "column 'vec'"
    assert found.left == ["column 'id' (names of the rows)", "columns price"]


def test_of_several_vector_columns_one_is_named(tmp_path):
    path = parquet(tmp_path / "x.parquet", one=FLAT, two=2 * FLAT, price=np.arange(12.0) ** 2)
    with pytest.raises(InputError, match=r"2 columns of lists \(one, two\): select one with --column"):
        data.load(path)
    np.testing.assert_allclose(data.load(path, columns=["two"]).x[:], 2 * FLAT, rtol=1e-6)
    table = data.load(path, columns=["price"])
    assert table.taken == "columns price"
    assert table.left == ["columns one, two"]
