"""Files from strangers: each reader gives a result or one of our own exceptions, whatever the bytes.

Real files of every kind are made once. Each case damages one of them: bits are flipped, parts are cut, doubled, swapped
or overwritten, values of JSON documents are replaced; hashes are made right again, so that the damage is not noticed
before it is read. Another test feeds bytes that hypothesis invents.
"""

import csv
import gzip
import io
import json
import pickle
import random
import struct
import tarfile
import warnings
import zipfile
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from c3clust import CC, data, load, report
from c3clust.data.sources import cifar
from c3clust.data.sources.idx import read_idx
from c3clust.errors import C3ClustError
from c3clust.files import model_io
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.report.view import View
from c3clust.runs import RunConfig
from c3clust.training.checkpoint import Checkpoints, TrainingState

STRANGE = [
    None, True, -1, 0, 2**31, 10**30, 1e308, -0.5, "", "\0", "../../etc/passwd", "x" * 5000, [], {}, [[[]]], {"a": 1},
    [1, "a", None], float("nan"), "digits",
]  # fmt: skip

VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
DOCUMENTS = st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)).map(
    lambda value: json.dumps(value).encode()
)


def network():
    return torch.nn.Linear(3, 2)


def training():
    net = network()
    optimisers = {"loss": torch.optim.Adam(net.parameters())}
    return TrainingState(net, optimisers, None, torch.Generator(), np.zeros((1, 3)), (3,))


def jpeg(format="JPEG", **options):
    out = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (12, 10, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, format, **options)
    return out.getvalue()


def make_all(folder):
    """name -> (files that are damaged in turn, how they are read)."""
    x = np.random.default_rng(0).random((12, 4)).astype(np.float32)
    model = CC(n_clusters=2, epochs=0, projection_dim=2, random_state=0).fit(x)
    model.save(folder / "model")
    RunRecord(
        "c3", 2, {"zeta": 0.6}, 0, {"n": 12, "place": "x"}, stages=[{"name": "c3", "curves": {"loss": [1.0]}}]
    ).write(folder / "record.json")
    RunConfig("cc", {}, 0, {"n": 12}).write(folder)
    net = training()
    net.network(torch.ones(1, 3)).sum().backward()
    net.optimisers["loss"].step()
    net.epoch, net.curves["loss"] = 1, [0.5]
    (folder / "checkpoint").mkdir()
    model_io.write(folder / "checkpoint" / "0-00001-000000", *net.snapshot())
    Checkpoints(folder).save_end(1, net.network, net, {"name": "cc", "curves": {}})
    edited = {"format": 1, "operations": [{"op": "label", "names": {"0": "cats"}}, {"op": "merge", "clusters": [0, 1]}]}
    (folder / "edits.json").write_text(json.dumps(edited))
    pictures = np.random.default_rng(0).integers(0, 256, (12, 3, 6, 6), dtype=np.uint8)
    labels = np.arange(12) % 2
    report.build(pictures, x, labels, np.ones(12), [str(i) for i in range(12)], n_clusters=2, seed=0).write(folder)
    Assignments([str(i) for i in range(12)], labels, np.ones(12)).write(folder / "assignments.csv")
    return _readers(folder) | _sources(folder, x, pictures)


def _readers(folder):
    def checkpoint():
        Checkpoints(folder).restore(0, training())
        Checkpoints(folder).restore_end(1, network(), torch.Generator())

    model = ["model/model.json", "model/model.safetensors"]
    ends = ["0-00001-000000", "1-end"]
    return {
        "model": (model, lambda: load(folder / "model").predict(np.zeros((2, 4)))),
        "record": (["record.json"], lambda: RunRecord.read(folder / "record.json")),
        "request": (["request.json"], lambda: RunConfig.read(folder)),
        "checkpoint": ([f"checkpoint/{e}.{k}" for e in ends for k in ("json", "safetensors")], checkpoint),
        "edits": (["edits.json"], lambda: Edits.read(folder, 2).apply([0, 1])),
        "view": (["view.npz"], lambda: View.read(folder)),
        "page": (["record.json", "edits.json"], lambda: report.render(folder)),
        "assignments": (["assignments.csv"], lambda: Assignments.read(folder)),
    }


