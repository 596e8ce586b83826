"""Names suggested for clusters, from folder and file names, words, columns, or classes of the encoder.

They are suggestions: a name that the user gave is never replaced. Counts are stored per cluster as Traits, so that
merging clusters adds rows. M clusters, J terms.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from c3clust.report.traits import Traits

if TYPE_CHECKING:
    from c3clust.report.view import View

__all__ = ["Suggestion", "class_traits", "name_traits", "suggestion"]

COMMON = 0.5  # fraction of a cluster's samples that must have a word of their names
LIFT = 2.0  # times as frequent as overall
LIKELY = 0.15  # mean probability of a class of the encoder
CLOSE = 0.6  # of the first class: then the second one is named too
KEPT = 12  # terms kept for each cluster
LONGEST = 60  # characters of a suggestion
GENERAL = {  # words of camera and system names
    "copy", "crop", "data", "dcim", "desktop", "doc", "docs", "downloads", "dsc", "edited", "file", "files",
    "final", "folder", "image", "images", "img", "jpeg", "jpg", "mvi", "new", "photo", "photos", "pic", "pics",
    "picture", "pictures", "png", "pxl", "sample", "samples", "scan", "screenshot", "test", "thumb", "tmp", "train",
    "untitled", "val", "valid", "whatsapp",
}  # fmt: skip


@dataclass(frozen=True)
class Suggestion:
    """A name for a cluster, and where it comes from."""

    name: str
    source: str


def name_traits(names: Sequence[str], labels: np.ndarray, n_clusters: int) -> Traits | None:
    """How many samples of each cluster have a word in the name of their file or its folders; None without words."""
    counts: list[Counter[str]] = [Counter() for _ in range(n_clusters)]
    for name, label in zip(names, labels, strict=True):
        counts[label].update(name_terms(str(name)))
    total = Counter[str]()
    for each in counts:
        total.update(each)
    kept = sorted({term for each in counts for term, _ in each.most_common(KEPT) if total[term] > 1})
    if not kept:
        return None
    sums = np.array([[each[term] for term in kept] for each in counts], dtype=np.float64)
    return _traits("names", kept, sums, labels, n_clusters)


def name_terms(name: str) -> set[str]:
    """The words of a file name, and each of its folders as one term.

    >>> sorted(name_terms("photos/golden-retriever/IMG_dogRun_01.jpg"))
    ['dog', 'golden retriever', 'run']
    """
    *folders, file = name.replace("\\", "/").split("/")
    stem = file.rpartition(".")[0] or file
    phrases = (" ".join(_words(folder)) for folder in folders)
    return {term for term in (*phrases, *_words(stem)) if term}


def _words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return [word for word in re.findall(r"[^\W\d_]{3,}", spaced.lower()) if word not in GENERAL]


def class_traits(classes: Sequence[str], scores: np.ndarray, labels: np.ndarray, n_clusters: int) -> Traits:
    """Mean probability of the encoder's classes in each cluster. scores: [n, J]."""
    sums = np.zeros((n_clusters, scores.shape[1]))
    np.add.at(sums, labels, scores)
    kept = np.unique(np.argsort(-sums, axis=1, kind="stable")[:, :KEPT])
    return _traits("classes", [classes[j] for j in kept], sums[:, kept], labels, n_clusters)


def _traits(kind: str, names: list[str], sums: np.ndarray, labels: np.ndarray, n_clusters: int) -> Traits:
    sizes = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    none = np.zeros(len(names))
    return Traits(kind, names, sums, np.repeat(sizes[:, None], len(names), axis=1), none, none.astype(bool))


def suggestion(view: "View", cluster: int) -> Suggestion | None:
    """The name suggested for a cluster of the (merged) view; None if nothing distinguishes it.

    A word of file names that fits several clusters, such as "breed" of the folders breed-1 and breed-2, is only used
    where nothing else is known.
    """
    if not view.sizes[cluster]:
        return None
    words = _best(view.file_words, cluster, COMMON, 1)
    from_names = _suggest(words, "folder and file names")
    others = (i for i in range(len(view.sizes)) if i != cluster and view.sizes[i])
    if words and not any(_best(view.file_words, i, COMMON, 1) == words for i in others):
        return from_names
    return _from_content(view, cluster) or from_names


def _from_content(view: "View", cluster: int) -> Suggestion | None:
    """A name from what the samples are: words of texts, columns of tables, classes of the encoder."""
    if view.traits is not None:
        top = view.traits.top(cluster, 3 if view.traits.kind == "words" else 2)
        if view.traits.kind == "words":
            return _suggest([trait["name"] for trait in top], "words of the texts")
        return _suggest([_column(trait) for trait in top], "columns")
    return _suggest(_best(view.classes_seen, cluster, LIKELY, 2), "classes that the encoder knows")


def _best(traits: Traits | None, cluster: int, least: float, most: int) -> list[str]:
    """The most frequent terms of a cluster that are clearly more frequent than in the others."""
    if traits is None:
        return []
    here = traits.sums[cluster] / max(traits.counts[cluster].max(), 1)
    rest = (traits.sums.sum(axis=0) - traits.sums[cluster]) / np.maximum(
        traits.counts.sum(axis=0) - traits.counts[cluster], 1
    )
    order = [int(j) for j in np.argsort(-here, kind="stable") if here[j] >= LIFT * rest[j]]
    good = [j for j in order[:most] if here[j] >= least]
    return [traits.names[j] for j in good if here[j] >= CLOSE * here[good[0]]]


def _column(trait: dict[str, Any]) -> str:
    return trait["name"] if trait["share"] else f"{'high' if trait['weight'] > 0 else 'low'} {trait['name']}"


def _suggest(terms: Sequence[str], source: str) -> Suggestion | None:
    name = ", ".join(terms)
    clean = "".join(letter if letter.isprintable() else " " for letter in name)[:LONGEST].strip(" ,")
    return Suggestion(clean, source) if clean else None
