import json

import numpy as np
import pytest
import torch

from c3clust import CC, data
from c3clust.data.io import row_groups
from c3clust.data.io.spans import Unreadable, read_span
from c3clust.data.io.stream import Stream
from c3clust.data.io.subset import Subset
from c3clust.data.shard import write_shards
from c3clust.errors import DataError
from c3clust.report.export import whole_file
from c3clust.training.order import epoch_order

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


# Parquet files larger than the memory


@pytest.fixture
def table(tmp_path, picture, encode):
    """Three files of 20 pictures in row groups of 8, as Hugging Face writes them; and the pictures."""
    from pyarrow import parquet

    folder = tmp_path / "table"
    folder.mkdir()
    pictures = [encode(picture(12, 12, seed)) for seed in range(60)]
    for i in range(3):
        image = [{"bytes": each, "path": f"{i}-{j}.png"} for j, each in enumerate(pictures[20 * i : 20 * i + 20])]
        rows = pyarrow.table({"image": image, "label": [j % 3 for j in range(20)]})
        parquet.write_table(rows, folder / f"{i}.parquet", row_group_size=8)
    return folder, pictures


def kinds(stream):
    """Which pictures are read in place, and which from a temporary file."""
    return [span.chunk is not None for span in stream.spans]


@pytest.fixture
def read_groups(monkeypatch):
    """The row groups of pictures that were read, with repetitions; none is held at the beginning."""
    found, read = [], row_groups.open_parquet
    row_groups._held.clear()

    def counted(path):
        found.append(path)
        return read(path)

    monkeypatch.setattr(row_groups, "open_parquet", counted)
    return found


def test_pictures_of_parquet_files_stay_where_they_are(table):
    folder, pictures = table
    whole, streamed = data.load(folder), data.load(folder, memory=0)
    assert isinstance(streamed.x, Stream)
    assert kinds(streamed.x) == [True] * 60
    assert streamed.x.spool.path is None
    assert [read_span(span) for span in streamed.x.spans] == pictures
    assert [len(part) for part in streamed.x.shards] == [8, 8, 4] * 3
    for index in (slice(None), np.array([59, 0, 20, 20]), 17):
        np.testing.assert_array_equal(streamed.x[index], whole.x[index])
    np.testing.assert_array_equal(streamed.y, whole.y)
    assert streamed.names[::20] == ["0-0.png", "1-0.png", "2-0.png"]
    assert whole_file(streamed.x.spans[0], streamed.x) is None


def test_row_groups_that_are_too_large_are_copied(table, monkeypatch):
    folder, pictures = table
    sizes = [sum(map(len, pictures[i : i + 8])) for i in (0, 8, 20, 28, 40, 48)]
    monkeypatch.setattr(row_groups, "LARGEST", sum(map(len, pictures[16:20])))
    assert min(sizes) > row_groups.LARGEST
    streamed = data.load(folder, memory=0)
    some = [sum(map(len, pictures[i : i + 4])) <= row_groups.LARGEST for i in (16, 36, 56)]
    expected = [flag for whole in some for flag in [False] * 16 + [whole] * 4]
    assert kinds(streamed.x) == expected
    np.testing.assert_array_equal(streamed.x[:], data.load(folder).x)


def test_an_epoch_reads_each_row_group_once(table, monkeypatch, read_groups):
    folder, pictures = table
    monkeypatch.setattr(row_groups, "HELD", sum(map(len, pictures)) // 3)
    monkeypatch.setattr("c3clust.data.io.stream.HELD", row_groups.HELD)
    x = data.load(folder, memory=0, image_size=12).x
    assert x.together in (9, 10)
    generator = torch.Generator().manual_seed(0)
    for samples in (x, Subset(x, np.arange(60))):
        order = epoch_order(samples, 15, 4, generator)
        assert sorted(order.flatten().tolist()) == list(range(60))
        assert order.flatten().tolist() != list(range(60))
        read_groups.clear()
        for batch in order.numpy():
            samples[batch]
        assert len(read_groups) <= 15  # 9, and those at the ends of blocks; any order would read about 40


def test_a_training_run_from_parquet_files(table):
    folder, _ = table
    params = {"n_clusters": 3, "epochs": 2, "batch_size": 16, "random_state": 0}
    streamed = CC(**params).fit(data.load(folder, memory=0))
    assert len(streamed.labels_) == 60
    np.testing.assert_array_equal(streamed.predict(data.load(folder, memory=0)), streamed.labels_)


def test_shards_of_parquet_files(table, tmp_path, monkeypatch, read_groups):
    folder, pictures = table
    written, skipped = write_shards(str(folder), tmp_path / "shards")
    assert (len(written), skipped) == (1, [])
    assert len(read_groups) == 9
    shards = data.load(tmp_path / "shards")
    expected = dict(zip((name.removesuffix(".png") for name in data.load(folder).names), pictures, strict=True))
    names = [name.removesuffix(".png") for name in shards.names]
    assert sorted(names) == sorted(expected)
    assert names != list(expected)


def test_a_table_that_changes_meanwhile_is_noticed(table):
    from pyarrow import parquet

    folder, pictures = table
    x = data.load(folder, memory=0).x
    parquet.write_table(pyarrow.table({"image": [pictures[5]] * 20}), folder / "0.parquet")
    with pytest.raises(DataError, match="was readable when the run started"):
        x[:20]
    (folder / "1.parquet").write_bytes(b"PAR1")
    with pytest.raises(Unreadable, match="cannot be read as Parquet"):
        read_span(x.spans[20])
    (folder / "2.parquet").unlink()
    with pytest.raises(Unreadable, match="No such file"):
        read_span(x.spans[40])
