import json

import numpy as np
import pytest

from c3clust import data
from c3clust.errors import DataError

pyarrow = pytest.importorskip("pyarrow", reason="the extra c3clust[tables] is not installed")


def save(folder, photos, labels, names=("cat", "dog")):
    """A folder as `Dataset.save_to_disk` writes it."""
    folder.mkdir(parents=True)
    files = sorted(photos.rglob("*.png"))[: len(labels)]
    image = pyarrow.array([{"bytes": file.read_bytes(), "path": None} for file in files])
    table = pyarrow.table({"image": image, "label": labels})
    with pyarrow.ipc.new_stream(folder / "data-00000-of-00001.arrow", table.schema) as stream:
        stream.write_table(table)
    features = {"image": {"_type": "Image"}, "label": {"names": list(names), "_type": "ClassLabel"}}
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))


def test_a_saved_dataset(tmp_path, photos):
    save(tmp_path / "set", photos, [1, 0, 1])
    images = data.load(tmp_path / "set")
    np.testing.assert_array_equal(images.x, data.load(photos).x[:3])
    np.testing.assert_array_equal(images.y, [1, 0, 1])
    assert images.classes == ["cat", "dog"]


def test_splits_are_pooled(tmp_path, photos):
    save(tmp_path / "set" / "train", photos, [1, 0, 1])
    save(tmp_path / "set" / "test", photos, [1, 1])
    (tmp_path / "set" / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    images = data.load(tmp_path / "set")
    np.testing.assert_array_equal(images.y, [1, 0, 1, 1, 1])
    assert len(set(images.names)) == 5


def test_minus_one_stands_for_no_label(tmp_path, photos):
    save(tmp_path / "set", photos, [-1, -1])
    assert data.load(tmp_path / "set").y is None


def test_a_folder_of_parquet_files(tmp_path, photos):
    import pyarrow.parquet as parquet

    (tmp_path / "set" / "data").mkdir(parents=True)
    image = [{"bytes": (photos / "ant" / "0.png").read_bytes(), "path": "0.png"}]
    for split in ("train", "test"):
        parquet.write_table(
            pyarrow.table({"image": image, "label": [4]}), tmp_path / "set" / "data" / f"{split}.parquet"
        )
    images = data.load(tmp_path / "set")
    assert images.names == ["0.png", "0.png#2"]
    assert images.classes == ["4"]


@pytest.mark.parametrize("file", ["../outside.arrow", "absent.arrow"])
def test_a_description_that_names_other_files_is_refused(tmp_path, photos, file):
    save(tmp_path / "set", photos, [1, 0])
    (tmp_path / "set" / "state.json").write_text(json.dumps({"_data_files": [{"filename": file}]}))
    with pytest.raises(DataError, match="set"):
        data.load(tmp_path / "set")


@pytest.mark.parametrize("name", ["state.json", "dataset_info.json", "data-00000-of-00001.arrow"])
def test_damaged_files_get_one_sentence(tmp_path, photos, name):
    save(tmp_path / "set", photos, [1, 0])
    (tmp_path / "set" / name).write_bytes(b"{]")
    with pytest.raises(DataError, match="cannot be read as a Hugging Face folder"):
        data.load(tmp_path / "set")


@pytest.mark.filterwarnings("ignore")
def test_what_the_package_itself_saves(tmp_path, photos):
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])})
    files = [str(file) for file in sorted(photos.rglob("*.png"))]
    whole = datasets.Dataset.from_dict({"image": files, "label": [0, 1] * 6}, features=features)
    whole.select([5, 2]).save_to_disk(tmp_path / "set")
    images = data.load(tmp_path / "set")
    np.testing.assert_array_equal(images.x, data.load(photos).x[[5, 2]])
    np.testing.assert_array_equal(images.y, [1, 0])
