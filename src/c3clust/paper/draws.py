"""Draws: hundreds of tasks from all data at hand; the default beside simpler methods, and how good its estimate is.

`--data DIR` holds files NAME.npz with the features x [n, F], the classes y [n], the kind, and optionally `scaled`
(columns with a common scale); without it, built-in data are drawn from. Made-up mixtures are always added. A draw takes
some of the classes and samples of a data set, by its seed. Everything that is learned from draws is judged on a data
set, or a kind, that was left out. estimate.json has the coefficients that all draws give: copied to
src/c3clust/consensus/estimate.json, they are those of the package.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.cluster import AgglomerativeClustering

from c3clust import metrics
from c3clust.bench import Job
from c3clust.bench.format import markdown_table
from c3clust.bench.statistics import paired
from c3clust.consensus.members import kmeans, mixture
from c3clust.consensus.partition import partition
from c3clust.consensus.quality import estimate, signals
from c3clust.errors import InputError
from c3clust.features.vectors import lengths_alike, scale_rows
from c3clust.files.atomic import write_atomically
from c3clust.paper.calibration import as_json, judged, learned, set_weights
from c3clust.paper.setting import Setting
from c3clust.paper.values import Results, Rows, distinct, read_rows, select, write_rows

ORDER = 23
BUILT_IN = {"breast-cancer": "load_breast_cancer", "digits": "load_digits", "wine": "load_wine"}
SHAPES = ("round", "heavy tails", "skewed", "nested", "directions", "curved", "boxes")  # of made-up clusters
MOST = 1000  # samples of a draw
RATIOS = (3.0, 10.0)  # largest to smallest class, of every third draw
WRONG = (0.5, 0.67, 1.5, 2.0)  # times the number of classes, of every second draw once more
METHODS = ("default", "k-means", "Ward", "mixture", "UMAP + k-means")
ENOUGH, WORSE = 0.75, 0.03  # "All well" from this lower end on; ACC below k-means


@dataclass(frozen=True)
class Task:
    """Features x [n, F] with classes y [n]."""

    name: str
    kind: str
    seed: int
    x: np.ndarray
    y: np.ndarray
    scaled: bool


def jobs(setting: Setting) -> list[Job]:
    """None: draws are not data sets that a run could read, and are kept in draws.csv."""
    return []


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    """Run the draws that draws.csv lacks; write the table and the coefficients of the estimate."""
    path = out / "draws.csv"
    rows = read_rows(path) if path.is_file() else []
    done = {(row["name"], row["seed"]) for row in rows}
    for task in tasks(setting):
        if (task.name, task.seed) not in done:
            rows += scored(task)
            write_rows(path, rows)
    rows = read_rows(path)  # with the digits of the file, so that the same file gives the same results
    write_atomically(out / "draws-table.md", table(rows).encode())
    write_atomically(out / "estimate.json", as_json(learned(rows)).encode())
    return [path, out / "draws-table.md", out / "estimate.json"]


def tasks(setting: Setting) -> Iterator[Task]:
    """One task of each data set and made-up shape for each seed."""
    folder = Path(setting.data)
    files = sorted(folder.glob("*.npz"))
    if folder.is_dir() and not files:
        raise InputError(f"--data {folder} has no file NAME.npz with x, y and kind.")
    for seed in setting.seeds:
        for name in [path.stem for path in files] or BUILT_IN:
            yield drawn(_source(folder, name, bool(files)), seed)
        for i, shape in enumerate(SHAPES):
            yield made_up(shape, seed * len(SHAPES) + i)


def _source(folder: Path, name: str, stored: bool) -> Task:
    """A whole data set."""
    if not stored:
        x, y = getattr(sklearn.datasets, BUILT_IN[name])(return_X_y=True)
        return Task(name, "digits" if name == "digits" else "table", 0, x, y, True)
    with np.load(folder / f"{name}.npz") as file:
        if missing := {"x", "y", "kind"} - set(file.files):
            raise InputError(f"{folder / name}.npz has no {' and no '.join(sorted(missing))}.")
        return Task(name, str(file["kind"]), 0, file["x"], file["y"], "scaled" in file.files and bool(file["scaled"]))


def drawn(whole: Task, seed: int) -> Task:
    """Some classes for odd seeds, a tail of sizes for every third, fewer samples from the third seed on."""
    rng, classes = np.random.default_rng([seed, zlib.crc32(whole.name.encode())]), np.unique(whole.y)
    chosen = rng.permutation(classes)
    if seed % 2 == 1 and len(classes) > 2:
        chosen = chosen[: int(np.exp(rng.uniform(np.log(2), np.log(len(classes) + 1))))]
    sizes = np.array([(whole.y == c).sum() for c in chosen])
    if seed % 3 == 2:
        sizes = np.minimum(sizes, sizes.max() * rng.choice(RATIOS) ** -np.linspace(0, 1, len(sizes)))
    share = min(1, MOST / sizes.sum()) * (rng.uniform(0.4, 1) if seed >= 2 and sizes.sum() > 200 else 1)
    sizes = np.maximum(sizes * share, 4).astype(int)
    rows = [rng.permutation(np.flatnonzero(whole.y == c))[:size] for c, size in zip(chosen, sizes, strict=True)]
    index = np.sort(np.concatenate(rows))
    x, y = whole.x[index].astype(np.float32), np.unique(whole.y[index], return_inverse=True)[1]
    return Task(whole.name, whole.kind, seed, _standard(x) if whole.scaled else x, y, whole.scaled)


def made_up(shape: str, seed: int) -> Task:
    """A mixture of 2 to 15 clusters with that shape, of random sizes, width and separation."""
    rng = np.random.default_rng([seed, 1])
    K, F, apart = int(rng.integers(2, 16)), int(rng.integers(2, 40)), rng.uniform(2, 6)
    F = F * 10 if shape == "directions" else 2 if shape == "curved" else F
    sizes = rng.integers(40, 200) * rng.choice([1, 1, 3, 10]) ** -np.linspace(0, 1, K)
    y = np.repeat(np.arange(K), np.maximum(sizes * min(1, MOST / sizes.sum()), 4).astype(int))
    centres, noise = rng.normal(size=(K, F)), rng.normal(size=(len(y), F))
    centres *= apart / np.sqrt(2) * F**-0.2
    if shape == "heavy tails":
        noise /= np.sqrt(rng.chisquare(3, (len(y), 1)) / 3)
    elif shape == "skewed":
        noise = np.exp(0.8 * noise) - np.exp(0.32)
    elif shape == "boxes":
        noise = rng.uniform(-1.7, 1.7, noise.shape)
    elif shape == "nested":
        centres = centres / 2 + rng.normal(size=(-(-K // 3), F)).repeat(3, axis=0)[:K] * apart
    elif shape == "directions":
        noise *= rng.uniform(0.7, 1.3, (K, 1))[y] * apart / 3
    elif shape == "curved":
        angle = rng.uniform(0, np.pi, len(y))
        noise = 0.1 * noise + np.c_[np.cos(angle), np.sin(angle) - 0.5 * (y % 2)] * (1 - 2 * (y % 2))[:, None]
        centres = np.c_[np.arange(K), np.zeros(K)]
    x = (centres[y] + noise).astype(np.float32)
    scaled = shape != "directions"
    return Task(f"made-up {shape}", "made-up", seed, _standard(x) if scaled else x, y, scaled)


def _standard(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; constant ones 0."""
    return ((x - x.mean(0)) / np.maximum(x.std(0), 1e-6)).astype(np.float32)


