"""Plain sentences about a finished run: what looks wrong, what it means, and what to try.

Each rule is a function of Facts that yields Findings; `findings` applies all rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from c3clust.records.record import RunRecord

__all__ = ["Facts", "Finding", "balanced", "findings", "skipped_files"]

TINY = 0.1  # of an even share
GIANT = 0.5  # of all samples
UNSURE = 0.4  # from 0 (guessing) to 1 (certainty)
RESTLESS = 0.02  # of all labels, in the last epoch
ALIKE = 0.9  # cosine of two centres
COLLAPSED = 3.0  # times the positives of balanced clusters; for stages without a guard, whose record has no limit
IDLE = 3.0  # positives per view
LISTED = 6  # clusters that are listed by name
LEVELS = ("bad", "warn", "good", "note")


@dataclass(frozen=True)
class Finding:
    """level: one of LEVELS; text: what was found; advice: what to try."""

    level: str
    kind: str
    text: str
    advice: str = ""


@dataclass(frozen=True)
class Facts:
    """The input of the rules. sizes: {cluster: samples} of the clusters in use; confidence: mean, None if not known."""

    record: RunRecord
    sizes: Mapping[int, int]
    confidence: float | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    alike: tuple[tuple[int, int, float], ...] = ()
    run: str = "RUN"
    noun: str = "image"

    @property
    def n(self) -> int:
        return sum(self.sizes.values())

    @property
    def share(self) -> float:
        """Samples per cluster if all clusters had the same size."""
        return self.n / max(len(self.sizes), 1)

    def name(self, cluster: int) -> str:
        return self.names.get(cluster, f"cluster {cluster}")


def findings(facts: Facts) -> list[Finding]:
    """All findings, the worst first."""
    found = [finding for rule in _RULES for finding in rule(facts)]
    if not any(finding.level in ("bad", "warn") for finding in found):
        found.append(Finding("good", "fine", _fine(facts)))
    return sorted(found, key=lambda finding: LEVELS.index(finding.level))


def collapse(facts: Facts) -> Iterator[Finding]:
    """Far more (or fewer) positives per view than 2N/M, or a single cluster in use."""
    filled = sum(size > 0 for size in facts.sizes.values())
    if len(facts.sizes) > 1 and filled == 1:
        text = f"All {facts.noun}s ended in one cluster: the run collapsed."
        advice = "Start again from stage 1 with a smaller learning rate or fewer epochs; for stage 2 also raise zeta."
        yield Finding("bad", "collapse", text, advice)
        return
    for stage in facts.record.stages:
        curve = _curve(stage, "positives_per_view")[: _returned(stage)]
        size, even = _batch_size(facts.record, stage), balanced(facts.record, stage)
        if not curve or not size or not even:
            continue
        name, positives, views = str(stage.get("name", "?")), curve[-1], 2 * size
        if positives > _most_positives(stage, views, even):
            text = (
                f"Stage {name} takes {positives:.0f} of {views} views for the same thing; balanced clusters "
                f"would give about {even:.0f}. The space is collapsing towards one point."
            )
            advice = "Raise zeta, lower the learning rate of this stage, or train it for fewer epochs."
            yield Finding("bad", "collapse", text, advice)
        elif positives < min(IDLE, 0.75 * even):
            text = (
                f"Stage {name} hardly acted: it found {positives:.1f} views that belong with a view; "
                f"balanced clusters would give about {even:.0f}."
            )
            yield Finding("warn", "idle", text, "Lower zeta, or train the first stage longer.")


def empty(facts: Facts) -> Iterator[Finding]:
    """Clusters without a sample."""
    empties = [cluster for cluster, size in facts.sizes.items() if size == 0]
    if empties and len(facts.sizes) - len(empties) > 1:
        text = f"{_listing(facts, empties)} {'holds' if len(empties) == 1 else 'hold'} no {facts.noun}."
        advice = f"Ask for fewer clusters (-k {len(facts.sizes) - len(empties)}), or train the first stage longer."
        yield Finding("warn", "empty", text, advice)


def tiny(facts: Facts) -> Iterator[Finding]:
    """Clusters of less than a tenth of an even share."""
    small = [cluster for cluster, size in facts.sizes.items() if 0 < size < TINY * facts.share]
    if small:
        verb, even = "is" if len(small) == 1 else "are", f"{facts.share:,.0f} {facts.noun}s, an even share"
        text = f"{_listing(facts, small)} {verb} tiny: below a tenth of {even}."
        advice = "Look at them in the gallery: outliers, or part of a neighbour? Merge them, or ask for fewer clusters."
        yield Finding("warn", "tiny", text, advice)


def giant(facts: Facts) -> Iterator[Finding]:
    """One cluster with more than half of all samples."""
    largest = max(facts.sizes, key=lambda cluster: facts.sizes[cluster])
    part = facts.sizes[largest] / max(facts.n, 1)
    if len(facts.sizes) > 2 and GIANT < part < 1:
        text = f"{_listing(facts, [largest])} holds {part:.0%} of all {facts.noun}s."
        advice = "Several groups probably share it: ask for more clusters, train longer, or cluster it again alone."
        yield Finding("warn", "giant", text, advice)


def unsure(facts: Facts) -> Iterator[Finding]:
    """Low mean confidence, measured from guessing to certainty."""
    chance = 1 / max(facts.record.n_clusters, 2)
    if facts.confidence is not None and (facts.confidence - chance) / (1 - chance) < UNSURE:
        mean = f"{facts.confidence:.0%} confidence on average, {chance:.0%} would be a guess"
        advice = (
            "Train longer, or try another number of clusters; export with --min-confidence keeps the doubtful apart."
        )
        yield Finding("warn", "unsure", f"The assignments are unsure: {mean}.", advice)


def restless(facts: Facts) -> Iterator[Finding]:
    """Labels that still changed in the last epoch."""
    curves = [curve for stage in facts.record.stages if (curve := _curve(stage, "labels_changed"))]
    if not curves or len(curves[-1]) < 2 or _returned(facts.record.stages[-1]) is not None:
        return
    last = curves[-1][-1] / (facts.n if max(map(max, curves)) > 1 else 1)
    if last > RESTLESS:
        text = f"{last:.1%} of the labels still changed in the last epoch."
        yield Finding("warn", "restless", text, "The run had not settled: train for more epochs.")


def unreadable(facts: Facts) -> Iterator[Finding]:
    """Files that were skipped."""
    if skipped := skipped_files(facts.record):
        listed = ", ".join(f"{name} ({reason[0]})" if reason else name for name, *reason in skipped[:3])
        more = f", and {len(skipped) - 3:,} more" if len(skipped) > 3 else ""
        files = "1 file was" if len(skipped) == 1 else f"{len(skipped):,} files were"
        text = f"{files} left out, unreadable: {listed}{more}."
        yield Finding("warn", "unreadable", text, "Repair or remove them; the others are not affected.")


def sparse(facts: Facts) -> Iterator[Finding]:
    """Too few samples to learn from."""
    each = facts.n / facts.record.n_clusters
    if 0 < each < 20:
        text = f"There are only {each:.0f} {facts.noun}s for each cluster asked for."
        advice = f"Add {facts.noun}s or ask for fewer clusters: with so few, chance decides much."
        yield Finding("warn", "sparse", text, advice)


def alike(facts: Facts) -> Iterator[Finding]:
    """Clusters whose centres nearly coincide."""
    close = sorted((pair for pair in facts.alike if pair[2] >= ALIKE), key=lambda pair: -pair[2])
    if len(close) > 3 and len(close) > len(facts.alike) / 4:
        text = f"Many clusters lie close together: {len(close)} of {len(facts.alike)} pairs are hardly apart."
        advice = "The network has not learned to tell them apart: train longer, or ask for fewer clusters."
        yield Finding("warn", "blurred", text, advice)
        return
    for a, b, cosine in close[:3]:
        text = f"{_capital(facts.name(a))} and {facts.name(b)} lie close together (similarity {cosine:.2f})."
        yield Finding("note", "alike", text, f"If they show the same thing: c3clust merge {facts.run} {a} {b}")


def notes(facts: Facts) -> Iterator[Finding]:
    """The notes of the record. What a guard noted without stopping is left out: the rules above report it."""
    guards = [guard for stage in facts.record.stages if isinstance(guard := stage.get("guard"), dict)]
    reported = [note for guard in guards if not guard.get("decision") for note in guard.get("told") or []]
    for note in facts.record.notes:
        if note not in reported:
            yield Finding("warn" if note.startswith("The guard") else "note", "note", note)


_RULES = (collapse, empty, tiny, giant, unsure, restless, unreadable, sparse, alike, notes)


def skipped_files(record: RunRecord) -> list[list[str]]:
    """[name, reason] of each file that was skipped, as far as the record contains them."""
    entries = record.data.get("skipped") or []
    return [[str(part) for part in entry[:2]] for entry in entries if isinstance(entry, (list, tuple)) and entry]


def balanced(record: RunRecord, stage: Mapping) -> float | None:
    """Positives per view for clusters of equal size: 2N/M, and at least the view itself and its twin."""
    size = _batch_size(record, stage)
    return max(2 * size / record.n_clusters, 2.0) if size else None


def _most_positives(stage: Mapping[str, Any], views: int, even: float) -> float:
    """The limit of the stage's guard, which takes the sizes of the clusters into account; else a multiple of `even`."""
    guard = stage.get("guard")
    limits = guard.get("limits") if isinstance(guard, dict) else None
    limit = limits.get("most_positives") if isinstance(limits, dict) else None
    return limit if isinstance(limit, (int, float)) else min(COLLAPSED * even, (views + even) / 2)


