"""record + view + edits -> the content of the page as plain data."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from c3clust.records.duplicates import FILE
from c3clust.records.edits import Edits
from c3clust.records.outliers import FILE as OUTLIERS
from c3clust.records.record import RunRecord
from c3clust.report import confusion
from c3clust.report.facts import Facts
from c3clust.report.how_many import how_many
from c3clust.report.naming import suggestion
from c3clust.report.training_findings import balanced, is_technical, training_rows
from c3clust.report.verdict import Summary
from c3clust.report.view import View

__all__ = ["payload"]

MAX_EPOCHS = 400  # drawn points of a curve


def payload(view: View, edits: Edits, summary: Summary, run: str = "RUN") -> dict[str, Any]:
    """The content of the page as plain data for JSON."""
    facts = summary.facts
    record = facts.record
    view = view.merged(np.asarray(edits.target))
    live = edits.live
    similarity = view.similarity()
    noun = view.noun
    return {
        "title": f"{view.n:,} {noun}s in {facts.filled} cluster{'' if facts.filled == 1 else 's'}",
        "noun": noun,
        "n": view.n,
        "shown": len(view.index),
        "place": str(record.data.get("place") or ""),
        "method": record.method + (f" on features of {record.encoder.get('name')}" if record.encoder else ""),
        "device": record.device,
        "created": record.created,
        "seconds": _number(record.seconds),
        "confidence": _number(facts.confidence),
        "estimate": _estimate(facts),
        "verdict": vars(summary.verdict),
        "scores": _scores(record, view, edits),
        "edits": len(edits.operations),
        "findings": [vars(finding) for finding in summary.findings],
        "clusters": [_cluster(i, view, edits, similarity) for i in live] + _unassigned(view, edits, similarity),
        "classes": view.classes,
        "items": _items(view),
        "files": _files(record, view, run),
        "copies": _copies(view),
        "outliers": _outliers(view, edits),
        "thumbs": _thumbs(view),
        "traits": view.traits and view.traits.kind,
        "map": _map(view),
        "stages": [_stage(stage, edits, record) for stage in record.stages],
        "how_many": how_many(record, edits, facts.run),
        "confusion": _confusion(view, live + [view.n_clusters] * view.unassigned),
        "made": _reproduction(facts, run),
    }


def _cluster(i: int, view: View, edits: Edits, similarity: np.ndarray) -> dict[str, Any]:
    size = int(view.sizes[i])
    near = int(similarity[i].argmax()) if size and np.isfinite(similarity[i]).any() else None
    counts = view.confusion[i]
    top = int(counts.argmax()) if counts.sum() else None
    return {
        "id": i,
        "name": edits.name(i),
        "named": i in edits.names,
        "suggested": None if i in edits.names or i == view.n_clusters else _suggested(view, i),
        "merged": [j for j, target in enumerate(edits.target) if target == i and j != i],
        "size": size,
        "confidence": _number(view.certain[i] / size) if size else None,
        "near": near,
        "similarity": None if near is None or not view.unit else _number(similarity[i, near]),
        "top": None if top is None else [view.classes[top], _number(counts[top] / counts.sum())],
        "traits": [_trait(trait) for trait in view.traits.top(i)] if view.traits and size else [],
    }


def _id(view: View, cluster: int) -> int:
    """The number of a cluster; -1 for the samples that are in none."""
    return -1 if view.unassigned and cluster == view.n_clusters else cluster


def _unassigned(view: View, edits: Edits, similarity: np.ndarray) -> list[dict[str, Any]]:
    """The samples that are in no cluster, shown like one."""
    if not view.unassigned:
        return []
    return [_cluster(view.n_clusters, view, edits, similarity) | {"id": -1, "name": "no cluster", "merged": []}]


def _outliers(view: View, edits: Edits) -> dict[str, Any] | None:
    """The samples that belong nowhere, with the reason; copies are counted and not listed."""
    if not view.n_outliers:
        return None
    rows = {name: row for row, name in enumerate(view.names)}
    folded = {name for _, rest in view.copies for name, _ in rest}
    unassigned = view.unassigned and not view.by_hand
    settled = {
        name for name, o in view.outliers if name in edits.person or (not unassigned and o.settled(edits.target))
    }
    listed = [
        [rows.get(name), name, o.kind, o.reason(lambda i: edits.name(edits.target[i]))]
        for name, o in view.outliers
        if name not in folded | settled
    ]
    if not listed:
        return None
    return {"n": view.n_outliers - len(settled), "unassigned": unassigned, "file": OUTLIERS, "listed": listed}


def _suggested(view: View, cluster: int) -> list[str] | None:
    found = suggestion(view, cluster)
    return None if found is None else [found.name, found.source]


def _trait(trait: dict[str, Any]) -> dict[str, Any]:
    return {key: _number(value) if isinstance(value, float) else value for key, value in trait.items()}


def _items(view: View) -> dict[str, Any]:
    return {
        "name": view.names,
        "cluster": [_id(view, int(label)) for label in view.labels],
        "confidence": [_number(value) for value in view.confidence],
        "class": view.y.tolist() if view.classes else None,
        "typical": [_number(value) for value in view.closeness()],
        "second": view.second().tolist(),
        "text": view.texts,
        "copy": view.is_copy.tolist() if view.n_copies else None,
        "copies": _folded(view),
    }


def _files(record: RunRecord, view: View, run: str) -> str | None:
    """The address of the folder of images, relative to the page; None if they are not files of a folder that exists.

    Relative, so that a run which is moved or sent with its images still finds them. The names in a list or table of
    images are relative to its own folder. A path in a record that somebody else made is not looked at.
    """
    if not record.is_own():
        return None
    place = Path(str(record.data.get("place") or ""))
    place = place.parent if place.is_file() else place
    inside = not Path(view.names[0]).is_absolute() and (place / view.names[0]).is_file()
    if view.noun != "image" or not place.name or not inside:
        return None
    try:
        return f"./{quote(Path(os.path.relpath(place.resolve(), Path(run).resolve())).as_posix())}/"
    except ValueError:  # another drive
        return f"{place.resolve().as_uri()}/"


def _folded(view: View) -> list[int] | None:
    """How many copies of each sample there are."""
    if not view.n_copies:
        return None
    folded = {name: len(rest) for name, rest in view.copies}
    return [folded.get(name, 0) for name in view.names]


def _copies(view: View) -> dict[str, Any] | None:
    """The groups of copies; `row` is null where a sample is not in the page."""
    if not view.n_copies:
        return None
    rows = {name: row for row, name in enumerate(view.names)}
    groups = [
        [[rows.get(first), first, None], *([rows.get(name), name, _number(s)] for name, s in rest)]
        for first, rest in view.copies
    ]
    return {"n": view.n_copies, "file": FILE, "groups": groups}


def _thumbs(view: View) -> dict[str, Any] | None:
    if view.thumbs is None:
        return None
    plan = view.thumbs
    thumbs = {name: getattr(plan, name) for name in ("width", "height", "cell", "columns", "rows")}
    return thumbs | {"pixelated": max(plan.width, plan.height) <= 40}


def _map(view: View) -> dict[str, Any]:
    x, y = ([round(float(v), 4) for v in column] for column in view.xy.reshape(-1, 2).T)
    return {"row": view.map_rows.tolist(), "x": x, "y": y, "how": view.layout}


def _estimate(facts: Facts) -> list[float | None] | None:
    """[estimated accuracy, low, high], if it is known."""
    quality = facts.quality
    return [_number(v) for v in (quality.estimate, *quality.interval)] if quality and facts.filled > 1 else None


def _scores(record: RunRecord, view: View, edits: Edits) -> dict[str, float | None] | None:
    """Those of the record, or computed again if clusters were merged or samples moved."""
    changed = edits.placed or edits.target != list(range(edits.n_clusters))
    return _plain_scores(confusion.scores(view.confusion) if changed and view.classes else record.scores)


def _plain_scores(scores: Any) -> dict[str, float | None] | None:
    known = isinstance(scores, dict) and scores
    return {str(name): _number(value) for name, value in scores.items()} if known else None


def _confusion(view: View, live: list[int]) -> dict[str, Any] | None:
    """Counts of classes and clusters, clusters in the order of their matched classes; unmatched ones come last."""
    if not view.classes or not view.confusion.sum():
        return None
    counts = view.confusion[live].T  # [K, live]
    matched = confusion.match(counts.T)
    left = [j for j in range(len(live)) if j not in matched.values() and counts[:, j].sum()]
    rows = [k for k in range(len(view.classes)) if counts[k].sum()]
    order = [matched[k] for k in rows if k in matched] + left
    right = {k: int(counts[k, matched[k]]) if k in matched else 0 for k in rows}
    return {
        "classes": [view.classes[k] for k in rows],
        "matched": [_id(view, live[matched[k]]) if k in matched else None for k in rows],
        "clusters": [_id(view, live[j]) for j in order],
        "counts": [[int(counts[k, j]) for j in order] for k in rows],
        "accuracy": [_number(right[k] / counts[k].sum()) for k in rows],
        "totals": [int(counts[k].sum()) for k in rows],
    }


def _stage(stage: Mapping[str, Any], edits: Edits, record: RunRecord) -> dict[str, Any]:
    drawn: dict[str, Any] = {}
    for name, values in stage.get("curves", {}).items():
        at = np.unique(np.linspace(0, len(values) - 1, min(len(values), MAX_EPOCHS)).astype(int))
        points = [_sizes(values[i], edits) if name == "cluster_sizes" else _number(values[i]) for i in at]
        if any(value is not None for value in points):
            drawn[str(name)] = {"epoch": (at + 1).tolist(), "value": points}
    return {
        "name": str(stage.get("name", "?")),
        "epochs": _number(stage.get("epochs")),
        "seconds": _number(stage.get("seconds")),
        "balanced": _number(balanced(record, stage)),
        "scores": _plain_scores(stage.get("scores")),
        "curves": drawn,
    }


def _sizes(row: Any, edits: Edits) -> list[int] | None:
    """Cluster sizes of an epoch, those of merged clusters added up."""
    if not isinstance(row, list) or len(row) != edits.n_clusters or not all(isinstance(v, int) for v in row):
        return None
    totals = dict.fromkeys(edits.live, 0)
    for target, size in zip(edits.target[: edits.n_clusters], row, strict=True):
        totals[target] += size
    return list(totals.values())


def _reproduction(facts: Facts, run: str) -> dict[str, Any]:
    record = facts.record
    skipped = record.data.get("skipped", [])
    data = {
        key: value for key, value in record.data.items() if key not in ("skipped", "classes") and value not in ("", [])
    }
    return {
        "command": record.command,
        "run": run,
        "params": [[str(key), _text(value)] for key, value in {**record.params, "seed": record.seed}.items()],
        "data": [[str(key), _text(value)] for key, value in data.items()],
        "encoder": [[str(key), _text(value)] for key, value in (record.encoder or {}).items()],
        "quality": _quality_rows(facts),
        "training": training_rows(record),
        "notes": [note for note in record.notes if is_technical(note)],
        "versions": [[str(key), _text(value)] for key, value in record.versions.items()],
        "skipped": skipped[:200],
        "n_skipped": len(skipped),
    }


def _quality_rows(facts: Facts) -> list[list[str]]:
    """The estimate and the comparison with k-means, in words of the method."""
    quality = facts.quality
    if quality is None:
        return []
    low, high = quality.interval
    pair = "members {:.3f}, k-means {:.3f}".format
    return [
        ["estimated accuracy", f"{quality.estimate:.3f}, interval {low:.3f} to {high:.3f}"],
        ["prior", f"{quality.prior:g}"],
        *([f"agreement, {name}", f"{value:.3f}"] for name, value in quality.agreement.items()),
        ["same cluster by members and k-means", f"{quality.same:.1%}"],
        ["neighbours in the same cluster, above chance", pair(*quality.kept)],
        ["agreement with other clusterings", pair(*quality.supported)],
        ["source of the result", quality.source],
    ]


def _text(value: Any) -> str:
    """A value of the record in words.

    >>> _text({"flip": 0.5, "ratio": [3 / 4, 4 / 3]}), _text(None), _text(True)
    ('flip: 0.5; ratio: 0.75, 1.3333', 'not set', 'true')
    """
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_text(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ("; " if any(isinstance(each, str) for each in value) else ", ").join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.5g}"
    return value if isinstance(value, str) else "not set" if value is None else json.dumps(value, default=str)


def _number(value: Any) -> float | None:
    """A number in five significant digits; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(f"{float(value):.5g}")
