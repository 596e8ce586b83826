"""Questions: what to ask a person next.

"where": where does this sample belong? Chosen by the uncertainty that an answer removes: how hard a sample and those
near it are (hardness), how many are near (density), and how little the pins tell about them already (diversity), the
three parts of IDC (Sun et al., NeurIPS 2024); here one quantity, the integrated posterior covariance.
"pair": are these two clusters one? "split": does this cluster hold two things? Chosen by the samples that an answer is
expected to set right, as in A3S (Deng et al., ICML 2024).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from c3clust.review.learner import Learner

__all__ = ["Question", "choose"]

CANDIDATES = 5  # clusters that a sample may belong to
SHOWN = 8  # samples that show a cluster
LOOKED_AT = 1500  # samples that are asked about, or whose uncertainty counts; of more, a random part
FLOOR = 0.05  # hardness of a sample that the model is certain of
NEAR = 2  # clusters that one is compared with
EVERY = 3  # one question in this many is about a pair of clusters
NOISE = 0.05  # variance of an answer


@dataclass(frozen=True)
class Question:
    """A question about clusters.

    kind: "where": samples has one row, candidates the clusters it may belong to. "pair": clusters has two, samples the
    most typical rows of the first, then as many of the second; the two most typical ones, `ends`, stand for them.
    "split": clusters has one, samples the rows of one part, then of the other.
    """

    kind: str
    clusters: tuple[int, ...]
    samples: tuple[int, ...]
    candidates: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def pins(self, answer: Any) -> list[dict[str, Any]]:
        """The pins that an answer means: of "where" a cluster, "none" or "new"; else "yes" or "no".

        >>> Question("where", (2,), (7,), (2, 0)).pins("new")
        [{'kind': 'in', 'samples': (7,), 'cluster': None}]
        """
        if self.kind != "where":
            one = (answer == "yes") == (self.kind == "pair")
            return [{"kind": "together" if one else "apart", "samples": self.ends, "cluster": None}]
        if answer == "none":
            return [{"kind": "not", "samples": self.samples, "cluster": each} for each in self.candidates]
        return [{"kind": "in", "samples": self.samples, "cluster": None if answer == "new" else int(answer)}]


def choose(learner: "Learner", n: int) -> list[Question]:
    """The n questions that are worth most now, best first. One in EVERY is about two clusters, while there are some."""
    pairs, where = _pairs(learner)[:n], _where(learner, n)
    found = _merges_to_confirm(learner)[:n]
    while len(found) < n and (pairs or where):
        turn = (learner.decisions.count + len(found)) % EVERY == 0
        found.append(pairs.pop(0) if pairs and (turn or not where) else where.pop(0))
    return found


def _merges_to_confirm(learner: "Learner") -> list[Question]:
    """Whether a cluster that was merged holds two things: one wrong answer there costs more than any other."""
    found = []
    for ends in (rows for rows, times in learner.decisions.merges.items() if times == 1):
        cluster = learner.decisions.cluster_of(ends[0])
        if any(learner.labels[end] != cluster for end in ends):
            continue
        parts = [(learner.labels == cluster) & (learner.start == learner.start[end]) for end in ends]
        shown = [
            np.r_[end, np.setdiff1d(typical(learner, np.flatnonzero(part)) if part.any() else [], end)[: SHOWN - 1]]
            for end, part in zip(ends, parts, strict=True)
        ]
        found.append(Question("split", (cluster,), tuple(np.concatenate(shown).astype(int).tolist()), ends=ends))
    return found


def typical(learner: "Learner", rows: np.ndarray, n: int = SHOWN) -> np.ndarray:
    """The n rows of a group that are nearest to its mean, nearest first; those at the core of a cluster first."""
    distance = ((learner.space.x[rows] - learner.space.x[rows].mean(0)) ** 2).sum(1)
    return rows[np.lexsort((distance, ~learner.fixed[rows]))[:n]]


def _pairs(learner: "Learner") -> list[Question]:
    """The pairs of near clusters that were not asked about, by the samples that a merge is expected to set right.

    That is the size of the smaller one, times exp(-r) for the squared distance r of the means in units of the variance
    within both.
    """
    live, K = learner.live, learner.n_clusters
    means, variance = learner.space.means(learner.labels, K)
    size = np.bincount(learner.labels[learner.labels >= 0], minlength=K)
    distance = ((means[live][:, None] - means[live]) ** 2).sum(2)
    ratio = distance / np.maximum(variance[live][:, None] + variance[live], 1e-9)
    near = np.sort(ratio, axis=1)[:, : NEAR + 1][:, -1:]  # itself is the nearest
    ratio = np.where((ratio <= near) | (ratio <= near.T), ratio, np.inf)
    gain = np.minimum(size[live][:, None], size[live]) * np.exp(-ratio)
    known = {tuple(sorted(map(learner.decisions.cluster_of, rows))) for rows in learner.decisions.apart}
    order = np.argsort(-gain, axis=None, kind="stable")
    places = (divmod(int(at), len(live)) for at in order)
    pairs = [(int(live[a]), int(live[b])) for a, b in places if a < b and gain[a, b] > 0]
    return [_pair(learner, *each) for each in pairs if each not in known]


def _pair(learner: "Learner", a: int, b: int) -> Question:
    shown = [typical(learner, np.flatnonzero(learner.labels == cluster)) for cluster in (a, b)]
    return Question("pair", (a, b), tuple(np.concatenate(shown).tolist()), ends=tuple(int(each[0]) for each in shown))


def _where(learner: "Learner", n: int) -> list[Question]:
    """Samples by the hardness-weighted squared covariance that each, once answered, removes; greedily."""
    rng = np.random.default_rng(learner.seed)
    rows = np.sort(rng.permutation(len(learner.labels))[:LOOKED_AT])
    membership = np.partition(learner.probabilities[rows], -min(2, learner.n_clusters), axis=1)
    margin = membership[:, -1] - (membership[:, -2] if learner.n_clusters > 1 else 0)
    hardness, covariance = FLOOR + 1 - margin, learner.posterior(rows, rows)
    asked, found = np.isin(rows, learner.pinned), []
    for _ in range(min(n, int((~asked).sum()))):
        variance = np.maximum(covariance.diagonal(), 1e-6) + NOISE
        best = int(np.where(asked, -1, (hardness @ covariance**2) / variance).argmax())
        asked[best] = True
        covariance = covariance - np.outer(covariance[:, best], covariance[best] / variance[best])
        found.append(_where_is(learner, int(rows[best])))
    return found


def _where_is(learner: "Learner", row: int) -> Question:
    likely = np.argsort(-learner.probabilities[row], kind="stable")
    candidates = [int(c) for c in likely if c in learner.live][:CANDIDATES]
    return Question("where", (int(learner.labels[row]),), (row,), tuple(candidates))
