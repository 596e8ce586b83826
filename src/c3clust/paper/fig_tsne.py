"""The learned space before and after stage 2: t-SNE of z, CC beside C3, coloured by class."""

import numpy as np
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from c3clust import data, methods
from c3clust.bench import Job
from c3clust.paper.findings import Finding, enough
from c3clust.paper.setting import Setting
from c3clust.paper.style import CLASSES, PAGE, footer, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, select
from c3clust.report.layout import layout

ORDER = 1
POINTS = 2000


def jobs(setting: Setting) -> list[Job]:
    return [setting.start(setting.seeds[0]), setting.c3(setting.seeds[0])]


def rows(setting: Setting, results: Results) -> Rows:
    samples = data.load(setting.data, **results[0].job.options)
    if samples.y is None:
        return []
    index = np.sort(np.random.default_rng(0).permutation(len(samples))[:POINTS])
    classes = [str(k) for k in range(int(samples.y.max()) + 1)] if samples.classes is None else samples.classes
    found = []
    for result in results:
        z = methods.load_model(result.run).transform(samples.x[index])
        points, _ = layout(z, result.job.seed)
        for (x, y), k in zip(points.tolist(), samples.y[index], strict=True):
            found.append({"name": result.job.name, "seed": result.job.seed, "x": x, "y": y, "class": classes[k]})
    return found


def findings(rows: Rows) -> list[Finding]:
    seeds = len(distinct(rows, "seed"))
    measured = {name: _measures(select(rows, name=name)) for name in distinct(rows, "name")}
    apart, pure = ({name: pair[i] for name, pair in measured.items()} for i in (0, 1))
    return [
        Finding("C3's classes are more compact and further apart",
                f"silhouette in the map: {_listed(apart)}, n = {seeds}", enough(apart["C3"] > apart["CC"], seeds)),
        Finding("and purer", f"of the 10 nearest points in the map, of the same class: {_listed(pure)}, n = {seeds}",
                enough(pure["C3"] > pure["CC"], seeds)),
    ]  # fmt: skip


def _measures(rows: Rows) -> tuple[float, float]:
    """The silhouette of the classes in the map, and the share of the nearest points that are of the same class."""
    points, classes = np.array([[row["x"], row["y"]] for row in rows]), np.array([str(row["class"]) for row in rows])
    near = NearestNeighbors(n_neighbors=min(10, len(points) - 1)).fit(points).kneighbors(return_distance=False)
    return float(silhouette_score(points, classes)), float((classes[near] == classes[:, None]).mean())


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def draw(rows: Rows) -> Figure:
    names, classes = distinct(rows, "name"), sorted(distinct(rows, "class"), key=lambda k: (isinstance(k, str), k))
    figure, axes = panels(len(names), PAGE, 3.3)
    for axis, name in zip(axes, names, strict=True):
        for i, k in enumerate(classes):
            points = select(rows, name=name, **{"class": k})
            colour, label = CLASSES[i % len(CLASSES)], k if isinstance(k, str) else f"{k:g}"
            axis.scatter([p["x"] for p in points], [p["y"] for p in points], s=2.2, lw=0, color=colour, label=label)
        axis.set(title=name, xticks=[], yticks=[], aspect="equal")
        for side in axis.spines.values():
            side.set_visible(False)
    if len(classes) <= 20:
        axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=3, title="class", handletextpad=0.1)
    footer(figure, f"t-SNE of z, seed {rows[0]['seed']:.0f}; axes have no unit")
    return figure