def _returned(stage: Mapping[str, Any]) -> int | None:
    """The epoch whose network was restored by a guard that stopped the stage; None if it did not."""
    guard = stage.get("guard")
    returned = guard.get("returned") if isinstance(guard, dict) and guard.get("decision") else None
    return returned if isinstance(returned, int) and returned >= 0 else None


def _batch_size(record: RunRecord, stage: Mapping) -> int | None:
    """Samples per batch of a stage; a batch is never larger than the dataset."""
    own, params = stage.get("batch_size"), record.params
    candidates = (own, params.get(f"{stage.get('name')}_batch_size"), params.get("batch_size"), record.data.get("n"))
    *sizes, n = (size if isinstance(size, int) and size > 0 else None for size in candidates)
    size = next(filter(None, sizes), None)
    return min(size, n or size) if size else None


def _curve(stage: Mapping[str, Any], name: str) -> list[float]:
    curves = stage.get("curves")
    values = curves.get(name) if isinstance(curves, dict) else None
    numbers = isinstance(values, list) and all(isinstance(v, (int, float)) for v in values)
    return [float(v) for v in values] if numbers and values else []


def _fine(facts: Facts) -> str:
    sizes = [size for size in facts.sizes.values() if size]
    text = f"Nothing looks wrong: clusters hold {min(sizes):,} to {max(sizes):,} {facts.noun}s each"
    return text + (f", {facts.confidence:.0%} confidence on average." if facts.confidence is not None else ".")


def _listing(facts: Facts, clusters: list[int]) -> str:
    names = [facts.name(cluster) for cluster in clusters[:LISTED]]
    if all(name == f"cluster {cluster}" for name, cluster in zip(names, clusters, strict=False)) and len(names) > 1:
        names = ["clusters " + str(clusters[0]), *map(str, clusters[1:LISTED])]
    rest = len(clusters) - LISTED
    if rest > 0:
        return _capital(", ".join(names)) + f" and {rest} more"
    return _capital(" and ".join(filter(None, [", ".join(names[:-1]), names[-1]])))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith("cluster") else text
