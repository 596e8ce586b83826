"""Plain sentences about a finished run: what looks wrong, what it means, and what to try.

Each rule is a function of Facts that yields Findings; `findings` applies all rules. Rules about training are in
training_findings.py.
"""

from collections.abc import Iterator

from c3clust.report import training_findings
from c3clust.report.facts import Facts, capital
from c3clust.report.finding import LEVELS, Finding
from c3clust.report.refit import kmeans_command

__all__ = ["findings"]

ENOUGH = 0.75  # lower end of the estimated accuracy from which a result is called good
HALF = 0.5  # estimated accuracy below which most samples are in a wrong cluster
TINY = 0.1  # of an even share
GIANT = 0.5  # of all samples
UNSURE = 0.4  # from 0 (guessing) to 1 (certainty)
RARE = 1.0  # below this prior, images from scratch may share clusters in a way on which all members agree
SPARSE = 20  # samples per cluster
ALIKE = 0.9  # cosine of two centres


def findings(facts: Facts) -> list[Finding]:
    """All findings, the most severe first."""
    found = [finding for rule in _RULES for finding in rule(facts)]
    return sorted(found, key=lambda finding: LEVELS.index(finding.level))


def identical(facts: Facts) -> Iterator[Finding]:
    """All samples are identical, or there are fewer distinct samples than clusters."""
    asked, noun = facts.record.n_clusters, facts.noun
    if facts.distinct is None or facts.distinct >= asked:
        return
    if facts.distinct <= 1:
        text = f"All {facts.n:,} {noun}s are identical to the method: they cannot be separated."
        yield Finding(
            "bad", "identical", text, "Check the source: does it contain one file many times, or empty files?"
        )
    else:
        text = f"Only {facts.distinct:,} of the {facts.n:,} {noun}s differ, fewer than the {asked} requested clusters."
        advice = f"Request at most {facts.distinct} clusters (-k {facts.distinct}), or check the source for copies."
        yield Finding("warn", "identical", text, advice)


def collapse(facts: Facts) -> Iterator[Finding]:
    """A single cluster in use, though the samples differ."""
    if len(facts.sizes) > 1 and facts.filled == 1 and facts.distinct != 1:
        text = f"All {facts.noun}s are in one cluster: the run collapsed."
        advice = "Train again with a smaller learning rate or for fewer epochs, or with an encoder (--encoder)."
        if facts.quality is not None:
            advice = "Try another encoder (--encoder), or request clusters of equal size with --set prior=even."
        yield Finding("bad", "collapse", text, advice)


def inaccurate(facts: Facts) -> Iterator[Finding]:
    """A low estimate of the accuracy."""
    quality = facts.quality
    if quality is None or quality.interval[0] >= ENOUGH or facts.filled < 2:
        return
    text = f"Up to {100 - in_hundred(quality.interval[0])} in 100 {facts.noun}s may be in the wrong cluster."
    if quality.estimate < HALF:
        text = f"Probably more {facts.noun}s are in a wrong cluster than in the right one."
    yield Finding("bad" if quality.estimate < HALF else "warn", "inaccurate", text, _how_to_improve(facts))


def doubtful(facts: Facts) -> Iterator[Finding]:
    """K-means on the same features gives another result for which the evidence is as strong."""
    quality = facts.quality
    if quality is not None and quality.doubtful and not facts.by_kmeans:
        where = "on the learned features" if facts.from_scratch else "on the same features"
        text = (
            f"K-means {where} gives other clusters, for which the evidence is as strong: the two agree on "
            f"{quality.same:.0%} of the {facts.noun}s."
        )
        advice = "Try another number of clusters"
        if not facts.from_scratch:
            advice += f", or compare both results and keep the better one: {kmeans_command(facts.record, facts.run)}"
        yield Finding("warn", "doubtful", text, advice)


