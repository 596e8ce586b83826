import csv
import errno
import os
import shutil
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from c3clust import KMeans, data
from c3clust.errors import InputError, RunError
from c3clust.report import editing
from c3clust.report.export import FreeNames, export, export_run, safe_name


def assignments(run, rows):
    with open(run / "assignments.csv", "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        csv.writer(file).writerows([["name", "cluster", "confidence"], *rows])


@pytest.fixture
def originals(tmp_path, run):
    """Four files of which two have the same name, and a run that clustered them."""
    files = [tmp_path / "photos" / name for name in ("a/1.png", "b/1.png", "b/2.PNG", "b/sub dir/3.png")]
    for i, file in enumerate(files):
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), i).save(file)
    assignments(
        run,
        [
            (f"{f.relative_to(tmp_path)}", c, p)
            for f, c, p in zip(files, (3, 3, 5, 5), (0.9, 0.8, 0.95, 0.2), strict=True)
        ],
    )
    return files


def listing(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir())


def test_one_folder_a_cluster(run, originals, tmp_path):
    before = [file.read_bytes() for file in originals]
    done = export(run, tmp_path / "out", files=originals)
    assert listing(tmp_path / "out") == ["3/1-2.png", "3/1.png", "5/2.PNG", "5/3.png", "index.csv"]
    assert done.folders == {"3": 2, "5": 2}
    assert done.n == 4
    assert (tmp_path / "out/3/1-2.png").read_bytes() == before[1]
    assert [file.read_bytes() for file in originals] == before


def test_the_doubtful_go_to_unsure_and_names_are_used(run, originals, tmp_path):
    editing.label(run, {3: "cats/../dogs", 5: "unsure"})
    done = export(run, tmp_path / "out", files=originals, min_confidence=0.85)
    assert listing(tmp_path / "out") == [
        "3-cats_.._dogs/1.png",
        "5-unsure/2.PNG",
        "index.csv",
        "unsure/1.png",
        "unsure/3.png",
    ]
    assert done.folders["unsure"] == 2
    with open(tmp_path / "out/index.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[1]["file"] == "unsure/1.png"
    assert rows[1]["cluster_name"] == "cats/../dogs"


def test_merged_clusters_share_a_folder(run, originals, tmp_path):
    editing.merge(run, [5, 3])
    assert export(run, tmp_path / "out", files=originals).folders == {"5": 4}


def test_links_lead_to_the_originals(run, originals, tmp_path):
    export(run, tmp_path / "out", files=originals, link=True)
    assert (tmp_path / "out/5/2.PNG").is_symlink()
    assert (tmp_path / "out/5/2.PNG").resolve() == originals[2].resolve()


def test_where_there_are_no_links_files_are_copied(run, originals, tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.symlink_to", lambda *_: (_ for _ in ()).throw(OSError("no")))
    export(run, tmp_path / "out", files=originals, link=True)
    assert not (tmp_path / "out/5/2.PNG").is_symlink()
    assert (tmp_path / "out/5/2.PNG").is_file()


def test_a_folder_that_holds_anything_is_refused(run, originals, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("keep")
    with pytest.raises(InputError, match="not empty: an export never overwrites"):
        export(run, tmp_path / "out", files=originals)
    assert listing(tmp_path / "out") == ["mine.txt"]


def test_a_target_that_is_a_file_is_refused(run, originals, tmp_path):
    (tmp_path / "out").write_text("keep")
    with pytest.raises(InputError, match="cannot be written"):
        export(run, tmp_path / "out", files=originals)


def test_missing_originals_are_told_and_the_rest_goes_on(run, originals, tmp_path):
    originals[0].unlink()
    done = export(run, tmp_path / "out", files=originals)
    assert done.missing == ["photos/a/1.png"]
    assert done.n == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_not_waited_for(run, originals, tmp_path):
    originals[0].unlink()
    os.mkfifo(originals[0])
    assert len(export(run, tmp_path / "out", files=originals).missing) == 1


def test_pictures_of_archives_and_arrays_are_written_as_png(run, made, tmp_path):
    done = export(run, tmp_path / "out", x=made.x)
    assert done.n == 600
    some = tmp_path / "out" / str(made.labels[7]) / "digit 0007.png"
    np.testing.assert_array_equal(np.asarray(Image.open(some)), made.x[7, 0])


def test_hostile_names_stay_inside(run, tmp_path):
    names = [
        "../../evil.png",
        "/etc/passwd",
        "C:\\x\\..\\y.jpg",
        "..",
        "a\x00b",
        "",
        ".",
        "CON",
        "\udcff.tif",
        "x" * 400,
        "X" * 400,
    ]
    assignments(run, [(name.replace("\x00", "\x01"), 0, 1.0) for name in names])
    done = export(run, tmp_path / "out", x=np.zeros((len(names), 3, 4, 4)))
    assert done.n == len(names) == len(listing(tmp_path / "out/0"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "run"]


def test_names_differing_by_case_do_not_clash(run, tmp_path):
    assignments(run, [("a.png", 0, 1), ("A.png", 0, 1), ("a-2.png", 0, 1)])
    export(run, tmp_path / "out", x=np.zeros((3, 1, 4, 4)))
    assert len({name.casefold() for name in listing(tmp_path / "out/0")}) == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"x": np.zeros((3, 1, 4, 4))}, "3 images for a run of 600"),
        ({"files": []}, "0 files for a run of 600"),
        ({"x": np.zeros((600, 5))}, "feature vectors"),
        ({}, "no file of their own"),
        ({"x": np.zeros((600, 1, 4, 4)), "min_confidence": 1.5}, "min_confidence=1.5"),
        ({"x": np.zeros((600, 1, 4, 4)), "min_confidence": float("nan")}, "min_confidence=nan"),
    ],
)
def test_what_cannot_be_exported_is_told_before_anything_is_written(run, tmp_path, arguments, told):
    with pytest.raises(InputError, match=told):
        export(run, tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "text", ["", "name\n", "name,cluster\na\n", "name,cluster\na,x\n", "name,cluster,confidence\na,99,1\n"]
)
def test_damaged_assignments_are_named(run, tmp_path, text):
    (run / "assignments.csv").write_text(text)
    with pytest.raises(RunError, match=r"assignments\.csv|clusters of this run"):
        export(run, tmp_path / "out", x=np.zeros((1, 1, 4, 4)))


