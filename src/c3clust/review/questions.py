"""Questions: what to ask a person next.

"where": where does this sample belong? Chosen by the samples that an answer is expected to set right: the chance that
it is wrong (hardness), times that of the samples near it (density) as far as the pins do not tell about them already
(diversity), the three parts of IDC (Sun et al., NeurIPS 2024).
"pair": are these two clusters one? "split": does this cluster hold two things? Chosen by the samples that an answer is
expected to set right, as in A3S (Deng et al., ICML 2024). An answer that is in doubt is asked for again first.
Of a cluster that holds two things, one part is not in it; where it belongs is asked next.
For the number of clusters, pairs that may be one and samples that may be something new are asked about (counting.py).
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from c3clust.review.counting import nearest, new_things, one_thing
from c3clust.review.decisions import CONFIRMED

if TYPE_CHECKING:
    from c3clust.review.learner import Learner

__all__ = ["Question", "choose"]

CANDIDATES = 5  # clusters that a sample may belong to
SHOWN = 8  # samples that show a cluster
LOOKED_AT = 1500  # samples that are asked about, or whose uncertainty counts; of more, a random part
FLOOR = 0.02  # chance that a sample is wrong of which the model is certain
NOISE = 0.05  # variance of an answer
DOUBTFUL = 0.3  # doubt from which a sample is asked about again
ONE, NEAR, FAR = 0.3, 0.09, 0.003  # chance that two clusters are one: that overlap, that are neighbours, of any
ASKED = 10  # pairs that are asked about for each that is one, if the chances are right
CHANGES = 0.1  # share of the answers about the number of clusters that change it
ENOUGH = 2  # answers that two clusters are not one
HIDDEN = 0.08  # chance that a part is something else, if its log odds are high
PARTED = 2  # splits that are asked about for each that is one, if the chances are right
WHOLE = 0.3  # how much the chance shrinks with each answer that the cluster is one thing
PART = 5  # samples of a part that is asked about
ENDS = 3  # samples that stand for each side of a split


@dataclass(frozen=True)
class Question:
    """A question about clusters.

    kind: "where": samples has one row, candidates the clusters it may belong to. "pair": clusters has two, samples the
    most typical rows of the first, then as many of the second; the two most typical ones, `ends`, stand for them.
    "split": clusters has one, samples the most typical rows of most of it, then of the part that may be something
    else; the most typical ones of both, `ends`, stand for them.
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
        if self.kind == "pair":
            return [{"kind": "together" if answer == "yes" else "apart", "samples": self.ends, "cluster": None}]
        if self.kind == "split":
            half = len(self.ends) // 2
            if answer == "no":
                return [{"kind": "together", "samples": self.ends[::half], "cluster": None}]
            return [{"kind": "not", "samples": self.ends[half:], "cluster": self.clusters[0]}]
        if answer == "none":
            return [{"kind": "not", "samples": self.samples, "cluster": each} for each in self.candidates]
        return [{"kind": "in", "samples": self.samples, "cluster": None if answer == "new" else int(answer)}]


def choose(learner: "Learner", n: int, number: bool = False) -> list[Question]:
    """The n questions that are worth most now: answers in doubt first, then by the samples that one may set right.

    number: those that are most likely to change the number of clusters.
    """
    if number:
        return _about_number(learner, n)
    doubtful, others = _again(learner, n)
    valued = sorted([*others, *_pairs(learner, n), *_splits(learner), *_where(learner, n)], key=lambda each: -each[0])
    return [*_merges_to_confirm(learner), *_parted(learner), *doubtful, *(question for _, question in valued)][:n]


def _about_number(learner: "Learner", n: int) -> list[Question]:
    """The n pairs that may be one, and samples that may be something new, the most likely first."""
    rows, found = _looked_at(learner), learner.decisions
    rows = rows[learner.labels[rows] >= 0]
    if len(rows) < SHOWN:
        return []
    x, labels, near = learner.space.x[rows], learner.labels[rows], nearest(learner.space.own[rows])
    apart = {tuple(sorted(map(found.cluster_of, pair))) for pair in found.apart}
    merged = sum(times >= CONFIRMED for times in found.merges.values())
    new = learner.n_clusters - learner.prior.shape[1]
    more = [_more(merged, len(apart) + merged), _more(new, len(found.placed))]
    pairs = [(odds, pair) for odds, pair in one_thing(x, labels, near) if pair not in apart]
    things = new_things(x, labels, near, np.isin(rows, list(found.placed)))
    valued: list[tuple[float, tuple[int, ...]]] = [(odds + more[0], pair) for odds, pair in pairs]
    valued += [(odds + more[1], (int(rows[i]),)) for odds, i, _ in things]
    return [
        _pair(learner, *what) if len(what) == 2 else _where_is(learner, what[0], learner.probabilities[what[0]])
        for _, what in sorted(valued, key=lambda each: -each[0])[:n]
    ]


