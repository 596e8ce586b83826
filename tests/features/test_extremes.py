"""One extreme value decides neither scale nor clusters, and a note names it."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from c3clust import Consensus, KMeans, ari, load
from c3clust.data.extremes import usual_range
from c3clust.export import onnx_model
from c3clust.features.scaling import fit_scaling


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, 8, centers=5, random_state=1)


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("make", [KMeans, Consensus])
def test_one_extreme_row_changes_no_clusters(make, extra, blobs, tmp_path):
    """With as many clusters as there are, and with one more for the row."""
    x, y = blobs[0].copy(), blobs[1]
    x[7] = 1e7
    fitted = make(5 + extra, random_state=0).fit(x)
    assert ari(y, fitted.labels_) >= 0.99
    (note,) = (note for note in fitted.notes_ if "outlier" in note)
    assert "sample 7 is an outlier" in note
    assert "1e+07 in feature 0" in note
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(x), fitted.labels_)


def test_an_onnx_file_clips_too(blobs, tmp_path):
    pytest.importorskip("onnxruntime")
    x = blobs[0].astype(np.float32)
    x[7] = 1e7
    fitted = KMeans(5, random_state=0).fit(x)
    found = onnx_model.load(fitted.to_onnx(tmp_path / "model.onnx"))
    np.testing.assert_array_equal(found.predict(x), fitted.labels_)


@pytest.mark.parametrize(("value", "rows"), [(1e7, [3]), (-1e12, [0, 399]), (3e38, [5]), (1e300, [1, 2, 3])])
def test_extreme_cells_are_clipped(blobs, value, rows):
    x = blobs[0].copy()
    x[rows, 2] = value
    scaling, (note,) = fit_scaling(x, each=True, names=[f"n{i}" for i in range(400)])
    assert ", ".join(f"n{i}" for i in rows) in note
    rest = np.setdiff1d(np.arange(400), rows)
    assert np.abs(scaling(x)).max() < 10
    plain, _ = fit_scaling(blobs[0], each=True)
    np.testing.assert_allclose(scaling(x)[rest], plain(blobs[0])[rest], atol=0.2)


@pytest.mark.parametrize("each", [False, True])
def test_ordinary_data_are_not_changed(each):
    rng = np.random.default_rng(0)
    sparse = np.where(rng.random((3000, 4)) < 0.02, rng.exponential(50, (3000, 4)), 0)
    x = np.column_stack([rng.normal(size=(3000, 4)), rng.lognormal(0, 1, (3000, 4)), rng.standard_t(3, 3000), sparse])
    scaling, notes = fit_scaling(x, each=each)
    assert scaling.low is None
    assert notes == []


def test_a_small_cluster_far_away_is_not_extreme():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 3))
    x[:50] += 1e5
    assert fit_scaling(x, each=True)[0].low is None


@pytest.mark.parametrize(("value", "rows"), [(-9999, 40), (1e9, 1)])
def test_fill_values_of_a_table_are_missing(c3clust, tmp_path, value, rows):
    """The same clusters as with empty cells; a note names the column, the value and the first row."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 3
    x = rng.normal(0, 1, (200, 3)) + 12 * np.eye(3)[y]
    at, said = rng.permutation(200)[:rows], {}
    for name, cell in (("filled", f"{value:g}"), ("empty", "")):
        lines = [[f"{v:.4f}" for v in row] for row in x]
        for i in at:
            lines[i][1] = cell
        text = "\n".join(["a,b,c,d", *(",".join([*line, "xy"[i % 2]]) for i, line in enumerate(lines))])
        (tmp_path / f"{name}.csv").write_text(text)
        words = ("fit", tmp_path / f"{name}.csv", "-k", 3, "--method", "kmeans", "-q", "-o", tmp_path / name)
        done = c3clust(*words)
        assert done.returncode == 0, done.stderr
        said[name] = done.stderr
    for name in ("model.safetensors", "assignments.csv"):
        assert (tmp_path / "filled" / name).read_bytes() == (tmp_path / "empty" / name).read_bytes()
    note = f"Column 'b' has {value:.6g} in row {at.min() + 1}"
    assert note in (tmp_path / "filled" / "record.json").read_text()
    assert note in said["filled"]
    assert not said["empty"]
    again = c3clust("predict", tmp_path / "filled", tmp_path / "filled.csv")
    other = c3clust("predict", tmp_path / "filled", tmp_path / "empty.csv")
    assert again.stdout == other.stdout


def test_columns_without_fill_values():
    rng = np.random.default_rng(0)
    columns = (rng.normal(size=500), rng.lognormal(0, 1, 500), rng.integers(0, 2, 500), np.full(9, 3.0), np.array([]))
    assert all(usual_range(np.asarray(column, float)) is None for column in columns)