def simple(facts: Facts) -> Iterator[Finding]:
    """K-means is as good as the vote of the members, and its result is returned."""
    if facts.quality is not None and facts.quality.simple:
        text = "K-means on the same features is as good here, so these are the clusters of k-means."
        advice = "If they do not look right, try another number of clusters" + _other_encoder(facts) + "."
        yield Finding("note", "simple", text, advice)


def uneven(facts: Facts) -> Iterator[Finding]:
    """A prior below 1: equal cluster sizes were not enforced."""
    quality, sizes = facts.quality, [size for size in facts.sizes.values() if size]
    if quality is None or quality.prior >= 1 or facts.by_kmeans or len(sizes) < 2:
        return
    if facts.from_scratch and quality.prior < RARE:
        text = f"Cluster sizes are very different: {min(sizes):,} to {max(sizes):,} {facts.noun}s. "
        text += "Rare groups may share a cluster; then the accuracy is lower than estimated."
        advice = "Inspect the clusters, and request more of them if some contain several groups."
        yield Finding("warn", "uneven", text, advice)
        return
    asked = facts.record.params.get("prior", "auto")
    why = "because they are more distinct" if asked == "auto" else f"as requested by prior={asked}"
    text = f"Clusters of very different sizes were allowed, {why}: they contain {min(sizes):,} to {max(sizes):,} "
    advice = "If you know that the groups have about the same size, fit again with --set prior=even."
    yield Finding("note", "uneven", f"{text}{facts.noun}s.", advice)


def empty(facts: Facts) -> Iterator[Finding]:
    """Clusters without a sample."""
    empties = [cluster for cluster, size in facts.sizes.items() if size == 0]
    few = facts.distinct is not None and facts.distinct < facts.record.n_clusters
    if empties and facts.filled > 1 and not few:
        asked, verb = facts.record.n_clusters, "has" if len(empties) == 1 else "have"
        found = asked - len(empties)
        text = f"{facts.listing(empties)} {verb} no {facts.noun}s: there are {found} clusters instead of {asked}."
        advice = "That may be correct, or the method failed to use them: leave out -k to have the number estimated."
        if facts.record.choice is not None and facts.record.choice["runner_up"] == found:
            advice = f"The evidence for {found} is nearly as good: fit again with -k {found}."
        yield Finding("warn", "empty", text, advice)


def tiny(facts: Facts) -> Iterator[Finding]:
    """Clusters of less than a tenth of an even share."""
    small = [cluster for cluster, size in facts.sizes.items() if 0 < size < TINY * facts.share]
    if small:
        verb, even = "is" if len(small) == 1 else "are", f"an even share of {facts.share:,.0f} {facts.noun}s"
        text = f"{facts.listing(small)} {verb} very small: below a tenth of {even}."
        advice = (
            f"Outliers, or part of another cluster? Request fewer clusters, or correct them: c3clust review {facts.run}"
        )
        yield Finding("warn", "tiny", text, advice)


def giant(facts: Facts) -> Iterator[Finding]:
    """One cluster with more than half of all samples."""
    largest = max(facts.sizes, key=lambda cluster: facts.sizes[cluster])
    part = facts.sizes[largest] / max(facts.n, 1)
    if len(facts.sizes) > 2 and GIANT < part < 1:
        text = f"{facts.listing([largest])} contains {part:.0%} of all {facts.noun}s."
        advice = (
            f"It may contain several groups: request more clusters, or look and split it: c3clust review {facts.run}"
        )
        yield Finding("warn", "giant", text, advice)


def unsure(facts: Facts) -> Iterator[Finding]:
    """Low mean confidence of a trained head; only without an estimate of the accuracy."""
    chance = 1 / max(facts.record.n_clusters, 2)
    trained = any(stage.get("curves") for stage in facts.record.stages)
    if facts.quality is not None or facts.confidence is None or not trained:
        return
    if (facts.confidence - chance) / (1 - chance) < UNSURE:
        mean = f"{facts.confidence:.0%} confidence on average, where guessing has {chance:.0%}"
        advice = "Train longer, or try another number of clusters" + _other_encoder(facts) + "."
        yield Finding("warn", "unsure", f"The assignments are uncertain: {mean}.", advice)