def scored(task: Task) -> Rows:
    """ACC of all methods with K given; for every second seed also that of the default with a wrong K."""
    K, sizes = int(task.y.max()) + 1, np.bincount(task.y)
    z = scale_rows(task.x, not task.scaled and lengths_alike(task.x))[0]
    about: dict[str, Any] = {"name": task.name, "kind": task.kind, "seed": task.seed, "n": len(z), "K": K}
    about["ratio"] = float(sizes.max() / sizes.min())
    wrong = round(K * np.random.default_rng([task.seed, 2]).choice(WRONG))
    asked = [K, wrong] if task.seed % 2 == 0 and wrong != K and 2 <= wrong <= len(z) // 4 else [K]
    return [about | _row(task, z, each) for each in asked]


def _row(task: Task, z: np.ndarray, asked: int) -> dict[str, Any]:
    """The columns of one number of clusters; methods other than the default have only the right one."""
    found = partition(task.x, z, asked, "auto", task.seed)
    about, (low, high) = estimate(found, z)
    row = dict.fromkeys(METHODS, "") | {"default": metrics.acc(task.y, found.labels)}
    if asked == task.y.max() + 1:
        others = {"k-means": found.members["k-means"], "Ward": AgglomerativeClustering(asked).fit_predict(z)}
        others |= {"mixture": mixture(task.x, asked, task.seed)}
        others |= {"UMAP + k-means": _umap(task, asked)} if find_spec("umap") else {}
        row |= {name: metrics.acc(task.y, labels) for name, labels in others.items()}
    return {"asked": asked, **row, **signals(found), "estimate": about, "low": low, "high": high}


