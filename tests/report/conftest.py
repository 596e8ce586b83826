"""Finished runs to make pages of, from scikit-learn's digits, and a real browser."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from c3clust.records.record import RunRecord
from c3clust.report import Facts, View, build, findings, write


def make_stages(n_clusters: int, n: int) -> list[dict]:
    """Curves of two stages such as a healthy run has."""
    fall = np.exp(-np.arange(12) / 4)
    sizes = [[n // n_clusters] * n_clusters] * 12
    common = {"cluster_sizes": sizes, "learning_rate": [1e-4] * 12}
    cc = {"loss": (8 + 3 * fall).tolist(), "labels_changed": (0.01 + 0.6 * fall).tolist(), **common}
    c3 = {"loss": (-3 + 2 * fall).tolist(), "labels_changed": (0.01 * fall).tolist(), **common}
    c3["positives_per_view"] = (128 / n_clusters * (1 - fall) + 2).tolist()
    return [
        {"name": "cc", "epochs": 12, "seconds": 61.0, "curves": cc, "scores": {"acc": 0.7}},
        {"name": "c3", "epochs": 12, "seconds": 9.5, "curves": c3},
    ]


def make_quality(estimate: float = 0.9, prior: float = 1.0, source: str = "members", **comparison) -> dict:
    """`quality` of a record, as Consensus gives it."""
    found = {
        "agreement": 0.83, "kept": [0.85, 0.8], "supported": [0.9, 0.85], "simple_is_as_good": False, "doubtful": False
    }  # fmt: skip
    return {
        "estimated_accuracy": estimate,
        "interval": [max(estimate - 0.09, 0.0), min(estimate + 0.09, 1.0)],
        "prior": prior,
        "agreement": {"prior 1": 0.8, "prior 0.5": 0.85, "prior 0.25": 0.9},
        "source": "k-means" if comparison.get("simple_is_as_good") else source,
        "comparison": found | comparison,
    }


HEADS = [{"name": "heads", "epochs": 0, "seconds": 1.8, "curves": {}}]


def make_record(n_clusters: int = 10, n: int = 600, **changes) -> RunRecord:
    fields = {
        "method": "c3",
        "n_clusters": n_clusters,
        "params": {"n_clusters": n_clusters, "cc_batch_size": 128, "batch_size": 64, "zeta": 0.6, "gamma": 0.1},
        "seed": 0,
        "data": {
            "place": "digits",
            "n": n,
            "shape": [1, 8, 8],
            "content": "handwriting",
            "classes": None,
            "skipped": [],
        },
        "stages": make_stages(n_clusters, n),
        "seconds": 70.5,
        "scores": {"acc": 0.8, "nmi": 0.75, "ari": 0.7},
        "command": "c3clust fit digits -k 10",
        "created": "2026-01-02T03:04:05+00:00",
    }
    return RunRecord(**{**fields, **changes})


class Run:
    """A run folder and what it was made from."""

    def __init__(self, path, x, z, labels, confidence, names, y, view, record):
        self.path, self.x, self.z, self.labels, self.confidence = path, x, z, labels, confidence
        self.names, self.y, self.view, self.record = names, y, view, record

    @property
    def url(self) -> str:
        return (self.path / "report.html").as_uri()


def make_run(path: Path, x, y, names=None, classes=None, n_clusters: int = 10, pictures: bool = True, **record) -> Run:
    """Cluster x with k-means, and write the folder of a finished run."""
    path.mkdir(parents=True, exist_ok=True)
    n = len(x)
    flat = x.reshape(n, -1).astype(float)
    z = PCA(min(16, *flat.shape), random_state=0).fit_transform(flat - flat.mean(axis=0))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    kmeans = KMeans(n_clusters, n_init=1, random_state=0).fit(z)
    near = -(kmeans.transform(z) ** 2) * 8
    proba = np.exp(near - near.max(axis=1, keepdims=True))
    confidence = (proba / proba.sum(axis=1, keepdims=True)).max(axis=1)
    names = names or [f"digit {i:04d}.png" for i in range(n)]
    view = build(
        x if pictures else flat, z, kmeans.labels_, confidence, names, y, classes, n_clusters=n_clusters, max_map=400
    )
    made = make_record(n_clusters, n, **record)
    made.write(path / "record.json")
    view.write(path)
    with open(path / "assignments.csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "cluster", "confidence"])
        rows.writerows(zip(names, kmeans.labels_, confidence, strict=True))
    write(path, made, view)
    return Run(path, x, z, kmeans.labels_, confidence, names, y, view, made)


@pytest.fixture(scope="session")
def digits():
    """600 digits, [n, 1, 8, 8] uint8, and their classes."""
    data = load_digits()
    return (data.images[:600, None] * 15.9).astype(np.uint8), data.target[:600]


@pytest.fixture(scope="session")
def made(tmp_path_factory, digits) -> Run:
    """A finished run; not to be changed."""
    x, y = digits
    return make_run(tmp_path_factory.mktemp("digits") / "run", x, y, classes=[f"digit {i}" for i in range(10)])


@pytest.fixture
def run(tmp_path, made) -> Path:
    """A copy of the finished run's folder, to be changed."""
    return Path(shutil.copytree(made.path, tmp_path / "run"))


@pytest.fixture(scope="session")
def new_run():
    return make_run


@pytest.fixture(scope="session")
def new_record():
    return make_record


@pytest.fixture(scope="session")
def new_quality():
    return make_quality


@pytest.fixture
def kinds(new_record):
    """The findings by kind, for sizes and changes of the record."""

    def found(sizes=None, confidence=0.9, alike=(), distinct=None, noun="image", **changes):
        sizes = dict(enumerate(sizes or [60] * 10))
        record = new_record(len(sizes), sum(sizes.values()), **changes)
        facts = Facts(record, sizes, confidence, alike=alike, run="runs/a", noun=noun, distinct=distinct)
        return {finding.kind: finding for finding in findings(facts)}

    return found


@pytest.fixture(scope="session")
def guided(tmp_path_factory, digits) -> Run:
    """A run of C3 on features, whose quality is known; not to be changed."""
    x, y = digits
    quality, path = make_quality(0.86), tmp_path_factory.mktemp("guided") / "run"
    return make_run(path, x, y, quality=quality, stages=HEADS, scores=None)


@pytest.fixture(scope="session")
def small_view(digits) -> View:
    """A view of few points, quick to build."""
    x, y = digits
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 4))
    return build(x[:60], z, np.arange(60) % 4, rng.random(60), [str(i) for i in range(60)], y[:60], max_map=11)


@pytest.fixture
def visit(browser):
    """Open a page of a run; at the end of the test nothing may have gone wrong or out."""
    contexts, visited, faults, asked = [], [], [], []

    def open_page(url: str, width: int = 1280, height: int = 900, **options):
        options = {"color_scheme": "light", "reduced_motion": "reduce", **options}
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        visited.append(url)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on(
            "console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        page.wait_for_selector("#made")
        return page

    open_page.faults = faults
    yield open_page
    for context in contexts:
        context.close()
    assert [url[:120] for url in asked if url not in visited and not url.startswith("data:")] == []
    assert faults == []