def unreadable(facts: Facts) -> Iterator[Finding]:
    """Files that were skipped."""
    skipped = facts.record.data.get("skipped") or []
    large, pointers = ([row for row in skipped if row[1].startswith(how)] for how in ("too large", "a Git LFS pointer"))
    bad = [row for row in skipped if row not in large and row not in pointers]
    for found, kind, what, advice in (
        (large, "too_large", "too large and skipped", "Read them with --max-pixels, or save them smaller."),
        (pointers, "pointers", "Git LFS pointers, not images, and skipped", "Run git lfs pull, and fit again."),
        (bad, "unreadable", "unreadable and skipped", "Repair or remove them; the other files are not affected."),
    ):
        if found:
            listed = ", ".join(f"{name} ({reason})" for name, reason in found[:3])
            more = f", and {len(found) - 3:,} more" if len(found) > 3 else ""
            files = "1 file was" if len(found) == 1 else f"{len(found):,} files were"
            yield Finding("warn", kind, f"{files} {what}: {listed}{more}.", advice)


def sparse(facts: Facts) -> Iterator[Finding]:
    """Too few samples to learn from."""
    each = facts.n / facts.record.n_clusters
    if 0 < each < SPARSE:
        simple = ", so these are the clusters of k-means" if facts.by_kmeans else ""
        found = facts.record.choice is not None
        are = f"is only 1 {facts.noun}" if round(each) == 1 else f"are only {each:.0f} {facts.noun}s"
        text = f"There {are} per {'' if found else 'requested '}cluster{simple}."
        advice = f"Add {facts.noun}s{'' if found else ' or request fewer clusters'}: with so few, results vary."
        yield Finding("warn", "sparse", text, advice)


def alike(facts: Facts) -> Iterator[Finding]:
    """Clusters whose centres nearly coincide."""
    close = sorted((pair for pair in facts.alike if pair[2] >= ALIKE), key=lambda pair: -pair[2])
    if len(close) > 3 and len(close) > len(facts.alike) / 4:
        text = f"Many clusters are close together: {len(close)} of {len(facts.alike)} pairs are hardly separated."
        advice = "The network has not learned to separate them: train longer, or request fewer clusters."
        yield Finding("warn", "blurred", text, advice)
        return
    for a, b, cosine in close[:3]:
        text = f"{capital(facts.name(a))} and {facts.name(b)} are close together (similarity {cosine:.2f})."
        yield Finding("note", "alike", text, f"If they show the same thing: c3clust merge {facts.run} {a} {b}")


def copies(facts: Facts) -> Iterator[Finding]:
    """Samples that are copies of others."""
    if facts.copies:
        noun = facts.noun if facts.copies == 1 else f"{facts.noun}s"
        are = "is a copy of another" if facts.copies == 1 else "are copies of others"
        text = f"{facts.copies:,} of the {facts.n:,} {facts.noun}s {are}, exact or near: each {facts.noun} was "
        text += "counted once, and copies are in the cluster of their original."
        yield Finding("note", "copies", text, f"duplicates.csv lists the {noun}; see Copies below.")


_RULES = (
    identical,
    collapse,
    training_findings.stages,
    training_findings.stopped,
    inaccurate,
    doubtful,
    empty,
    tiny,
    giant,
    unsure,
    training_findings.restless,
    unreadable,
    sparse,
    simple,
    uneven,
    alike,
    copies,
    training_findings.notes,
)


def in_hundred(share: float) -> int:
    return round(100 * share)


def _how_to_improve(facts: Facts) -> str:
    return (
        f"Look at the least certain {facts.noun}s of each cluster (column confidence of assignments.csv), or try "
        f"another number of clusters{_other_encoder(facts)}. To know how many are right, judge 30 of them (Check 30): "
        f"c3clust review {facts.run}"
    )


def _other_encoder(facts: Facts) -> str:
    return " or another encoder (--encoder)" if facts.record.encoder and facts.noun in ("image", "text") else ""