def _sources(folder, x, pictures):
    one = {"image_size": 8, "workers": 1, "max_bad": 0.5}
    for name in ("images", "manifest"):
        (folder / name).mkdir()
    images = []
    for name, content in {
        "a.jpg": jpeg(), "b.png": jpeg("PNG"), "c.gif": jpeg("GIF"), "d.webp": jpeg("WEBP"), "e.bmp": jpeg("BMP"),
        "f.tif": jpeg("TIFF"), "g.ppm": jpeg("PPM"), "h.jpg": jpeg(progressive=True),
        "i.tif": jpeg("TIFF", compression="tiff_lzw"),
    }.items():  # fmt: skip
        (folder / "images" / name).write_bytes(content)
        images.append(f"images/{name}")
    with open(folder / "manifest" / "list.csv", "w", newline="") as file:
        csv.writer(file).writerows([("path", "label"), *(("../" + name, "a") for name in images)])
    with tarfile.open(folder / "a.tar", "w") as plain, tarfile.open(folder / "a.tar.gz", "w:gz") as packed:
        for name in images[:3]:
            plain.add(folder / name, name)
            packed.add(folder / name, name)
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in images[:3]:
            packed.write(folder / name, name)
    np.save(folder / "x.npy", x)
    np.savez(folder / "x.npz", x=pictures, y=np.arange(12))
    idx = struct.pack(">BBBBIII", 0, 0, 8, 3, 4, 5, 5) + bytes(range(100))
    (folder / "i.idx").write_bytes(idx)
    (folder / "i.idx.gz").write_bytes(gzip.compress(idx))
    binary, pickled = cifar.VERSIONS[0], next(v for v in cifar.VERSIONS if v.label_key)
    pixels = np.zeros((2, 3072), dtype=np.uint8)
    names = {b"labels": [0, 1], b"fine_labels": [0, 1], b"coarse_labels": [0, 1], b"filenames": [b"a", b"b"]}
    (folder / "batch").write_bytes(pickle.dumps({b"data": pixels, b"batch_label": b"x", **names}, 2))
    (folder / "batch.bin").write_bytes(bytes(2 * 3073))
    batch, records = folder / "batch", folder / "batch.bin"
    return {
        "images": (images, lambda: data.load(folder / "images", **one)),
        "manifest": (["manifest/list.csv"], lambda: data.load(folder / "manifest" / "list.csv", **one, outside=True)),
        "tar": (["a.tar"], lambda: data.load(folder / "a.tar", **one)),
        "tar.gz": (["a.tar.gz"], lambda: data.load(folder / "a.tar.gz", **one)),
        "zip": (["a.zip"], lambda: data.load(folder / "a.zip", **one)),
        "npy": (["x.npy"], lambda: data.load(folder / "x.npy")),
        "npz": (["x.npz"], lambda: data.load(folder / "x.npz")),
        "idx": (["i.idx", "i.idx.gz"], lambda: (read_idx(folder / "i.idx"), read_idx(folder / "i.idx.gz"))),
        "cifar": (["batch"], lambda: cifar._parse_pickle(batch.read_bytes(), pickled, "batch")),
        "cifar.bin": (
            ["batch.bin"],
            lambda: cifar._parse_binary(records.read_bytes(), binary, "batch"),
        ),
    }


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    made = make_all(folder)
    files = {name: (folder / name).read_bytes() for paths, _ in made.values() for name in paths}
    return SimpleNamespace(folder=folder, made=made, files=files)