def _more(changed: int, asked: int) -> float:
    """How much the log odds grow with the share of answers that changed the number so far."""
    return float(np.log((1 + changed) / (1 + CHANGES * asked)))


def _again(learner: "Learner", n: int) -> tuple[list[Question], list[tuple[float, Question]]]:
    """Samples whose answer is in doubt, those with the most samples near first; and n others, by their doubt."""
    rows = np.flatnonzero((learner.doubt > 0) & ~np.isin(learner.pinned, list(learner.decisions.waiting)))
    doubt, near = learner.doubt[rows], (learner.covariance(learner.pinned[rows], _looked_at(learner)) ** 2).sum(1)
    first = doubt >= DOUBTFUL
    order = np.argsort(-np.where(first, 1 + doubt * near, doubt), kind="stable")[: int(first.sum()) + n]
    found = [
        (float(doubt[i]), _where_is(learner, int(learner.pinned[row]), learner.left_out[row]))
        for i, row in zip(order, rows[order], strict=True)
    ]
    return [question for _, question in found[: first.sum()]], found[first.sum() :]


def _looked_at(learner: "Learner") -> np.ndarray:
    return np.sort(np.random.default_rng(learner.seed).permutation(len(learner.labels))[:LOOKED_AT])


def _merges_to_confirm(learner: "Learner") -> list[Question]:
    """The pairs that are one by a single answer: a wrong one costs more than any other. Other samples are shown."""
    found = []
    for ends in (rows for rows, times in learner.decisions.merges.items() if times < CONFIRMED):
        one, two = (learner.start_of(end) for end in ends)
        if one != two and {one, two} <= set(learner.live.tolist()):
            found.append(_pair(learner, one, two, ends, SHOWN - 1))
    return found


def typical(learner: "Learner", rows: np.ndarray, n: int = SHOWN) -> np.ndarray:
    """The n rows of a group that are nearest to its mean, nearest first; those at the core of a cluster first."""
    distance = ((learner.space.x[rows] - learner.space.x[rows].mean(0)) ** 2).sum(1)
    return rows[np.lexsort((distance, ~learner.fixed[rows]))[:n]]


def _pairs(learner: "Learner", n: int) -> list[tuple[float, Question]]:
    """The n pairs of clusters by the certain samples of the smaller one, times the chance that they are one."""
    live = learner.live
    inside = np.flatnonzero(learner.labels >= 0)
    certain = np.clip(2 * learner.probabilities[inside, learner.labels[inside]] - 1, 0, 1)
    size = np.bincount(learner.labels[inside], certain, learner.n_clusters)[live]
    gain = np.triu(np.minimum(size[:, None], size) * _chances(learner, live), 1)
    order = np.argsort(-gain, axis=None, kind="stable")[:n]
    places = [divmod(int(at), len(live)) for at in order]
    return [(float(gain[a, b]), _pair(learner, int(live[a]), int(live[b]))) for a, b in places if gain[a, b] > 0]


def _chances(learner: "Learner", live: np.ndarray) -> np.ndarray:
    """[live, live]: the chance that two clusters are one, by the model, the means, and the answers so far."""
    c = learner.mean[:, live]
    common = c.T @ c
    alike = common / np.sqrt(np.outer(np.diag(common), np.diag(common)) + 1e-12)
    means, variance = (each[live] for each in learner.space.means(learner.labels, learner.n_clusters))
    distance = ((means[:, None] - means) ** 2).sum(2)
    rank = distance.argsort(1, kind="stable").argsort(1)  # 0 is the cluster itself
    overlap = np.exp(-2 * distance / np.maximum(variance[:, None] + variance, 1e-9))
    chance = ONE * (alike + overlap) + NEAR / np.maximum(rank * rank.T, 1) + FAR
    found = learner.decisions
    apart = Counter(tuple(sorted(map(found.cluster_of, rows))) for rows in found.apart)
    merged = sum(times >= CONFIRMED for times in found.merges.values())
    over = max(len(live) - learner.prior.shape[1], 0)  # new ones: if the number was right, others are one
    chance = np.clip(chance * (1 + merged + over) / (1 + (apart.total() + merged) / ASKED), 0, 0.5)
    for pair, times in apart.items():
        if set(pair) <= set(live.tolist()):
            at = tuple(np.searchsorted(live, pair))
            odds = chance[at] / (1 - chance[at]) * (learner.wrong / (1 - learner.wrong)) ** times
            chance[at] = chance[at[::-1]] = odds / (1 + odds) if times < ENOUGH else 0
    return chance


