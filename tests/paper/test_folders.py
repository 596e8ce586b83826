"""The study of folders as people have them: its cases from small files, and its table, findings and figure from
numbers made up here. One small case is run."""

import csv
import gzip
import io
import struct
import tarfile
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from c3clust import bench, data, paper
from c3clust.errors import InputError
from c3clust.paper import Setting, cases, folders, umap
from c3clust.paper.values import read_rows, write_rows


def write_archive(path, folders_in_it, each, size=8):
    """A tar of JPEG files, in an order that is not that of their names."""
    with tarfile.open(path, "w") as tar:
        for folder in reversed(folders_in_it):
            for i in reversed(range(each)):
                content = io.BytesIO()
                Image.new("RGB", (size, size), (10 * i, 0, 0)).save(content, "JPEG")
                entry = tarfile.TarInfo(f"{folder}/{i}.JPEG")
                entry.size = content.tell()
                content.seek(0)
                tar.addfile(entry, content)


def write_idx(path, x):
    shape = struct.pack(f">{x.ndim}I", *x.shape)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(bytes([0, 0, 8, x.ndim]) + shape + x.tobytes()))


@pytest.fixture
def archives(tmp_path):
    """A folder with one small archive of each kind."""
    folder = tmp_path / "data"
    folder.mkdir()
    write_archive(folder / cases.PHOTOS, [f"photos/{c}" for c in "abcdefghij"], 3)
    with open(folder / cases.TEXTS, "w", newline="") as file:
        rows = [[f"text {i}\nof the class {i % 80}", i % 80] for i in range(240)]
        csv.writer(file).writerows([["text", "label"], *rows])
    y = np.arange(4000) % 10
    write_idx(folder / f"{cases.MNIST}.gz", np.repeat(y, 64).reshape(-1, 8, 8).astype(np.uint8) * 25)
    write_idx(folder / f"{cases.MNIST}.gz".replace("images-idx3", "labels-idx1"), y.astype(np.uint8))
    return folder


