"""The card of a model, README.md in the layout of Hugging Face: what it is, on which data, how well, and its limits.

Written from the record of the run; a model that was saved without one has the parts that are known.
"""

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from c3clust.records.record import RunRecord

__all__ = ["model_card"]

PIPELINES = {"image": "image-feature-extraction", "text": "feature-extraction"}
METRICS = {"acc": ("accuracy", "ACC"), "nmi": ("nmi", "NMI"), "ari": ("ari", "ARI")}


def model_card(
    method: str,
    what: str,
    n_clusters: int,
    names: Mapping[int, str],
    record: RunRecord | None = None,
    references: str = "",
) -> str:
    """The text of README.md. what: the first line of the method's file; names: those that clusters were given.

    references: the section of the method's documentation.
    """
    header = _header(method, record)
    parts = [f"# {n_clusters} clusters by {method}", f"{what.rstrip('.')}, fitted with c3clust.", *_use()]
    parts += [
        *_data(record),
        *_results(record),
        *_clusters(n_clusters, names),
        *_limits(record),
        *_references(references),
    ]
    return f"---\n{header}\n---\n\n" + "\n\n".join(map(_as_text, parts)) + "\n"


def _as_text(part: str) -> str:
    """Names of clusters, notes and paths may come from anywhere: HTML in them is shown, not rendered."""
    return part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _header(method: str, record: RunRecord | None) -> str:
    """YAML, of which JSON is a part: so every name is quoted as it must be."""
    entries: dict[str, Any] = {"library_name": "c3clust", "tags": ["clustering", "c3clust", method]}
    if record is not None:
        kind, name = record.data.get("kind", ""), _name(record)
        if kind in PIPELINES:
            entries["pipeline_tag"] = PIPELINES[kind]
        if record.scores:
            found = [(*METRICS[key], value) for key, value in record.scores.items() if key in METRICS]
            metrics = [{"type": type_, "name": short, "value": round(value, 4)} for type_, short, value in found]
            result = {"task": {"type": "clustering"}, "dataset": {"name": name, "type": name}, "metrics": metrics}
            entries["model-index"] = [{"name": f"{method} on {name}", "results": [result]}]
    return "\n".join(f"{key}: {json.dumps(value)}" for key, value in entries.items())


def _use() -> list[str]:
    code = 'import c3clust\n\nmodel = c3clust.load("FOLDER")  # this folder\nlabels = model.predict(X)'
    return [f"```python\n{code}\n```"]


def _data(record: RunRecord | None) -> list[str]:
    if record is None:
        return []
    data, encoder = record.data, record.encoder
    shape = " × ".join(map(str, data.get("shape", ())))
    lines = [f"- {_name(record)}: {data.get('n', 0):,} samples of kind {data.get('kind')}, shape {shape or 'varied'}"]
    if data.get("copies"):
        lines.append(f"- {data['copies']:,} copies among them, which were counted once")
    if encoder:
        trained = f"trained {'with' if encoder.get('labels') == 'yes' else 'without'} labels"
        known = (
            f"{trained} on {encoder.get('trained_on')}" if encoder.get("labels") != "unknown" else "training unknown"
        )
        lines.append(f"- encoder {encoder.get('name')} ({known}; licence: {encoder.get('licence')})")
    lines.append(f"- seed {record.seed}, {record.seconds:,.0f} s on {record.device}, {record.created}".rstrip(", "))
    return ["## Data and training", "\n".join(lines), f"Parameters: `{json.dumps(record.params, sort_keys=True)}`"]


def _results(record: RunRecord | None) -> list[str]:
    if record is None:
        return []
    lines = []
    if record.scores:
        scores = ", ".join(f"{METRICS[key][1]} {value:.3f}" for key, value in record.scores.items() if key in METRICS)
        lines.append(f"- compared with true labels, which were not used in training: {scores}")
    estimate = (record.quality or {}).get("estimated_accuracy")
    if isinstance(estimate, int | float):
        lines.append(f"- estimated without labels: about {estimate:.0%} of the samples are in the right cluster")
    if record.choice:
        lines.append(f"- the number of clusters was estimated: {record.choice['reason']}")
    return ["## Results", "\n".join(lines or ["No true labels and no estimate are known for this run."])]


def _clusters(n_clusters: int, names: Mapping[int, str]) -> list[str]:
    if not names:
        return []
    listed = "\n".join(f"- {i}: {name}" for i, name in sorted(names.items()))
    return ["## Clusters", f"{n_clusters} numbers, of which these have names:\n\n{listed}"]


def _limits(record: RunRecord | None) -> list[str]:
    lines = [
        "- Clusters are groups of samples that are similar to the model. They are not classes: no labels were used.",
        "- Samples that differ from the training data are assigned to one of the clusters too.",
    ]
    if record is None or record.quality is None:
        lines.append("- The confidence of this method is not calibrated: it only ranks the samples.")
    lines += [f"- {note}" for note in (record.notes if record else ())]
    return ["## Limits", "\n".join(lines)]


def _references(text: str) -> list[str]:
    return ["## References", text] if text else []


def _name(record: RunRecord) -> str:
    """The last part of the path of the data: the rest is private."""
    return PurePath(str(record.data.get("place", ""))).name or "array"
