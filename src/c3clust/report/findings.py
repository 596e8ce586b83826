"""Plain sentences about a finished run: what looks wrong, what it means, and what to try.

Each rule is a function of Facts that gives nothing or Findings; `findings` asks them all.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from c3clust.records.record import RunRecord

__all__ = ["Facts", "Finding", "balanced", "findings"]

TINY = 0.1  # of an even share
GIANT = 0.5  # of all samples
UNSURE = 0.4  # of the way from guessing to certainty
RESTLESS = 0.02  # of all labels, in the last epoch
ALIKE = 0.9  # cosine of two centres
CROWDED = 3.0  # times the positives of balanced clusters
LISTED = 6  # things named before "and n more"


@dataclass(frozen=True)
class Finding:
    """level: "bad", "warn", "note" or "good"; text says what is so, advice what to try."""

    level: str
    kind: str
    text: str
    advice: str = ""


@dataclass(frozen=True)
class Facts:
    """What the rules look at. sizes: {cluster: samples} of the clusters in use; confidence: mean, None if not known."""

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
        """Samples of a cluster if all were equal."""
        return self.n / max(len(self.sizes), 1)

    def name(self, cluster: int) -> str:
        return self.names.get(cluster, f"cluster {cluster}")


def findings(facts: Facts) -> list[Finding]:
    """All that is worth saying, the worst first."""
    found = [finding for rule in _RULES for finding in rule(facts)]
    if not any(finding.level in ("bad", "warn") for finding in found):
        found.append(Finding("good", "fine", _fine(facts)))
    return sorted(found, key=lambda finding: ("bad", "warn", "good", "note").index(finding.level))


def collapse(facts: Facts) -> Iterator[Finding]:
    """Positives per view far above 2N/M, or a single cluster that is in use."""
    filled = sum(size > 0 for size in facts.sizes.values())
    if len(facts.sizes) > 1 and filled == 1:
        yield Finding(
            "bad",
            "collapse",
            f"All {facts.noun}s ended in one cluster: the run collapsed.",
            "Start again from stage 1 with a smaller learning rate or fewer epochs; for stage 2 also raise zeta.",
        )
        return
    for stage, positives, views, even in _positives(facts.record):
        if positives > min(CROWDED * even, (views + even) / 2):
            yield Finding(
                "bad",
                "collapse",
                f"Stage {stage} takes {positives:.0f} of {views} views for the same thing; balanced clusters "
                f"would give about {even:.0f}. The space is collapsing towards one point.",
                "Raise zeta, lower the learning rate of this stage, or train it for fewer epochs.",
            )
        elif positives < min(3.0, 0.75 * even):
            yield Finding(
                "warn",
                "idle",
                f"Stage {stage} hardly acted: it found {positives:.1f} views that belong with a view; "
                f"balanced clusters would give about {even:.0f}.",
                "Lower zeta, or train the first stage longer.",
            )


def empty(facts: Facts) -> Iterator[Finding]:
    """Clusters without a sample."""
    gone = [cluster for cluster, size in facts.sizes.items() if size == 0]
    if gone and len(facts.sizes) - len(gone) > 1:
        verb = "holds" if len(gone) == 1 else "hold"
        yield Finding(
            "warn",
            "empty",
            f"{_listing(facts, gone)} {verb} no {facts.noun}.",
            f"Ask for fewer clusters (-k {len(facts.sizes) - len(gone)}), or train the first stage longer.",
        )


def tiny(facts: Facts) -> Iterator[Finding]:
    """Clusters of less than a tenth of an even share."""
    small = [cluster for cluster, size in facts.sizes.items() if 0 < size < TINY * facts.share]
    if small:
        verb = "is" if len(small) == 1 else "are"
        yield Finding(
            "warn",
            "tiny",
            f"{_listing(facts, small)} {verb} tiny: below a tenth of {facts.share:,.0f} {facts.noun}s, an even share.",
            "Look at them in the gallery: outliers, or part of a neighbour? Merge them, or ask for fewer clusters.",
        )


def giant(facts: Facts) -> Iterator[Finding]:
    """One cluster that holds more than half of everything."""
    largest = max(facts.sizes, key=lambda cluster: facts.sizes[cluster])
    part = facts.sizes[largest] / max(facts.n, 1)
    if len(facts.sizes) > 2 and GIANT < part < 1:
        yield Finding(
            "warn",
            "giant",
            f"{_listing(facts, [largest])} holds {part:.0%} of all {facts.noun}s.",
            "Several groups probably share it: ask for more clusters, train longer, or cluster it again alone.",
        )


def unsure(facts: Facts) -> Iterator[Finding]:
    """Low confidence overall, measured from guessing to certainty."""
    chance = 1 / max(facts.record.n_clusters, 2)
    if facts.confidence is not None and (facts.confidence - chance) / (1 - chance) < UNSURE:
        yield Finding(
            "warn",
            "unsure",
            f"The assignments are unsure: {facts.confidence:.0%} confidence on average, {chance:.0%} would be a guess.",
            "Train longer, or try another number of clusters; export with --min-confidence keeps the doubtful apart.",
        )


def restless(facts: Facts) -> Iterator[Finding]:
    """Labels that still changed in the last epoch."""
    changed = [curve for stage in facts.record.stages if (curve := _curve(stage, "labels_changed"))]
    if not changed or len(changed[-1]) < 2 or _returned(facts.record.stages[-1]) is not None:
        return
    last = changed[-1][-1] / (facts.n if max(map(max, changed)) > 1 else 1)
    if last > RESTLESS:
        yield Finding(
            "warn",
            "restless",
            f"{last:.1%} of the labels still changed in the last epoch.",
            "The run had not settled: train for more epochs.",
        )


def unreadable(facts: Facts) -> Iterator[Finding]:
    """Files that were skipped."""
    skipped = [entry for entry in facts.record.data.get("skipped") or [] if isinstance(entry, (list, tuple)) and entry]
    if skipped:
        told = [f"{entry[0]} ({entry[1]})" if len(entry) > 1 else str(entry[0]) for entry in skipped[:3]]
        more = f", and {len(skipped) - 3:,} more" if len(skipped) > 3 else ""
        files = "1 file was" if len(skipped) == 1 else f"{len(skipped):,} files were"
        yield Finding(
            "warn",
            "unreadable",
            f"{files} left out, unreadable: {', '.join(told)}{more}.",
            "Repair or remove them; the others are not affected.",
        )


def sparse(facts: Facts) -> Iterator[Finding]:
    """Too few samples to learn from."""
    if 0 < facts.n / facts.record.n_clusters < 20:
        yield Finding(
            "warn",
            "sparse",
            f"There are only {facts.n / facts.record.n_clusters:.0f} {facts.noun}s for each cluster asked for.",
            f"Add {facts.noun}s or ask for fewer clusters: with so few, chance decides much.",
        )


def alike(facts: Facts) -> Iterator[Finding]:
    """Clusters whose centres nearly coincide."""
    close = sorted((pair for pair in facts.alike if pair[2] >= ALIKE), key=lambda pair: -pair[2])
    if len(close) > 3 and len(close) > len(facts.alike) / 4:
        yield Finding(
            "warn",
            "blurred",
            f"Many clusters lie close together: {len(close)} of {len(facts.alike)} pairs are hardly apart.",
            "The network has not learned to tell them apart: train longer, or ask for fewer clusters.",
        )
        return
    for a, b, cosine in close[:3]:
        yield Finding(
            "note",
            "alike",
            f"{_capital(facts.name(a))} and {facts.name(b)} lie close together (similarity {cosine:.2f}).",
            f"If they show the same thing: c3clust merge {facts.run} {a} {b}",
        )


def notes(facts: Facts) -> Iterator[Finding]:
    """What the run itself noted."""
    for note in facts.record.notes:
        yield Finding("warn" if str(note).startswith("The guard") else "note", "note", str(note))


_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    collapse,
    empty,
    tiny,
    giant,
    unsure,
    restless,
    unreadable,
    sparse,
    alike,
    notes,
)


def _fine(facts: Facts) -> str:
    sizes = [size for size in facts.sizes.values() if size]
    told = f"Nothing looks wrong: clusters hold {min(sizes):,} to {max(sizes):,} {facts.noun}s each"
    return told + (f", {facts.confidence:.0%} confidence on average." if facts.confidence is not None else ".")


def _listing(facts: Facts, clusters: list[int]) -> str:
    named = [facts.name(cluster) for cluster in clusters[:LISTED]]
    if all(name == f"cluster {cluster}" for name, cluster in zip(named, clusters, strict=False)) and len(named) > 1:
        named = ["clusters " + str(clusters[0]), *map(str, clusters[1:LISTED])]
    rest = len(clusters) - LISTED
    if rest > 0:
        return _capital(", ".join(named)) + f" and {rest} more"
    return _capital(" and ".join(filter(None, [", ".join(named[:-1]), named[-1]])))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith("cluster") else text


def _curve(stage: Mapping, name: str) -> list[float]:
    values = (stage.get("curves") or {}).get(name) if isinstance(stage.get("curves"), dict) else None
    numbers = isinstance(values, list) and all(isinstance(v, (int, float)) for v in values)
    return [float(v) for v in values] if numbers and values else []


def balanced(record: RunRecord, stage: Mapping) -> float | None:
    """Positives per view if a batch fell into clusters of equal size: 2N/M, and at least a view itself and its twin."""
    size = _batch_size(record, stage)
    return max(2 * size / record.n_clusters, 2.0) if size else None


def _positives(record: RunRecord) -> Iterator[tuple[str, float, int, float]]:
    """Name, last number of positives per view, views a batch, and positives when balanced of each stage."""
    for stage in record.stages:
        curve = _curve(stage, "positives_per_view")[: _returned(stage)]
        size, even = _batch_size(record, stage), balanced(record, stage)
        if curve and size and even:
            yield str(stage.get("name", "?")), curve[-1], 2 * size, even


def _returned(stage: Mapping) -> int | None:
    """The epoch whose network a guard gave back; None if it did not have to."""
    guard = stage.get("guard")
    returned = guard.get("returned") if isinstance(guard, dict) and guard.get("decision") else None
    return returned if isinstance(returned, int) and returned >= 0 else None


def _batch_size(record: RunRecord, stage: Mapping) -> int | None:
    """Samples a batch in a stage; a batch is never larger than the data."""
    asked = (
        stage.get("batch_size"),
        record.params.get(f"{stage.get('name')}_batch_size"),
        record.params.get("batch_size"),
    )
    sizes = [size for size in asked if isinstance(size, int) and size > 0]
    n = record.data.get("n")
    return min(sizes[0], n if isinstance(n, int) and n > 0 else sizes[0]) if sizes else None