def row(case, method, seed, acc, estimated="", doubtful=""):
    low, high = (estimated - 0.07, estimated + 0.07) if estimated != "" else ("", "")
    return {
        "case": case, "n": 100, "clusters": 2, "method": method, "seed": seed, "acc": acc, "nmi": acc, "ari": acc,
        "estimated_accuracy": estimated, "low": low, "high": high, "doubtful": doubtful, "seconds": 2.0,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def without_umap(monkeypatch):
    """The results are the same whether umap-learn is installed or not."""
    monkeypatch.setattr(umap, "installed", lambda: False)


@pytest.fixture
def rows():
    """Twelve cases: Consensus gains 10 points and knows it, but loses 6 on dogs, of which only seed 0 is doubtful."""
    found = []
    for case in ("digits", "dogs", *(f"case-{i}" for i in range(10))):
        for seed in (0, 1):
            gain = -0.06 if case == "dogs" else 0.1
            found.append(row(case, folders.KMEANS, seed, 0.8))
            found.append(row(case, folders.ADAPTIVE, seed, 0.7))
            found.append(row(case, folders.NOW, seed, 0.8 + gain, 0.88, int(case == "dogs" and seed == 0)))
            if case != "digits":
                found.append(row(case, "prior even", seed, 0.79 + gain))
    return found


def names_of(found):
    return [case.name for case in found]


def test_the_study_is_listed():
    assert "folders" in paper.names()
    assert paper.title("folders").startswith("Folders as people have them")


def test_built_in_cases_need_no_data_and_are_written_once(tmp_path):
    found = {case.name: case for case in cases.find_cases("digits")}
    assert list(found) == ["digits", "digits-tail", "wine", "cancer"]
    for name, n in {"digits": 1797, "digits-tail": 710, "wine": 178, "cancer": 569}.items():
        place = found[name].place(tmp_path)
        loaded = data.load(place, **found[name].options)
        assert (len(loaded), len(np.unique(loaded.y))) == (n, found[name].n_clusters)
    sizes = np.bincount(data.load(found["digits-tail"].place(tmp_path)).y)
    assert sizes.tolist() == cases.tail(10, 174, 10)
    before = (tmp_path / "wine.csv").stat().st_mtime_ns
    found["wine"].place(tmp_path)
    assert (tmp_path / "wine.csv").stat().st_mtime_ns == before
    assert not list(tmp_path.glob(".*"))


def test_a_case_that_cannot_be_written_leaves_nothing(tmp_path):
    case = cases.Case("lost", 2, lambda path: path.write_text("half") and 1 / 0, ".csv")
    with pytest.raises(ZeroDivisionError):
        case.place(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_adds_the_cases_of_the_archives_in_it(archives):
    found = names_of(cases.find_cases(str(archives)))
    assert {"wine", "photos-4x30", "photos-tail", "texts-77", "mnist-tail-2"} <= set(found)
    assert not [name for name in found if name.startswith(("dogs", "tiny"))]
    assert len(found) == len(set(found)) == 4 + 5 + 3 + 3


def test_a_folder_without_archives_or_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds none of photos-subset"):
        cases.find_cases(str(tmp_path))
    with pytest.raises(InputError, match="is not a folder"):
        cases.find_cases(str(tmp_path / "nowhere"))


def test_photos_are_a_folder_with_one_folder_per_class(archives, tmp_path):
    case = {case.name: case for case in cases.find_cases(str(archives))}["photos-2x50"]
    loaded = data.load(case.place(tmp_path / "cases"), **case.options)
    assert (len(loaded), loaded.classes) == (6, ["000", "001"])
    cases.write_photos(tmp_path / "uneven", archives / cases.PHOTOS, [3, 2, 1])
    assert [len(list(folder.iterdir())) for folder in sorted((tmp_path / "uneven").iterdir())] == [3, 2, 1]


def test_texts_are_the_first_of_their_classes(archives, tmp_path):
    case = {case.name: case for case in cases.find_cases(str(archives))}["texts-20"]
    loaded = data.load(case.place(tmp_path), **case.options)
    assert (len(loaded), len(np.unique(loaded.y))) == (60, 20)
    assert loaded.x[0] == "text 0 of the class 0"
    cases.write_texts(tmp_path / "uneven.csv", archives / cases.TEXTS, [1, 3])
    assert np.bincount(data.load(tmp_path / "uneven.csv", **case.options).y).tolist() == [1, 3]


def test_draws_of_mnist_make_other_classes_rare(archives, tmp_path):
    sizes = []
    for draw in range(2):
        cases.write_mnist(tmp_path / f"{draw}.npz", archives / f"{cases.MNIST}.gz", draw)
        loaded = data.load(tmp_path / f"{draw}.npz")
        assert (loaded.x[:, 0, 0, 0] == loaded.y * 25).all()
        sizes.append(np.bincount(loaded.y).tolist())
    assert sizes[0] == [min(size, 400) for size in cases.tail(10, 900, 10)]
    assert sizes[1] != sizes[0]
    assert sorted(sizes[1]) == sorted(sizes[0])


def test_the_short_set_is_first_and_expensive_methods_can_be_left_out(archives, tmp_path, monkeypatch):
    setting = Setting(str(archives), (0, 1), tmp_path)
    jobs = folders.jobs(setting)
    short = [job for job in jobs if job.name in folders.SHORT]
    assert jobs[: len(short)] == short
    assert len({job.key for job in jobs}) == len(jobs) == 2 * (15 * 5 + 10 * 2)  # parts: not from scratch
    by_name = {job.name: job for job in jobs if job.data.endswith("photos-4x30") and job.seed == 0}
    assert {job.params["encoder"] for job in by_name.values()} == {"efficientnet-lite0"}
    assert {tuple(job.options.items()) for job in by_name.values()} == {(("labels", "folders"),)}
    assert by_name[folders.C3].start == by_name[folders.CC]
    assert {job.method for job in by_name.values()} == {"kmeans", "consensus", "cc", "c3", "c3_adaptive"}
    monkeypatch.setattr(folders, "COMPARED", ())
    assert {job.name for job in folders.jobs(setting)} == {*folders.SHORT, *folders.PARTS}


def result(job, acc, quality=None, status="ok", reason=""):
    record = SimpleNamespace(data={"n": 178}, n_clusters=3, quality=quality)
    scores = None if acc is None else {"acc": acc, "nmi": acc, "ari": acc, "other": 1}
    return SimpleNamespace(job=job, status=status, reason=reason, scores=scores, record=record, total=lambda clock: 1.5)


def test_rows_have_the_quality_of_consensus_and_partial_results_say_so(tmp_path):
    pytest.importorskip("matplotlib")
    job = {name: bench.Job("cases/wine.csv", "c3", {}, 0, name) for name in (folders.KMEANS, folders.NOW, folders.CC)}
    quality = {"estimated_accuracy": 0.95, "interval": [0.9, 1.0], "comparison": {"doubtful": True}}
    results = [
        result(job[folders.KMEANS], 0.9),
        result(job[folders.NOW], 0.92, quality),
        result(job[folders.CC], None, status="failed", reason="No memory."),
        result(job[folders.CC], None, status="missing"),
    ]
    files = folders.write(Setting(), results, tmp_path)
    assert [file.name for file in files] == [
        "folders.csv", "folders-table.md", "folders.md", "folders.png", "folders.pdf",
    ]  # fmt: skip
    first, second = read_rows(tmp_path / "folders.csv")
    assert list(first) == [
        "case", "n", "clusters", "method", "seed", "acc", "nmi", "ari", "estimated_accuracy", "low", "high", "doubtful",
        "seconds",
    ]  # fmt: skip
    assert (first["case"], first["n"], first["estimated_accuracy"], first["doubtful"]) == ("wine", 178, "", "")
    assert (second["estimated_accuracy"], second["low"], second["high"], second["doubtful"]) == (0.95, 0.9, 1, 1)
    text = (tmp_path / "folders-table.md").read_text()
    assert "| wine | 178 | 3 | 0.900 (0.900) | 0.920 (0.920) | +0.020 | +0.030 | 1 of 1 |" in text
    assert "- 1 of 4 runs are not finished." in text
    assert "- wine, CC: No memory." in text
    with pytest.raises(InputError, match=r"cannot be drawn: No memory\."):
        folders.write(Setting(), results[2:], tmp_path)


def test_the_table_counts_gains_and_errors(rows):
    text = folders.table(rows)
    assert "| dogs | 100 | 2 | 0.800 (0.800) | 0.700 (0.700) | 0.740 (0.740) | -0.060 | +0.140 | 1 of 2 |" in text
    assert "mean of 12 cases: +0.087; over 1 point below in 1." in text
    assert "within 0.05 of ACC in 11 of 12 cases" in text
    assert "not doubtful: dogs seed 1." in text
    parts = text.split("Each part of Consensus alone")[1]
    assert "| dogs | 0.730 (0.730) | – | 0.740 (0.740) |" in parts
    assert "digits" not in parts


def test_the_findings_follow_from_the_numbers(rows):
    found = {finding.claim: finding.holds for finding in folders.findings(rows)}
    assert found["no case more than 1 point below k-means"] is False
    assert found["3 points above k-means, mean over cases"] is True
    assert found["no run 0.03 below k-means without a warning"] is False
    assert found["estimate within 0.05 of ACC in 10 of 12 cases"] is True
    assert found["digits: mean ACC at least 0.97, no seed of 10 below 0.95"] is False
    assert found["Consensus is better than C3Adaptive, mean over cases"] is True
    assert found["Consensus is better than prior even, mean over cases"] is True
    assert not any("as published" in claim for claim in found)
    few = {finding.claim: finding.holds for finding in folders.findings(rows[:3])}
    assert few["no case more than 1 point below k-means"] is None
    assert few["estimate within 0.05 of ACC in 10 of 12 cases"] is None


def test_the_figure_is_drawn_from_the_file_alone(rows, tmp_path):
    pytest.importorskip("matplotlib")
    write_rows(tmp_path / "folders.csv", rows)
    files = paper.redraw("folders", tmp_path)
    assert [file.name for file in files] == ["folders.md", "folders.png", "folders.pdf"]
    figure = folders.draw(read_rows(tmp_path / "folders.csv"))
    left, right = figure.get_axes()
    assert [text.get_text() for text in left.get_yticklabels()][:2] == ["digits", "dogs"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["k-means", "C3Adaptive", "Consensus"]
    assert len(right.get_lines()[-1].get_xdata()) == 24


@pytest.fixture
def one_case(tmp_path, monkeypatch):
    """A study of one table of 60 rows, with k-means and Consensus alone."""

    def write(path):
        x = np.random.default_rng(0).normal(size=(60, 4)) + 6 * (np.arange(60) % 2)[:, None]
        cases._write_csv(path, [*"abcd", "label"], [[*line, i % 2] for i, line in enumerate(x.tolist())])

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(folders, "find_cases", lambda source: [cases.Case("blobs", 2, write, ".csv")])
    monkeypatch.setattr(folders, "COMPARED", ())
    monkeypatch.setattr(folders, "PARTS", {})
    return tmp_path


def test_a_study_is_run_resumed_and_interrupted(one_case, monkeypatch):
    pytest.importorskip("matplotlib")
    ended = []
    paper.make("folders", Setting(seeds=(0,)), one_case, 1, ended.append)
    assert [r.reason for r in ended if r.status != "ok"] == []
    simple, now = read_rows(one_case / "folders.csv")
    assert (simple["case"], simple["method"], now["method"], now["acc"]) == ("blobs", "k-means", "Consensus", 1)
    assert 0 < now["estimated_accuracy"] <= 1
    assert simple["estimated_accuracy"] == ""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        paper.make("folders", Setting(seeds=(0, 1)), one_case)
    assert len(read_rows(one_case / "folders.csv")) == 2
    assert "- 2 of 4 runs are not finished." in (one_case / "folders-table.md").read_text()


def test_umap_is_run_once_per_case_and_seed_and_its_rows_fit_the_table(tmp_path, monkeypatch):
    ran = []

    def scores(x, y, metric, seed):
        ran.append((x.shape, metric, seed))
        return {"acc": 0.5, "found": 7, "noise": 0.25}

    wine = [case for case in cases.find_cases("digits") if case.name == "wine"]
    monkeypatch.setattr(umap, "scores", scores)
    monkeypatch.setattr(umap, "installed", lambda: True)
    umap.run(wine, (0,), tmp_path, tmp_path / "features")
    assert [row["seed"] for row in umap.run(wine, (0, 1), tmp_path, tmp_path / "features")] == [0, 1]
    assert ran == [((178, 13), "euclidean", 0), ((178, 13), "euclidean", 1)]
    monkeypatch.setattr(folders, "find_cases", lambda place: wine)
    added = folders._umap_rows(Setting("digits", (0, 1), tmp_path))
    assert list(added[0]) == list(row("wine", folders.KMEANS, 0, 0.5))
    assert "| 0.500 (0.500) |" in folders.table([row("wine", folders.KMEANS, 0, 0.9), *added])


def test_without_umap_the_table_says_so(rows, tmp_path):
    assert umap.run(cases.find_cases("digits"), (0,), tmp_path, tmp_path) == []
    assert "UMAP + HDBSCAN is run where umap-learn is installed" in folders.table(rows)


def test_umap_finds_blobs():
    pytest.importorskip("umap")
    y = np.repeat([0, 1, 2], 60)
    x = np.eye(3)[y] * 9 + np.random.default_rng(0).normal(size=(180, 3))
    found = umap.scores(x, y, "euclidean", 0)
    assert found["acc"] > 0.9
    assert found["found"] == 3