def _pair(learner: "Learner", a: int, b: int, ends: tuple[int, ...] = (), skip: int = 0) -> Question:
    """The question about two clusters, by samples that are typical of them; `skip` leaves out the most typical ones."""
    rows = [typical(learner, np.flatnonzero(learner.labels == cluster), SHOWN + skip) for cluster in (a, b)]
    ends = ends or tuple(int(each[0]) for each in rows)
    others = [each[~np.isin(each, ends)][1 - SHOWN :] for each in rows]
    shown = [[end, *each] for end, each in zip(ends, others, strict=True)]
    return Question("pair", (a, b), tuple(int(row) for rows in shown for row in rows), ends=ends)


def _splits(learner: "Learner") -> list[tuple[float, Question]]:
    """Of each cluster, the part with the most samples times the chance that they are something else."""
    rows, found = _looked_at(learner), learner.decisions
    rows = rows[learner.labels[rows] >= 0]
    if len(rows) < SHOWN:
        return []
    labels, one = learner.labels[rows], Counter(found.cluster_of(row) for row, _ in found.whole)
    scale = len(learner.labels) / len(rows) * HIDDEN
    yes, ends = len(set(found.parted)), {row for _, row in found.whole}
    scale *= (1 + yes) / (1 + (yes + len(found.whole)) / PARTED)
    told, best = np.isin(rows, [*found.placed, *found.banned]), dict[int, tuple[float, np.ndarray]]()
    for odds, _, part in new_things(learner.space.x[rows], labels, nearest(learner.space.own[rows]), told):
        cluster = int(labels[part[0]])
        gain = float(scale * WHOLE ** one[cluster] * len(part) / (1 + np.exp(-odds)))
        if len(part) >= PART and gain > best.get(cluster, (0.0,))[0] and ends.isdisjoint(rows[part].tolist()):
            best[cluster] = gain, rows[part]
    return [(gain, _split(learner, cluster, part)) for cluster, (gain, part) in best.items()]


def _parted(learner: "Learner") -> list[Question]:
    """Where a part belongs that is known not to be in its cluster."""
    found = learner.decisions
    rows = [row for row in dict.fromkeys(found.parted) if row not in found.placed and len(found.banned[row]) == 1]
    return [_where_is(learner, row, learner.probabilities[row]) for row in rows]


def _split(learner: "Learner", cluster: int, part: np.ndarray) -> Question:
    """The question about a part of a cluster, by samples that are typical of the rest and of the part."""
    rest = np.setdiff1d(np.flatnonzero(learner.labels == cluster), part)
    sides = [typical(learner, rows).tolist() for rows in (rest, part)]
    m = min(ENDS, *map(len, sides))
    return Question("split", (cluster,), (*sides[0], *sides[1]), ends=(*sides[0][:m], *sides[1][:m]))


def _where(learner: "Learner", n: int) -> list[tuple[float, Question]]:
    """Samples by the chance that they, and with them those of a high posterior covariance, are wrong; greedily."""
    rows = _looked_at(learner)
    asked, found, scale = np.isin(rows, list(learner.decisions.placed)), [], len(learner.labels) / len(rows)
    wrong = np.where(asked, 0, FLOOR + 1 - learner.probabilities[rows].max(1))
    covariance = learner.posterior(rows, rows)
    for _ in range(min(n, int((~asked).sum()))):
        variance = np.maximum(covariance.diagonal(), 1e-6) + NOISE
        value = np.where(asked, -1, wrong * (1 + scale * (wrong @ covariance**2) / variance))
        best = int(value.argmax())
        asked[best] = True
        covariance = covariance - np.outer(covariance[:, best], covariance[best] / variance[best])
        found.append((float(value[best]), _where_is(learner, int(rows[best]), learner.probabilities[rows[best]])))
    return found


def _where_is(learner: "Learner", row: int, chance: np.ndarray) -> Question:
    """Where one sample belongs: its cluster, and those with the largest chances [K]."""
    likely = [int(learner.labels[row]), *np.argsort(-chance, kind="stable").tolist()]
    possible = set(learner.live.tolist()) - learner.decisions.banned.get(row, set())
    candidates = [c for c in dict.fromkeys(likely) if c in possible][:CANDIDATES]
    return Question("where", (int(learner.labels[row]),), (row,), tuple(candidates))
