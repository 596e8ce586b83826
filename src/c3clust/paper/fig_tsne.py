"""The learned space before and after stage 2: t-SNE of z, CC beside C3, coloured by class.

The map shows the first seed. How compact and how pure the classes are is measured in z itself, not in the map, for
every seed: rows without class and place.
"""

import numpy as np
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from c3clust import data, methods
from c3clust.bench import Job
from c3clust.paper.findings import Finding, difference, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import CLASSES, PAGE, footer, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, select
from c3clust.report.layout import layout

ORDER = 1
POINTS = 2000
NEAREST = 10
ALL = ""  # the class of a row of measures


def jobs(setting: Setting) -> list[Job]:
    return [job for seed in setting.seeds for job in (setting.start(seed), setting.c3(seed))]


def rows(setting: Setting, results: Results) -> Rows:
    samples = data.load(setting.data, **results[0].job.options)
    if samples.y is None:
        return []
    index = np.sort(np.random.default_rng(0).permutation(len(samples))[:POINTS])
    y = samples.y[index]
    classes = [str(k) for k in range(int(samples.y.max()) + 1)] if samples.classes is None else samples.classes
    found = []
    for result in results:
        z = methods.load_model(result.run).transform(samples.x[index])
        own = {"name": result.job.name, "seed": result.job.seed}
        found.append(own | {"class": ALL, "x": "", "y": "", **_measures(z, y)})
        if result.job.seed == setting.seeds[0]:
            points, _ = layout(z, result.job.seed)
            for (x, height), k in zip(points.tolist(), y, strict=True):
                found.append(own | {"class": classes[k], "x": x, "y": height, "silhouette": "", "pure": ""})
    return found


def _measures(z: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The silhouette of the classes by cosine, and the share of the nearest samples that are of the same class."""
    near = NearestNeighbors(n_neighbors=min(NEAREST, len(z) - 1), metric="cosine").fit(z)
    pure = (y[near.kneighbors(return_distance=False)] == y[:, None]).mean()
    return {"silhouette": float(silhouette_score(z, y, metric="cosine")), "pure": float(pure)}


def findings(rows: Rows) -> list[Finding]:
    found = []
    for claim, what, metric in (
        ("C3's classes are more compact and further apart", "silhouette of the classes in z (cosine)", "silhouette"),
        ("and purer", f"of the {NEAREST} nearest samples in z, of the same class", "pure"),
    ):
        cc, c3 = (select(rows, name=name, **{"class": ALL}) for name in ("CC", "C3"))
        means = ", ".join(f"{each[0]['name']} {np.mean([row[metric] for row in each]):.3f}" for each in (cc, c3))
        d = difference(c3, cc, metric)
        found.append(Finding(claim, f"{what}: {means}; C3 − CC {d}", side(d)))
    return found


def draw(rows: Rows) -> Figure:
    rows = [row for row in rows if row["class"] != ALL]
    names, classes = distinct(rows, "name"), sorted(distinct(rows, "class"), key=lambda k: (isinstance(k, str), k))
    figure, axes = panels(len(names), PAGE, 3.3)
    for axis, name in zip(axes, names, strict=True):
        for i, k in enumerate(classes):
            points = select(rows, name=name, **{"class": k})
            colour, label = CLASSES[i % len(CLASSES)], k if isinstance(k, str) else f"{k:g}"
            axis.scatter([p["x"] for p in points], [p["y"] for p in points], s=2.2, lw=0, color=colour, label=label)
        axis.set(title=name, xticks=[], yticks=[], aspect="equal")
        for spine in axis.spines.values():
            spine.set_visible(False)
    if len(classes) <= 20:
        axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=3, title="class", handletextpad=0.1)
    footer(figure, f"t-SNE of z, seed {rows[0]['seed']:.0f}; axes have no unit")
    return figure
