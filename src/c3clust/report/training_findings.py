"""Rules about the training of a run: collapse, no effect, restless labels, the guard.

The findings are in plain words. The numbers of the method (zeta, positives per view) are for "How it was made".
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from c3clust.records.record import RunRecord
from c3clust.report.facts import Facts
from c3clust.report.finding import Finding

__all__ = ["balanced", "is_technical", "notes", "restless", "stages", "stopped", "training_rows"]

RESTLESS = 0.02  # of all labels, in the last epoch
COLLAPSED = 3.0  # times the positives of balanced clusters; for stages without a guard, whose record has no limit
IDLE = 3.0  # positives per view
TECHNICAL = re.compile(r"\b(zeta|positives?|stage)\b", re.I)


def stages(facts: Facts) -> Iterator[Finding]:
    """Far more (or fewer) positives per view than 2N/M."""
    for stage in facts.record.stages:
        positives, even, size = _last_positives(stage), balanced(facts.record, stage), _batch_size(facts.record, stage)
        if positives is None or not size or not even:
            continue
        name = stage.get("name", "?")
        if positives > _most_positives(stage, 2 * size, even):
            text = f"Stage {name} treats nearly all {facts.noun}s as one group: the clusters are merging."
            advice = "Train the first stage longer, or this one with a smaller learning rate or for fewer epochs"
            yield Finding("bad", "collapse", text, advice + _zeta_advice(facts.record, "raise"))
        elif positives < min(IDLE, 0.75 * even):
            text = f"Stage {name} had almost no effect: it found almost no {facts.noun}s that belong together."
            advice = "Train the first stage longer" + _zeta_advice(facts.record, "lower")
            yield Finding("warn", "idle", text, advice)


def stopped(facts: Facts) -> Iterator[Finding]:
    """A guard that stopped a stage."""
    for stage in facts.record.stages:
        if (epoch := _returned(stage)) is not None:
            back = f"the result is that of epoch {epoch}" if epoch else "the result is that of the stage before"
            text = f"Stage {stage.get('name', '?')} failed and was stopped: {back}."
            advice = "Train the first stage longer, or this one with a smaller learning rate"
            yield Finding("warn", "stopped", text, advice + _zeta_advice(facts.record, "raise"))


def restless(facts: Facts) -> Iterator[Finding]:
    """Labels that still changed in the last epoch."""
    curves = [curve for stage in facts.record.stages if (curve := _curve(stage, "labels_changed"))]
    if not curves or len(curves[-1]) < 2 or _returned(facts.record.stages[-1]) is not None:
        return
    last = curves[-1][-1] / (facts.n if max(map(max, curves)) > 1 else 1)
    if last > RESTLESS:
        text = f"{last:.1%} of the labels still changed in the last epoch."
        yield Finding("warn", "restless", text, "Training had not converged: train for more epochs.")


def notes(facts: Facts) -> Iterator[Finding]:
    """The notes of the record, those in words of the method excepted."""
    for note in facts.record.notes:
        if not is_technical(note):
            yield Finding("note", "note", note)


def is_technical(note: str) -> bool:
    """Whether a note of the record is in words of the method: it belongs in "How it was made"."""
    return TECHNICAL.search(note) is not None


def training_rows(record: RunRecord) -> list[list[str]]:
    """[name, value] for "How it was made": what each stage did, in words of the method."""
    rows = []
    for stage in record.stages:
        name, zeta = stage.get("name", "?"), stage.get("zeta")
        if isinstance(seconds := stage.get("seconds"), (int, float)):
            n = stage.get("epochs")
            epochs = f"{n} epoch{'' if n == 1 else 's'}, " if n else ""
            rows.append([f"stage {name}", f"{epochs}{seconds:.1f} s"])
        if isinstance(zeta, dict) and isinstance(zeta.get("chosen"), (int, float)):
            rows.append([f"stage {name}: zeta", f"{zeta['chosen']:.3g}"])
        if (positives := _last_positives(stage)) is not None:
            even = balanced(record, stage)
            expected = f"; {even:.1f} in balanced clusters" if even else ""
            rows.append([f"stage {name}: positives per view", f"{positives:.1f}{expected}"])
    return rows


def balanced(record: RunRecord, stage: Mapping) -> float | None:
    """Positives per view for clusters of equal size: 2N/M, and at least the view itself and its twin."""
    size = _batch_size(record, stage)
    return max(2 * size / record.n_clusters, 2.0) if size else None


def _zeta_advice(record: RunRecord, verb: str) -> str:
    """For those who set zeta themselves."""
    return f"; or {verb} zeta, or omit it." if isinstance(record.params.get("zeta"), (int, float)) else "."


def _last_positives(stage: Mapping[str, Any]) -> float | None:
    """Positives per view at the end, of the network that was kept."""
    curve = _curve(stage, "positives_per_view")[: _returned(stage)]
    return curve[-1] if curve else None


def _most_positives(stage: Mapping[str, Any], views: int, even: float) -> float:
    """The limit of the stage's guard, which takes the sizes of the clusters into account; else a multiple of `even`."""
    limits = stage.get("guard", {}).get("limits", {})
    return limits.get("most_positives", min(COLLAPSED * even, (views + even) / 2))


def _returned(stage: Mapping[str, Any]) -> int | None:
    """The epoch whose network was restored by a guard that stopped the stage; None if it did not."""
    guard = stage.get("guard", {})
    return guard.get("returned") if guard.get("decision") else None


def _batch_size(record: RunRecord, stage: Mapping) -> int | None:
    """Samples per batch of a stage; a batch is never larger than the dataset."""
    params = record.params
    given = (stage.get("batch_size"), params.get(f"{stage.get('name')}_batch_size"), params.get("batch_size"))
    size = next((size for size in given if isinstance(size, int) and size > 0), None)
    return size and min(size, record.data.get("n") or size)


def _curve(stage: Mapping[str, Any], name: str) -> list[float]:
    values = stage.get("curves", {}).get(name, [])
    return values if all(isinstance(value, (int, float)) for value in values) else []
