"""Whole commands on mutated run folders, models, checkpoints, archives and tables.

Each case is a process of its own that runs `c3clust WORDS` in a copy of a folder in which one file was changed, or two
such processes at the same time, which write into one run. To spare the start of Python and torch, these processes are
forked from one that has imported everything. A case must end with code 0 or with 2 and one sentence, within 60 s of the
processor, with less than 2 GB, and must leave everything beside its folder as it was: the parent folder is compared
before and after.
"""

import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file

from c3clust import CC, data
from c3clust.files import model_io
from c3clust.runs import Run
from c3clust.training.checkpoint import Checkpoints

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
HAS_ARROW = find_spec("pyarrow") is not None
SECONDS, BYTES = 60, 2 * 2**30
WAIT = 10  # times as long on the wall, for a busy machine
SERVER = """
import json, os, resource, signal, sys
import torch
from c3clust import cli
torch.set_num_threads(1)

def command(words):
    sys.argv = ["c3clust", *words]
    try:
        cli.main()
    except SystemExit as stop:
        return stop.code or 0
    return 0

def quietly(log):
    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(number, 1)
    os.dup2(number, 2)

out = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    here, folder, log, words = json.loads(line)
    if here:  # to import what the command needs
        os.chdir(folder)
        quietly(log)
        for each in words if isinstance(words[0], list) else [words]:
            command(each)
        sys.stdout.flush()
        print(json.dumps([[0, 0]]), file=out, flush=True)
        continue
    pids = {}
    for number, each in enumerate(words if isinstance(words[0], list) else [words]):
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            signal.alarm(WAIT * SECONDS)
            os.chdir(folder)
            quietly(log + str(number))
            code = command(each)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code if isinstance(code, int) else 99)
        pids[pid] = number
    ends = {}
    while pids:
        pid, status, usage = os.wait3(0)
        ends[pids.pop(pid)] = [os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024]
    print(json.dumps([ends[number] for number in sorted(ends)]), file=out, flush=True)
""".replace("SECONDS", str(SECONDS)).replace("WAIT", str(WAIT))

STRANGE = [
    None, True, -1, 0, 0.5, 2**31, 10**30, 1e308, "", "\0", "../outside/letter.txt", "x" * 5000, [], {}, [[[]]],
    {"a": 1}, [1, "a", None], float("nan"), "digits", "\x1b[2J", "\ud800", "~nobody/x", "st:../outside", "cuda:99",
    "=1+1",
]  # fmt: skip
LONG = (2**31, 10**30, 1e308)  # as a parameter of training, a request that would be followed for years


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """PARENT/whole: the files of all cases. PARENT/outside: what no case may touch."""
    parent = tmp_path_factory.mktemp("fuzz")
    whole, rng = parent / "whole", np.random.default_rng(0)
    for name in ("outside", "whole/photos/a", "whole/photos/b"):
        (parent / name).mkdir(parents=True)
    (parent / "outside" / "letter.txt").write_text("mine")
    (parent / "outside" / "0-end.json").write_text("mine")
    for i in range(12):
        pixels = rng.integers(0, 90, (8, 8)) + (150 if i % 2 else 0)
        Image.fromarray(pixels.astype(np.uint8)).save(whole / "photos" / "ab"[i % 2] / f"{i}.png")
    with tarfile.open(whole / "a.tar", "w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "a"}) as packed:
        for path in sorted((whole / "photos").rglob("*.png")):
            packed.add(path, path.name)
    with tarfile.open(whole / "a.tar.gz", "w:gz") as packed, zipfile.ZipFile(whole / "a.zip", "w") as zipped:
        for path in sorted((whole / "photos").rglob("*.png")):
            packed.add(path, path.name)
            zipped.write(path, path.name)
    x = rng.random((12, 4)).astype(np.float32)
    np.save(whole / "x.npy", x)
    np.savez(whole / "x.npz", x=rng.random((12, 6, 6)), y=np.arange(12) % 2)
    lines = ["age,town,size", *(f"{20 + i},{'ab'[i % 2]},{i * 0.5}" for i in range(12))]
    (whole / "people.csv").write_text("\n".join(lines) + "\n")
    (whole / "list.csv").write_text("path,label\n" + "".join(f"photos/{'ab'[i % 2]}/{i}.png,a\n" for i in range(12)))
    _arrow(whole, x)
    _unfinished(whole, x)
    return parent


def _arrow(whole, x):
    """Embeddings and images in Parquet files, and a folder of `save_to_disk`; only where pyarrow is installed."""
    if not HAS_ARROW:
        return
    import pyarrow
    from pyarrow import parquet

    images = [path.read_bytes() for path in sorted((whole / "photos").rglob("*.png"))]
    parquet.write_table(pyarrow.table({"embedding": x.tolist(), "label": [0, 1] * 6}), whole / "x.parquet")
    table = pyarrow.table({"image": images, "label": [0, 1] * 6})
    parquet.write_table(table, whole / "i.parquet")
    (whole / "saved").mkdir()
    with pyarrow.ipc.new_stream(whole / "saved" / "a.arrow", table.schema) as stream:
        stream.write_table(table)
    (whole / "saved" / "dataset_info.json").write_text("{}")
    (whole / "saved" / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))