def _umap(task: Task, K: int) -> np.ndarray:
    from umap import UMAP

    return kmeans(UMAP(random_state=task.seed, n_jobs=1).fit_transform(task.x), K, task.seed, n_init=10).labels_


def table(rows: Rows) -> str:
    """Mean ACC by kind over data sets, the differences to the default, and how good the estimate is where left out."""
    given = [row for row in rows if row["asked"] == row["K"]]
    names, kinds = [name for name in METHODS if any(row[name] != "" for row in given)], distinct(given, "kind")
    lines = []
    for kind, here in [("all", given), *((kind, select(given, kind=kind)) for kind in kinds)]:
        sets = len(distinct(here, "name"))
        lines.append([kind, f"{sets}", f"{len(here)}", *(f"{_mean(here, name):.3f}" for name in names)])
    text = markdown_table(["kind", "data sets", "draws", *names], lines) + "\n"
    for name in names[1:]:
        text += f"- default - {name}: {_difference(given, name)}, 95 % interval over data sets.\n"
    for group, what in (("name", "data set"), ("kind", "kind")):
        if len(distinct(given, group)) > 2:
            text += f"- Estimate with the {what} left out: {_quality(judged(rows, group))}.\n"
    return text


def _by_set(rows: Rows, name: str) -> list[float]:
    """The mean of each data set that has a value."""
    known = [row for row in rows if row[name] != ""]
    return [float(np.mean([row[name] for row in select(known, name=each)])) for each in distinct(known, "name")]


def _mean(rows: Rows, name: str) -> float:
    return float(np.mean(values)) if (values := _by_set(rows, name)) else np.nan


def _difference(rows: Rows, name: str) -> str:
    both = [row for row in rows if row[name] != ""]
    return str(paired(_by_set(both, "default"), _by_set(both, name)))


def _quality(rows: Rows) -> str:
    """Error, bias and coverage, each data set weighted equally; how often the lower end says that all is well."""
    weight, acc = set_weights(rows), np.array([row["default"] for row in rows])
    error = np.array([row["estimate"] for row in rows]) - acc
    inside = [row["low"] <= row["default"] <= row["high"] for row in rows]
    well = [row for row in rows if row["low"] >= ENOUGH]
    low = sum(row["default"] < ENOUGH for row in well)
    below = sum(row["default"] < row["k-means"] - WORSE for row in well)
    return (
        f"mean absolute error {weight @ abs(error):.3f}, bias {weight @ error:+.3f}, the 90 % interval covers "
        f"{weight @ inside:.1%}; lower end at least {ENOUGH} in {len(well)} draws, of which {low} have a lower ACC and "
        f"{below} are {WORSE} below k-means"
    )