def damaged(content, draw):
    """Other bytes than these."""
    b = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        i, j = sorted((draw.randrange(len(b) + 1), draw.randrange(len(b) + 1)))
        how = draw.randrange(8)
        if how == 0 and b:
            b[draw.randrange(len(b))] ^= 1 << draw.randrange(8)
        elif how == 1:
            del b[i:]
        elif how == 2:
            del b[i : min(j, i + 9)]
        elif how == 3:
            b[i:i] = b[i : min(j, i + 64)]
        elif how == 4:
            b[i : i + 4] = draw.choice([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f"])
        elif how == 5:
            b[i:i] = draw.randbytes(draw.randrange(1, 30))
        elif how == 6 and b:
            head = draw.randrange(min(len(b), 64))  # headers decide most
            b[head] = draw.randrange(256)
        elif how == 7:
            b[i:j] = draw.randbytes(min(j - i, 40))
    return bytes(b)


def damaged_json(content, draw):
    """A document with one value replaced, removed or added, somewhere."""
    document = json.loads(content)
    if set(document) >= {"plain", "sha256"}:  # of a checkpoint, whose hash is made right by `sealed`
        return json.dumps(document | {"plain": damaged_json(document["plain"], draw).decode()}).encode()
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.4:
            break
        place = place[key]
    if draw.random() < 0.2:
        del place[key]
    else:
        place[key] = draw.choice(STRANGE)
    return json.dumps(document).encode()


def sealed(name, folder):
    """Make the hash in a model.json or a checkpoint's JSON right for what lies beside it."""
    path = folder / name
    meta = path.parent / "model.json" if "model" in name else path.with_suffix(".json")
    weights = (path.parent / "model.safetensors" if "model" in name else path.with_suffix(".safetensors")).read_bytes()
    try:
        document = json.loads(meta.read_bytes())
        content = {name: value for name, value in document.items() if name not in ("format", "sha256")}
        meta.write_text(json.dumps(document | {"sha256": model_io._digest(weights, content)}))
    except (ValueError, KeyError, TypeError, AttributeError):
        pass


def attempt(readers, kind, seed):
    """Damage, read, repair: how it ended."""
    draw = random.Random(f"{kind} {seed}")
    paths, read = readers.made[kind]
    name = draw.choice(paths)
    whole = readers.files[name]
    as_json = name.endswith(".json") and draw.random() < 0.7
    (readers.folder / name).write_bytes(damaged_json(whole, draw) if as_json else damaged(whole, draw))
    if kind in ("model", "checkpoint") and draw.random() < 0.8:
        sealed(name, readers.folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read()
        return "read"
    except C3ClustError as error:
        return type(error).__name__ if "\n" not in str(error).strip() else "an error of several lines"
    except Exception as error:
        raise AssertionError(f"{kind}, seed {seed}: {type(error).__name__}: {error}") from error
    finally:
        for path in paths:
            (readers.folder / path).write_bytes(readers.files[path])
        for path in readers.files:
            if kind in ("model", "checkpoint") and path.startswith(kind) and not (readers.folder / path).exists():
                (readers.folder / path).write_bytes(readers.files[path])


def every(readers, cases):
    outcomes = Counter()
    kinds = list(readers.made)
    for case in range(cases):
        kind = kinds[case % len(kinds)]
        outcomes[kind, attempt(readers, kind, case)] += 1
    return outcomes


def test_whole_files_are_read(readers):
    for _, read in readers.made.values():
        read()


def test_damaged_files(readers):
    outcomes = every(readers, 300)
    assert len({outcome for _, outcome in outcomes}) > 1
    assert not any("several lines" in outcome for _, outcome in outcomes)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_damaged_files(readers):
    outcomes = every(readers, 10_200)
    for key, count in sorted(outcomes.items()):
        print(*key, count)
    assert not any("several lines" in outcome for _, outcome in outcomes)


@pytest.mark.parametrize("kind", ["record", "request", "edits", "checkpoint", "assignments", "idx", "images", "cifar"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=st.binary(max_size=200) | DOCUMENTS)
def test_invented_bytes(readers, kind, content):
    paths, read = readers.made[kind]
    name = paths[0]
    try:
        (readers.folder / name).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read()
    except C3ClustError:
        pass
    finally:
        for path in paths:
            (readers.folder / path).write_bytes(readers.files[path])


def test_a_checkpoint_asks_for_no_more_memory_than_it_brings(tmp_path):
    model_io.write(tmp_path / "s", {}, {"a": torch.zeros(2)})
    weights = bytearray((tmp_path / "s.safetensors").read_bytes())
    weights[:] = weights.replace(b'"shape":[2]', b'"shape":[9999999999999]')
    (tmp_path / "s.safetensors").write_bytes(weights)
    sealed("s.safetensors", tmp_path)
    with pytest.raises(C3ClustError):
        model_io.read(tmp_path / "s", "checkpoint")
