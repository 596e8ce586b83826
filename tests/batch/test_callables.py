"""`Assigner` and `Encoder` on batches of every kind give what `predict` gives."""

import io
import pickle
import subprocess
import sys

import numpy as np
import pyarrow
import pytest
from PIL import Image

from c3clust import KMeans
from c3clust.batch import Assigner, Encoder, models
from c3clust.errors import InputError, RunError


def blobs(n=90):
    random = np.random.default_rng(0)
    return (random.normal(size=(n, 6)) + 8 * np.eye(6)[np.arange(n) % 3]).astype(np.float32)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """The folder of a model of vectors, and the vectors."""
    folder, x = tmp_path_factory.mktemp("vectors") / "run", blobs()
    KMeans(n_clusters=3, random_state=0).fit(x, run_dir=folder)
    return folder, x


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The folder of a model of images, and the images as files."""
    folder = tmp_path_factory.mktemp("pictures") / "run"
    x = np.random.default_rng(0).integers(0, 90, (24, 12, 12, 3), dtype=np.uint8)
    x[::2] += 150
    files = [png(each) for each in x]
    KMeans(n_clusters=2, random_state=0).fit(files, run_dir=folder)
    return folder, files


def from_dict(x):
    return {"id": np.arange(len(x)), "vector": x}


def from_arrow(x):
    return pyarrow.table({"id": np.arange(len(x)), "vector": [row.tolist() for row in x]})


def from_record_batch(x):
    return from_arrow(x).to_batches()[0]


@pytest.mark.parametrize("kind", [from_dict, from_arrow, from_record_batch])
def test_a_batch_of_vectors_is_what_predict_gives(vectors, kind):
    folder, x = vectors
    model = models.open_model(folder)[0]
    found = Assigner(folder, z=True)(kind(x))
    expected = model.assign(x)
    np.testing.assert_array_equal(np.asarray(found["cluster"]), expected.clusters)
    np.testing.assert_allclose(np.asarray(found["confidence"]), expected.confidence, rtol=1e-6)
    np.testing.assert_allclose(np.array([np.asarray(row) for row in np.asarray(found["z"])]), model.transform(x))
    np.testing.assert_array_equal(np.asarray(found["id"]), np.arange(len(x)))
    assert set(found if isinstance(found, dict) else found.column_names) == {"id", "cluster", "confidence", "z"}


def test_frames_of_pandas(vectors):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    folder, x = vectors
    found = Assigner(folder)(pandas.DataFrame({"id": range(len(x)), "vector": list(x)}))
    assert list(found) == ["id", "cluster", "confidence"]
    np.testing.assert_array_equal(found["cluster"], models.open_model(folder)[0].predict(x))


def test_bytes_of_images_and_those_that_cannot_be_read(pictures):
    folder, files = pictures
    given = [files[0], b"no image", None, *files[1:]]
    found = Assigner(folder)(pyarrow.table({"key": list(map(str, range(len(given)))), "bytes": given}))
    cluster, confidence = found["cluster"].to_numpy(), found["confidence"].to_numpy()
    assert cluster[[1, 2]].tolist() == [-1, -1]
    assert np.isnan(confidence[[1, 2]]).all()
    good = [0, *range(3, len(given))]
    np.testing.assert_array_equal(cluster[good], models.open_model(folder)[0].predict(files))
    assert Assigner(folder)({"bytes": np.array([b"no image"], object)})["cluster"].tolist() == [-1]


def test_vectors_that_are_not_finite_and_empty_batches(vectors):
    folder, x = vectors
    broken = x.copy()
    broken[4, 2] = np.nan
    found = Assigner(folder)({"vector": broken})
    assert found["cluster"][4] == -1
    np.testing.assert_array_equal(
        np.delete(found["cluster"], 4), np.delete(Assigner(folder)(from_dict(x))["cluster"], 4)
    )
    assert len(Assigner(folder)({"vector": x[:0]})["cluster"]) == 0


def test_it_is_pickled_without_the_model_and_loads_once(vectors, monkeypatch):
    folder, x = vectors
    assigner = Assigner(folder)
    first = assigner(from_dict(x))
    assert len(pickle.dumps(assigner)) < 1000
    monkeypatch.setattr(models, "open_model", lambda *_: pytest.fail("it was loaded again"))
    again = pickle.loads(pickle.dumps(assigner))(from_dict(x))
    np.testing.assert_array_equal(first["cluster"], again["cluster"])


def test_the_columns_that_are_kept_and_named(vectors):
    folder, x = vectors
    found = Assigner(folder, column="mine", keep=["mine"])({"mine": x})
    assert set(found) == {"mine", "cluster", "confidence"}
    with pytest.raises(InputError, match="none is called"):
        Assigner(folder)({"mine": x})
    with pytest.raises(InputError, match="'other' is not there"):
        Assigner(folder, column="other")({"mine": x})
    with pytest.raises(InputError, match="type list"):
        Assigner(folder)([1, 2])
    with pytest.raises(InputError, match="save it"):
        Assigner(KMeans())
    with pytest.raises(RunError, match="does not exist"):
        Assigner(folder / "nothing")


def test_an_edit_gives_another_model(vectors, tmp_path):
    import shutil

    from c3clust import merge

    folder, x = vectors
    copy = shutil.copytree(folder, tmp_path / "run")
    before = Assigner(copy)(from_dict(x))["cluster"]
    merge(copy, [0, 1])
    assert len(set(Assigner(copy)(from_dict(x))["cluster"].tolist())) == len(set(before.tolist())) - 1


def test_the_encoder_gives_the_features_of_the_samples(vectors, pictures):
    folder, files = pictures
    found = Encoder(str(folder))({"name": np.arange(3), "image": [files[0], b"no image", files[2]]})
    expected = models.open_model(folder)[0].transform([files[0], files[2]])
    np.testing.assert_allclose(found["embedding"][[0, 2]], expected, rtol=1e-5)
    assert np.isnan(found["embedding"][1]).all()
    assert set(found) == {"name", "embedding"}


def test_an_onnx_file_needs_no_torch(vectors, tmp_path):
    pytest.importorskip("onnxruntime")
    folder, x = vectors
    models.open_model(folder)[0].to_onnx(tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", x)
    program = (
        "import sys, numpy as np; sys.modules['torch'] = None; from c3clust.batch import Assigner; "
        "print(Assigner(sys.argv[1])({'vector': np.load(sys.argv[2])})['cluster'].tolist())"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "model.onnx"), str(tmp_path / "x.npy")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(Assigner(folder)(from_dict(x))["cluster"].tolist())


@pytest.mark.parametrize("kind", ["lists", "arrow", "nothing"])
def test_vectors_that_are_missing(vectors, kind):
    folder, x = vectors
    rows = [x[0].tolist(), None, x[1].tolist()] if kind != "nothing" else [None, None, None]
    column = pyarrow.array(rows, pyarrow.list_(pyarrow.float32()))
    found = Assigner(folder)({"vector": rows} if kind == "lists" else pyarrow.table({"vector": column}))
    clusters = np.asarray(found["cluster"]).tolist()
    expected = models.open_model(folder)[0].predict(x[:2]).tolist()
    assert clusters == ([expected[0], -1, expected[1]] if kind != "nothing" else [-1, -1, -1])
    assert np.isnan(np.asarray(found["confidence"])[1])


def test_vectors_of_different_lengths(vectors):
    with pytest.raises(InputError, match="different shapes"):
        Assigner(vectors[0])({"vector": [[1.0, 2.0], [1.0]]})
