import csv
import errno
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from c3clust.errors import InputError
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits
from c3clust.report import sorting
from c3clust.report.sorting import sort_into


@pytest.fixture
def pictures(tmp_path):
    paths = []
    for i in range(6):
        path = tmp_path / "new" / f"{'<b>&' if i == 5 else ''}{i}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((4, 4, 3), 40 * i, np.uint8)).save(path)
        paths.append(path)
    return paths


def found(paths, clusters, confidence):
    return Assignments([path.name for path in paths], np.array(clusters), np.array(confidence))


def index(to):
    with open(to / "index.csv", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_named_folders_unsure_and_none(pictures, tmp_path):
    edits = Edits(12).label({3: "cats"})
    to = tmp_path / "sorted"
    done = sort_into(to, found(pictures, [3, 3, 0, -1, 0, 3], [0.9, 0.4, 0.9, 0.1, 0.9, 0.9]), edits, pictures)
    assert done.folders == {"03-cats": 2, "unsure": 1, "00": 2, "outliers": 1}
    assert (to / "03-cats" / "0.png").read_bytes() == pictures[0].read_bytes()
    assert index(to)["1.png"]["cluster_name"] == "cats"
    page = done.page.read_text()
    assert "<b>&" not in page
    assert 'src="03-cats/0.png"' in page
    assert "6 new images" in page


def test_a_second_time_adds_and_overwrites_nothing(pictures, tmp_path):
    edits, to = Edits(3).label({1: "cats"}), tmp_path / "sorted"
    sort_into(to, found(pictures[:3], [1, 1, 0], [0.9] * 3), edits, pictures[:3])
    (to / "mine.txt").write_text("kept")
    (to / "1-cats" / "4.png").write_text("my own file")
    renamed = edits.merge([2, 1])  # has another number now, and the name of the folder
    done = sort_into(to, found(pictures[:5], [2] * 5, [0.9] * 5), renamed, pictures[:5])
    assert done.known == ["0.png", "1.png", "2.png"]
    assert done.folders == {"1-cats": 2}
    assert (to / "1-cats" / "4.png").read_text() == "my own file"
    assert (to / "1-cats" / "4-2.png").read_bytes() == pictures[4].read_bytes()
    assert [row["file"] for row in index(to).values()] == [
        "1-cats/0.png", "1-cats/1.png", "0/2.png", "1-cats/3.png", "1-cats/4-2.png",
    ]  # fmt: skip
    assert [path.name for path in sorted(to.glob("new-*.html"))] == ["new-1.html", "new-2.html"]
    assert not list(to.glob(".*"))
    assert (to / "mine.txt").exists()


def test_other_images_of_the_same_name_are_new(pictures, tmp_path):
    to = tmp_path / "sorted"
    sort_into(to, found(pictures[:1], [0], [0.9]), Edits(2), pictures[:1])
    Image.fromarray(np.full((4, 4, 3), 255, np.uint8)).save(pictures[0])
    assert sort_into(to, found(pictures[:1], [0], [0.9]), Edits(2), pictures[:1]).folders == {"0": 1}
    assert {path.name for path in (to / "0").iterdir()} == {"0.png", "0-2.png"}


def test_a_folder_that_is_no_export_is_refused(pictures, tmp_path):
    with pytest.raises(InputError, match=r"no index\.csv"):
        sort_into(tmp_path, found(pictures, [0] * 6, [1] * 6), Edits(1), pictures)
    (tmp_path / "index.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not the index"):
        sort_into(tmp_path, found(pictures, [0] * 6, [1] * 6), Edits(1), pictures)


def test_a_missing_original_is_named(pictures, tmp_path):
    pictures[1].unlink()
    done = sort_into(tmp_path / "to", found(pictures, [0] * 6, [1] * 6), Edits(1), pictures)
    assert done.missing == ["1.png"]
    assert done.n == 5


def test_an_index_cannot_name_other_places(pictures, tmp_path):
    to = tmp_path / "sorted"
    sort_into(to, found(pictures[:1], [0], [0.9]), Edits(2).label({0: "cats"}), pictures[:1])
    written = (to / "index.csv").read_text()
    for place in ("..", "", ".", "C:", "a\\b"):
        (to / "index.csv").write_text(written.replace("0-cats/", f"{place}/"))
        with pytest.raises(InputError, match="repair this row"):
            sort_into(to, found(pictures, [0] * 6, [0.9] * 6), Edits(2).label({0: "cats"}), pictures)
    assert {path.name for path in tmp_path.iterdir()} == {"new", "sorted"}


@pytest.mark.parametrize("earlier", [0, 2])
def test_a_full_disk_leaves_what_was_there(pictures, tmp_path, monkeypatch, earlier):
    to, labels = tmp_path / "sorted", found(pictures, [0, 0, 1, 1, 0, 0], [0.9] * 6)
    if earlier:
        sort_into(to, found(pictures[:earlier], [0] * earlier, [0.9] * earlier), Edits(2), pictures[:earlier])
    before = {path: path.read_bytes() for path in to.rglob("*") if path.is_file()}

    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sorting, "write_atomically", full)
        with pytest.raises(InputError, match="No space left"):
            sort_into(to, labels, Edits(2), pictures)
    assert {path: path.read_bytes() for path in to.rglob("*") if path.is_file()} == before
    assert to.exists() == bool(earlier)
    assert sort_into(to, labels, Edits(2), pictures).n == 6 - earlier


def test_a_file_system_without_locks(pictures, tmp_path, monkeypatch):
    def refuse(lock):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("filelock.FileLock._acquire", refuse)
    to = tmp_path / "sorted"
    assert sort_into(to, found(pictures[:1], [0], [0.9]), Edits(2), pictures[:1]).n == 1
    assert {path.name for path in to.iterdir()} == {"0", "index.csv", "new-1.html"}


def test_what_a_killed_process_left_is_removed(pictures, tmp_path):
    to = tmp_path / "sorted"
    (to / ".0123456789ab.partial").mkdir(parents=True)
    (to / "lock").touch()
    sort_into(to, found(pictures[:1], [0], [0.9]), Edits(2), pictures[:1])
    assert {path.name for path in to.iterdir()} == {"0", "index.csv", "new-1.html"}


def test_two_that_sort_at_the_same_time(pictures, tmp_path):
    """Every image that was sorted is in the index."""
    to = tmp_path / "sorted"

    def sort_one(i):
        sort_into(to, found(pictures[i : i + 1], [i % 2], [0.9]), Edits(2), pictures[i : i + 1])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(sort_one, range(6)))
    assert len(index(to)) == 6
    assert all((to / row["file"]).exists() for row in index(to).values())
    assert len(list(to.glob("new-*.html"))) == 6
