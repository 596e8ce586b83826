"""Choose C3's threshold zeta without labels, by probes in the instance head alone.

A view's positives should be the views of its own cluster. In a batch of 2N views a cluster with share p of the data
holds 2N p of them, so a view drawn at random expects 2N sum_m p_m^2 (2N / M for equal clusters). A zeta at which
positives settle well above that merges clusters, one at which they stay well below pulls nothing together.

Where positives settle shows only after the whole stage, and short probes of f and g_I choose too small a zeta. The head
alone is enough. The features h of two views of a few thousand samples are computed once; for each candidate a copy of
g_I descends the C3 loss on them, at ten times the usual learning rate of the stage, for 100 steps of a few
milliseconds. Positives fall as zeta rises, so bisection finds the largest candidate at which they still reach nine
tenths of the expectation: clusters are filled, and as far from merging as possible. If there are too many even there,
the next candidate is used: too few positives leave CC unchanged, too many ruin it. The shares p are those of k-means in
the same z.
"""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust.networks.readouts import nearest, spherical_kmeans
from c3clust.training import Adam

__all__ = ["CANDIDATES", "SAMPLES", "choose_zeta", "search", "settled_positives"]

CANDIDATES = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
FULL, OVERFULL = 0.9, 1.15  # times the expectation: clusters are filled; they merge
SAMPLES = 4096  # that are probed
STEPS, LAST = 100, 20  # of a probe, and those at its end that are averaged
RATE = 1e-3
PROBE_LIMIT = 2.0  # times the expectation, at which a probe ends

Loss = Callable[[Tensor, Tensor, float], tuple[Tensor, Tensor]]  # z_a, z_b, zeta -> loss, positives per view


def choose_zeta(
    g_i: nn.Module, h: tuple[Tensor, Tensor], n_clusters: int, batch: int, loss: Loss, seed: int
) -> tuple[float, dict[str, Any]]:
    """The zeta for these features h_a, h_b ([n, F], two views of each sample), and the entry for the record."""
    batch = min(batch, len(h[0]))
    with torch.no_grad():
        z = F.normalize(g_i(h[0]), dim=1).cpu().numpy()
    labels = nearest(z, spherical_kmeans(z, n_clusters, seed, starts=5, shared=True))
    sizes = np.bincount(labels, minlength=n_clusters).tolist()
    expected = max(2 * batch * sum((size / sum(sizes)) ** 2 for size in sizes), 2.0)
    zeta, probes = search(
        lambda zeta: settled_positives(g_i, h, zeta, batch, loss, seed, PROBE_LIMIT * expected) / expected, CANDIDATES
    )
    account = {
        "chosen": zeta,
        "expected_positives": expected,
        "sizes": sizes,
        "probes": [{"zeta": z, "positives_per_view": ratio * expected} for z, ratio in sorted(probes.items())],
    }
    return zeta, account | {"why": _why(zeta, account)}


def search(ratio: Callable[[float], float], candidates: Sequence[float]) -> tuple[float, dict[float, float]]:
    """The last of rising candidates whose (falling) ratio is at least FULL, and all that were asked.

    The first one if there is none; the next one if this is OVERFULL.

    >>> search({0.4: 9.0, 0.5: 4.0, 0.6: 2.0, 0.7: 1.0, 0.8: 0.5}.get, (0.4, 0.5, 0.6, 0.7, 0.8))
    (0.7, {0.6: 2.0, 0.7: 1.0, 0.8: 0.5})
    """
    asked: dict[float, float] = {}
    low, high = 0, len(candidates)  # the first is taken if none will do; ratios are too small from high on
    while high - low > 1:
        middle = (low + high) // 2
        asked[candidates[middle]] = value = ratio(candidates[middle])
        low, high = (middle, high) if value >= FULL else (low, middle)
    if candidates[low] not in asked:
        asked[candidates[low]] = ratio(candidates[low])
    overfull = asked[candidates[low]] > OVERFULL and high < len(candidates)
    return candidates[high if overfull else low], asked


def settled_positives(
    g_i: nn.Module, h: tuple[Tensor, Tensor], zeta: float, batch: int, loss: Loss, seed: int, most: float = math.inf
) -> float:
    """Positives per view at the end of a probe: a copy of the head g_I alone descends the loss on fixed features.

    A probe that reaches `most` positives ends there.
    """
    head = copy.deepcopy(g_i)
    optimiser = Adam(head.parameters(), lr=RATE)
    generator, positives = torch.Generator().manual_seed(seed), []
    with torch.enable_grad():
        for _ in range(STEPS):
            i = torch.randperm(len(h[0]), generator=generator)[:batch].to(h[0].device)
            z_a, z_b = (F.normalize(head(view[i]), dim=1) for view in h)
            value, found = loss(z_a, z_b, zeta)
            optimiser.zero_grad(set_to_none=True)
            value.backward()
            optimiser.step()
            positives.append(found.item())
            if positives[-1] > most:
                return positives[-1]
    return float(np.mean(positives[-LAST:]))


def _why(zeta: float, account: dict[str, Any]) -> str:
    """One sentence for the owner of the run."""
    found = {probe["zeta"]: probe["positives_per_view"] for probe in account["probes"]}
    others = ", ".join(f"{z:g}: {positives:.1f}" for z, positives in found.items() if z != zeta)
    return (
        f"zeta {zeta:g} was chosen: in a probe of its head each view settled with {found[zeta]:.1f} positives, "
        f"where clusters of these sizes hold {account['expected_positives']:.1f}"
        + (f" (other values of zeta: {others})." if others else ".")
    )