def _unfinished(whole, x):
    """A run of CC that was killed after its second epoch."""
    save = Checkpoints.save

    def stop(self, stage, training):
        save(self, stage, training)
        if training.epoch == 2:
            raise KeyboardInterrupt

    params = {"epochs": 3, "batch_size": 6, "projection_dim": 2, "random_state": 0}
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(Checkpoints, "save", stop)
        CC(2, **params).fit(data.load(whole / "x.npy"), run_dir=Run(whole / "begun", source=str(whole / "x.npy")))


class Commands:
    """The process that forks, and the folder in which the cases run."""

    def __init__(self, parent):
        self.parent, self.folder, self.log = parent, parent / "case", parent / "log.txt"
        environment = os.environ | {
            "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "TMPDIR": str(self.folder / "tmp"), "HF_HUB_OFFLINE": "1",
            "C3CLUST_DATA": str(self.folder),
        }  # fmt: skip
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
        self.server = subprocess.Popen([sys.executable, "-c", SERVER], **pipes)

    def __call__(self, words, here=False):
        """[code, bytes, what was printed] of each process."""
        several = isinstance(words[0], tuple)
        sent = [list(map(str, each)) for each in words] if several else list(map(str, words))
        self.server.stdin.write(json.dumps([here, str(self.folder), str(self.log), sent]) + "\n")
        self.server.stdin.flush()
        ends = json.loads(self.server.stdout.readline())
        return [[*end, Path(f"{self.log}{i}").read_bytes() if not here else b""] for i, end in enumerate(ends)]

    def fresh(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.parent / "whole", self.folder)
        (self.folder / "tmp").mkdir()


@pytest.fixture(scope="module")
def commands(place):
    run = Commands(place)
    run.fresh()
    first = ("fit", "photos", "-k", 2, "--labels", "folders", "--method", "kmeans", "-o", "run", "-q", "--workers", 1)
    assert run(first)[0][0] == 0, run(first)
    shutil.copytree(run.folder / "run", place / "whole" / "run")
    run.fresh()
    for _, words in KINDS.values():
        run(words, here=True)
    run.fresh()
    yield run
    run.server.stdin.close()
    run.server.wait()
    run.server.stdout.close()


FIT = ("-k", 2, "--method", "kmeans", "-q", "--workers", 1, "-o", "new")
PREDICT, RESUME = ("predict", "run", "photos", "--workers", 1), ("resume", "begun", "--source", "x.npy", "-q")
EXPORT = ("export", "run", "--to", "out")
KINDS = {  # kind of case -> (files one of which is changed, the command)
    "predict": (["run/model.json", "run/model.safetensors", "run/edits.json"], PREDICT),
    "report": (["run/record.json", "run/view.npz", "run/edits.json", "run/report.html"], ("report", "run")),
    "evaluate": (["run/record.json", "run/assignments.csv", "run/labels.csv", "run/edits.json"], ("evaluate", "run")),
    "label": (["run/record.json", "run/view.npz", "run/edits.json"], ("label", "run", "0=cats")),
    "export": (["run/record.json", "run/assignments.csv", "run/edits.json"], EXPORT),
    "export from": (["run/record.json", "run/assignments.csv"], (*EXPORT, "--source", "photos")),
    "resume": (["begun/request.json", "begun/lock", "begun/checkpoint"], RESUME),
    "resume it": (["begun/checkpoint/*.json", "begun/checkpoint/*.safetensors"], RESUME),
    "fit": (["a.tar.gz"], ("fit", "a.tar.gz", *FIT)),
    "fit tar": (["a.tar"], ("fit", "a.tar", *FIT)),
    "fit zip": (["a.zip"], ("fit", "a.zip", *FIT)),
    "fit array": (["x.npz"], ("fit", "x.npz", *FIT)),
    "fit table": (["people.csv"], ("fit", "people.csv", *FIT)),
    "fit list": (["list.csv"], ("fit", "list.csv", *FIT)),
    "view": (["run/view.npz"], ("report", "run")),
    "tensors": (["run/model.safetensors"], PREDICT),
    "two writers": (["run/edits.json", "run/view.npz"], (("label", "run", "0=cats"), ("merge", "run", "0", "1"))),
    "two undo": (["run/edits.json", "run/record.json"], (("undo", "run"), ("split", "run", "0"))),
}  # fmt: skip
if HAS_ARROW:
    KINDS |= {
        "fit parquet": (["x.parquet"], ("fit", "x.parquet", *FIT)),
        "fit images": (["i.parquet"], ("fit", "i.parquet", *FIT)),
        "fit arrow": (["saved/a.arrow", "saved/a.arrow", "saved/state.json"], ("fit", "saved", *FIT)),
    }