def test_no_assignments(run, tmp_path):
    (run / "assignments.csv").unlink()
    with pytest.raises(RunError, match=r"assignments\.csv does not exist"):
        export(run, tmp_path / "out")


@given(st.text())
@example("\U00010000" * 29 + "abc \U00010000")  # cut after the space
def test_a_safe_name_is_one_short_name(name):
    safe = safe_name(name)
    assert safe
    assert not set(safe) & set('/\\\0<>:"|?*\n')
    assert safe not in (".", "..")
    assert len(safe.encode("utf-8", "surrogatepass")) <= 130
    assert safe == safe.rstrip(". ") or safe == "_"


def test_a_safe_name_has_no_letter_that_file_names_cannot_have(monkeypatch):
    monkeypatch.setattr("os.fsencode", lambda name: name.encode("ascii", "surrogateescape"))
    assert safe_name("Küche \udcfc, 日本") == "K_che \udcfc, __"


def photos(folder):
    """Six files of 150 x 100 pixels, one of them no image."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(6):
        pixels = rng.integers(0, 256, (100, 150, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{i}.{'jpg' if i % 2 else 'png'}")
    (folder / "2.png").write_bytes(b"no image")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "2.png"}


def packed(tmp_path, kind):
    """An archive or a table of the photos."""
    folder, place = tmp_path / "photos", tmp_path / f"packed.{kind}"
    if kind == "csv":
        place.write_text("path\n" + "".join(f"photos/{i}.{'jpg' if i % 2 else 'png'}\n" for i in range(6)))
    elif kind == "parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"image": [f.read_bytes() for f in sorted(folder.iterdir())]}), place)
    elif kind == "zip":
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.iterdir()):
                archive.write(file, f"in/{file.name}")
    else:
        with tarfile.open(place, "w" if kind == "tar" else "w:gz") as archive:
            archive.add(folder, "in")
    return place


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip", "csv", "parquet"])
def test_originals_come_out_of_archives_and_tables(kind, tmp_path):
    """Byte for byte; the run allowed more unreadable files than the default."""
    before = photos(tmp_path / "photos")
    place = packed(tmp_path, kind)
    samples = data.load(place, max_bad=0.5)
    assert samples.x.shape[2:] == (64, 64)
    KMeans(2, random_state=0).fit(samples, run_dir=tmp_path / "run")
    done = export_run(tmp_path / "run", tmp_path / "out")
    assert done.n == 5
    assert done.missing == []
    found = [file for file in (tmp_path / "out").rglob("*") if file.is_file() and file.name != "index.csv"]
    assert sorted(file.read_bytes() for file in found) == sorted(before.values())
    if kind == "parquet":
        assert {file.suffix for file in found} == {".png", ".jpeg"}
    else:
        assert {file.name for file in found} == set(before)


def test_an_archive_that_lacks_an_image_is_refused(tmp_path):
    photos(tmp_path / "photos")
    place = packed(tmp_path, "zip")
    KMeans(2, random_state=0).fit(data.load(place, max_bad=0.5), run_dir=tmp_path / "run")
    with zipfile.ZipFile(place, "w") as archive:
        archive.write(tmp_path / "photos/0.png", "in/0.png")
    with pytest.raises(InputError, match="does not contain the images of this run"):
        export_run(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_source_that_was_moved_is_named_again(tmp_path):
    photos(tmp_path / "photos")
    KMeans(2, random_state=0).fit(data.load(tmp_path / "photos", max_bad=0.5), run_dir=tmp_path / "run")
    (tmp_path / "photos").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="does not exist: give their location with --source"):
        export_run(tmp_path / "run", tmp_path / "out")
    assert export_run(tmp_path / "run", tmp_path / "out", str(tmp_path / "moved")).n


@pytest.mark.parametrize("name", [".ssh/id_rsa", "notes.txt", ".hidden.png", "../secret.png", "0.png\0", "gone.png"])
def test_only_samples_are_copied(name, tmp_path):
    """A run of somebody else names files that its reader would not read as images."""
    photos(tmp_path / "photos")
    KMeans(2, random_state=0).fit(data.load(tmp_path / "photos", max_bad=0.5), run_dir=tmp_path / "run")
    (tmp_path / "photos" / ".ssh").mkdir()
    for other in (".ssh/id_rsa", "notes.txt", ".hidden.png", "../secret.png"):
        (tmp_path / "photos" / other).write_text("secret")
    text = (tmp_path / "run" / "assignments.csv").read_text()
    (tmp_path / "run" / "assignments.csv").write_text(text.replace("0.png", name))
    with pytest.raises(InputError, match="does not contain the images of this run"):
        export_run(tmp_path / "run", tmp_path / "out", str(tmp_path / "photos"))
    assert not (tmp_path / "out").exists()


def test_many_files_of_one_name_need_one_look_each(monkeypatch):
    looked = []

    class Counted(set):
        def __contains__(self, name):
            looked.append(name)
            return super().__contains__(name)

    names = FreeNames()
    names.taken = Counted()
    found = [names.free("0", "image.png") for _ in range(2000)]
    assert len(set(found)) == 2000
    assert len(looked) <= 3 * 2000


@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_leaves_nothing(run, originals, tmp_path, monkeypatch, exists):
    """The second copy fails; the same call works once there is space."""
    copies, copy = [], shutil.copyfileobj

    def full(source, out):
        copies.append(out.name)
        out.write(b"part")
        if len(copies) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        copy(source, out)

    if exists:
        (tmp_path / "out").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", full)
        with pytest.raises(InputError, match=r"No space left on device\. Nothing was exported"):
            export(run, tmp_path / "out", files=originals)
    assert (tmp_path / "out").exists() == exists
    assert not exists or not list((tmp_path / "out").iterdir())
    assert export(run, tmp_path / "out", files=originals).n == 4
