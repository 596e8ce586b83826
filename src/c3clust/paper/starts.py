"""The clusters that the studies `answers`, `checks` and `counts` start from: those of Consensus, fitted once.

Cases: two own ones, and those of the study `folders` (cases.py), of which `--data DIR` names the archives. If DIR has
files NAME-SEED.npz instead, each with z, c and y, these are added to the own ones.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from c3clust import __version__, data
from c3clust.errors import InputError
from c3clust.methods.consensus import Consensus
from c3clust.paper.cases import Case, find_cases
from c3clust.paper.people import Start
from c3clust.paper.setting import Setting

__all__ = ["File", "files", "read"]

SIZES = (300, 150, 80, 40, 20, 10)  # of the uneven mixture
File = tuple[str, int, Path]  # case, seed, file of its start


def files(setting: Setting, out: Path, estimated: bool = False) -> list[File]:
    """The starts of all cases and seeds. estimated: the number of clusters was not given."""
    given = list(_given(Path(setting.data)))
    cases = [*_own(), *([] if given else find_cases(setting.data))]
    return [*(_fitted(case, seed, out, estimated) for seed in setting.seeds for case in cases), *given]


def read(path: Path) -> Start:
    """The start that a file contains."""
    with np.load(path, allow_pickle=False) as found:
        missing = {"z", "c", "y"} - set(found.files)
        if missing:
            raise InputError(f"{path} lacks {', '.join(sorted(missing))}: it needs z [n, F], c [n, K] and y [n].")
        return Start(found["z"], found["c"].astype(np.float64), found["y"].astype(np.int64))


def _fitted(case: Case, seed: int, out: Path, estimated: bool) -> File:
    path = out / ("estimated" if estimated else "starts") / f"{case.name}-{seed}.npz"
    if not path.exists():
        samples = data.load(case.place(out / "cases"), **case.options)
        given = {"n_clusters": "auto" if estimated else case.n_clusters, "random_state": seed, **case.params}
        model = Consensus(**given).fit(samples, run_dir=out / "fits" / f"{path.parent.name}-{path.stem}")
        z, c = model.outputs_of_fit()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        y = np.unique(np.asarray(samples.y), return_inverse=True)[1]
        np.savez(part, z=z, c=c, y=y, made_by=f"Consensus of c3clust {__version__}")
        os.replace(part, path)
    return case.name, seed, path


def _own() -> list[Case]:
    return [
        Case("own-digits", 10, _write_digits, ".npz"),
        Case("own-mixture", len(SIZES), _write_mixture, ".npz"),
    ]


def _write_digits(path: Path) -> None:
    """The pixels as feature vectors."""
    x, y = load_digits(return_X_y=True)
    np.savez(path, x=x.astype(np.float32), y=y)


def _write_mixture(path: Path) -> None:
    """Six overlapping groups of very different sizes."""
    x, y = make_blobs(list(SIZES), 16, centers=None, cluster_std=2.5, center_box=(-3, 3), random_state=0)
    np.savez(path, x=x.astype(np.float32), y=y)


def _given(folder: Path) -> Iterator[File]:
    """The files NAME-SEED.npz of a folder."""
    for path in sorted(folder.glob("*.npz")) if folder.is_dir() else ():
        name, _, seed = path.stem.rpartition("-")
        if not name or not seed.isdecimal():
            raise InputError(f"{path} is not named NAME-SEED.npz, such as photos-0.npz. Rename or remove it.")
        yield name, int(seed), path