def damaged(content, draw):
    """Bytes with a few changes."""
    content = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 3, 10))):
        at = draw.randrange(len(content) + 1)
        how = draw.randrange(5)
        if how == 0 and at < len(content):
            content[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            del content[at : at + draw.choice((1, 4, len(content)))]
        elif how == 2:
            content[at:at] = draw.randbytes(draw.choice((1, 4, 64)))
        elif how == 3:
            content[at : at + 8] = draw.choice((bytes(8), b"\xff" * 8, b"-1,=,\x1b[2", b'"\n"\n","\r'))
        else:
            other = draw.randrange(len(content) + 1)
            content[at:at] = content[other : other + 50]
    return bytes(content)


def replaced(content, draw, training):
    """A document with one value replaced, removed or added somewhere."""
    document = json.loads(content)
    place, inside = document, []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return json.dumps({"a": document}).encode()
        key = draw.choice(keys)
        inside.append(key)
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.3:
            break
        place = place[key]
    new = draw.choice([value for value in STRANGE if not (training and value in LONG)])
    if draw.random() < 0.2:
        del place[key]
    elif isinstance(place, dict) and draw.random() < 0.1:
        place["unknown"] = new
    else:
        place[key] = new
    return json.dumps(document).encode()


def other_array(x, draw):
    """An array with other values, of another type or shape."""
    how = draw.randrange(5)
    if how == 0:
        return x.astype(draw.choice(["f2", "f4", "f8", "i1", "i8", "u1", "u8", "?"]))
    if how == 1:
        return draw.choice((x[:-1], x[:0], x[..., None], x.reshape(-1), x.repeat(2, axis=0))) if x.ndim else x[None]
    x = np.array(x, copy=True)
    if x.size:
        few = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        strange = (0, 1, few.min, few.max) if few else (0, 1, True) if x.dtype.kind == "b" else (0, -1, np.nan, np.inf)
        chosen = slice(None) if how == 2 else draw.randrange(x.size)
        if x.dtype.kind in "iufb":
            x.reshape(-1)[chosen] = draw.choice(strange)
    return x


def other_arrays(path, draw):
    """A view.npz or a model.safetensors, as a program could have written it, in which one array is another."""
    arrays = load_file(path) if path.suffix == ".safetensors" else dict(np.load(path, allow_pickle=False))
    name = draw.choice(sorted(arrays))
    if draw.random() < 0.1:
        del arrays[name]
    elif draw.random() < 0.1:
        arrays["unknown"] = arrays[name]
    else:
        arrays[name] = np.ascontiguousarray(other_array(arrays[name], draw))
    save_file(arrays, path) if path.suffix == ".safetensors" else np.savez(path, **arrays)


TAR_FIELDS = [(0, 100), (100, 8), (108, 8), (124, 12), (136, 12), (156, 1), (157, 100), (257, 8), (345, 155)]


def tar_header(content, draw):
    """A tar with one field of one header changed, and the checksum right again."""
    content = bytearray(content)
    at = draw.choice([i for i in range(0, len(content), 512) if content[i + 257 : i + 262] == b"ustar"])
    first, length = draw.choice(TAR_FIELDS)
    new = draw.choice(
        (bytes(length), b"\xff" * length, b"7" * length, b"\x80" + b"\xff" * length, draw.randbytes(length))
    )
    new = draw.choice(
        (b"../../outside/letter.txt", b"/etc/passwd", b"L", b"K", b"x", b"g", b"S", b"1", b"2", b"5", new)
    )
    content[at + first : at + first + length] = new[:length].ljust(length, b"\0")
    content[at + 148 : at + 156] = b" " * 8
    content[at + 148 : at + 156] = b"%06o\0 " % sum(content[at : at + 512])
    return bytes(content)


def seal(path):
    """Make the hash of a model or a checkpoint right, so that the change is not noticed before it is read."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        meta, weights = (path.with_suffix(ending) for ending in (".json", ".safetensors"))
        document = json.loads(meta.read_bytes())
        content = {name: value for name, value in document.items() if name not in ("format", "sha256")}
        meta.write_text(json.dumps(document | {"sha256": model_io._digest(weights.read_bytes(), content)}))


def mutate(folder, kind, draw):
    """Change one file of a kind of case; what was done."""
    pattern = draw.choice(KINDS[kind][0])
    path = draw.choice(sorted(folder.glob(pattern)) or [folder / pattern])
    outside, how = folder.parent / "outside", draw.random()
    if how < 0.08 or not path.is_file():
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        what = draw.choice(("link", "linked folder", "pipe", "folder", "nothing", "noise"))
        if "link" in what:
            path.symlink_to(outside if what == "linked folder" else outside / "letter.txt")
        elif what == "pipe":
            os.mkfifo(path)
        elif what == "folder":
            path.mkdir()
        elif what == "noise":
            path.write_bytes(draw.randbytes(100))
        return f"{path.name}: {what}"
    content = path.read_bytes()
    if path.suffix in (".npz", ".safetensors") and path.parent.name == "run" and how < 0.7:
        other_arrays(path, draw)
    elif path.suffix == ".tar" and how < 0.8:
        path.write_bytes(tar_header(content, draw))
    elif path.suffix == ".json" and how < 0.75:
        path.write_bytes(replaced(content, draw, path.name == "request.json"))
    elif path.suffix == ".json" and how < 0.8:
        path.write_text("[" * draw.choice((10, 100_000)))
    else:
        path.write_bytes(damaged(content, draw))
    if draw.random() < 0.9:
        seal(path)
    return f"{path.name}: changed"


def listing(parent):
    """Everything beside the case: names, kinds and content."""
    found = {}
    for path in sorted(parent.rglob("*")):
        if not path.is_relative_to(parent / "case") and not path.name.startswith("log.txt"):
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (path.lstat().st_mode, hashlib.sha256(content).hexdigest())
    return found


def fuzz(commands, cases, first=0):
    before, outcomes, faults, peak = listing(commands.parent), Counter(), [], 0
    for case in range(first, first + cases):
        kind = list(KINDS)[case % len(KINDS)]
        draw = random.Random(f"command {case}")
        commands.fresh()
        what = mutate(commands.folder, kind, draw)
        wrong = []
        for code, memory, printed in commands(KINDS[kind][1]):
            outcomes[kind, code] += 1
            wrong += [
                *([f"code {code}"] if code not in (0, 2) else []),
                *(["traceback"] if b"Traceback" in printed else []),
                *(["a bug"] if b"c3clust has a bug" in printed else []),
                *(["escape"] if b"\x1b" in printed and KINDS[kind][1] != PREDICT else []),
                *([f"{memory:,} bytes"] if memory > BYTES else []),
                *(["no sentence"] if code == 2 and b"c3clust: " not in printed.splitlines()[-1] else []),
            ]
            peak = max(peak, memory)
        wrong += ["outside"] if case % 20 == 19 and listing(commands.parent) != before else []
        if wrong:
            faults.append(f"case {case} ({kind}; {what}): {', '.join(wrong)}: {printed[-300:]!r}")
            print(faults[-1], flush=True)
        if case % 100 == 99:
            print(f"{case + 1 - first} cases, {len(faults)} faults, peak {peak / 2**20:.0f} MB", flush=True)
    assert listing(commands.parent) == before
    return outcomes, faults


def test_whole_commands_work(commands):
    for kind, (_, words) in KINDS.items():
        commands.fresh()
        assert {end[0] for end in commands(words)} <= {0, 2 if kind == "two undo" else 0}, (kind, commands(words))


def test_mutated_files(commands):
    outcomes, faults = fuzz(commands, 147)
    assert not faults, "\n".join(faults)
    assert {code for _, code in outcomes} == {0, 2}


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_five_thousand_mutated_files(commands):
    outcomes, faults = fuzz(commands, 5250, first=1000)
    for key, count in sorted(outcomes.items()):
        print(*key, count)
    assert not faults, "\n".join(faults)
