"""The verdict on a run: the estimated accuracy and what to do, without terms of the method."""

from collections.abc import Sequence
from dataclasses import dataclass

from c3clust.report.facts import Facts
from c3clust.report.finding import Finding
from c3clust.report.findings import findings, in_hundred

__all__ = ["Summary", "Verdict", "summarise", "verdict"]


@dataclass(frozen=True)
class Verdict:
    """The top of the page.

    level: that of the most severe finding, "good" or "note"; word: the level in one or two words; headline: how many
    samples are probably in the right cluster; clusters: how many were found; text: what to do.
    """

    level: str
    word: str
    headline: str
    clusters: str
    text: str


@dataclass(frozen=True)
class Summary:
    """What can be said about a run without labels: for the page, and for the command line."""

    facts: Facts
    findings: list[Finding]
    verdict: Verdict


def summarise(facts: Facts) -> Summary:
    found = findings(facts)
    return Summary(facts, found, verdict(facts, found))


def verdict(facts: Facts, found: Sequence[Finding]) -> Verdict:
    """The verdict, given all findings.

    "All well" needs an estimate of the accuracy, no problem or warning, and a number of clusters that was given: an
    estimated one is often wrong on data of other kinds than those that it was developed on (docs/CHOOSING_K.md).
    """
    problems = [finding for finding in found if finding.level in ("bad", "warn")]
    level, word, text = "good", "All well", "Nothing looks wrong."
    if any(finding.level == "bad" for finding in problems):
        level, word, text = "bad", "Problem", "Read the problem below before you use these clusters."
    elif problems:
        points = "point" if len(problems) == 1 else f"{len(problems)} points"
        level, word, text = "warn", "Look here", f"Read the {points} below before you use these clusters."
    elif facts.quality is None or facts.filled < 2:
        level, word, text = "note", "Not known", _what_was_checked(facts)
    elif facts.record.choice is not None:
        level, word, text = "note", "Look first", _number_in_doubt(facts)
    return Verdict(level, word, _headline(facts), _clusters(facts), text)


def _headline(facts: Facts) -> str:
    quality, noun = facts.quality, facts.noun
    if facts.filled < 2:
        return f"All {noun}s are in one cluster: the accuracy cannot be estimated."
    if quality is None:
        why = "gives no confidence" if facts.confidence is None else "gives a confidence that is not calibrated"
        return f"The accuracy is unknown: the method {facts.record.method} {why}."
    about, (low, high) = in_hundred(quality.estimate), (in_hundred(end) for end in quality.interval)
    counted = "" if facts.record.choice is None else f", if there are {facts.record.n_clusters} groups"
    since = " before clusters were split" if facts.split else " before clusters were merged" if facts.merged else ""
    return (
        f"About {about} in 100 {noun}s are probably in the right cluster{counted} ({low} to {high}; estimated without "
        f"labels{since})."
    )


def _clusters(facts: Facts) -> str:
    asked, now, counted = facts.record.n_clusters, facts.filled, facts.record.params.get("n_clusters") == "auto"
    if facts.split:
        first = None if counted else facts.record.params.get("n_clusters")
        return (
            f"{f'{first} clusters were asked for' if first else 'Clusters were split'}; {now} are left after splitting."
        )
    origin = "found" if counted else "asked for"
    if facts.merged:
        return f"{asked} clusters were {origin}; {now} are left after merging."
    if counted and now == asked:
        return f"{asked} clusters were found." if asked > 1 else "1 cluster was found."
    if counted:
        return f"{asked} clusters were estimated, {now} of which contain {facts.noun}s."
    found = "all were" if now == asked else "1 was" if now == 1 else f"{now} were"
    return f"{asked} clusters were asked for and {found} found."


def _number_in_doubt(facts: Facts) -> str:
    others = (facts.record.choice or {}).get("others") or []
    also = f" {' or '.join(map(str, others))} would be the next to try." if others else ""
    return f"Nothing else looks wrong, but the number of clusters is only estimated: look whether it fits.{also}"


def _what_was_checked(facts: Facts) -> str:
    checked = [f"the number of {facts.noun}s", "the sizes of the clusters"]
    if any(stage.get("curves") for stage in facts.record.stages):
        checked.append("the training curves")
    listed = f"{', '.join(checked[:-1])} and {checked[-1]}"
    return f"Checked without findings: {listed}. Inspect the clusters yourself."
