"""The guard of C3: it detects without labels that stage 2 fails, stops it, and restores the last healthy network.

All pairs positive, the collapse to one point, is the global minimum of the C3 loss. Only a good start, a small learning
rate and few epochs prevent it, so each epoch is checked. Stage 2 begins with clusters of n_m samples. A view that is
close to all views of its cluster and to no others has 2 + (V - 2) Σ (n_m / n)² positives among the V = 2N views of a
batch: itself, its twin, and its cluster's share of the others. For equal clusters that is about 2N/M, and more if they
are small: 3.3 for 200 clusters and N = 128. Many more of the others mean that clusters merge.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from c3clust.files.model_io import with_prefix, without_prefix

__all__ = ["OVERFULL", "Guard", "effective_clusters", "expected_positives"]

OWN = 2.0  # positives of every view: itself and its twin
MERGING = 1.5  # times the other positives that are expected: clusters merge
OVERFULL = 1.15  # times the other positives that are expected: up to here a network is worth restoring
FALLEN = 0.75  # of the effective clusters at the start: clusters die
LEAP = 0.5  # of all labels in one epoch: what was learned before is lost
IDLE = 2.5  # positives per view, itself and its twin among them: zeta finds almost nothing
RESTLESS = 0.02  # of all labels in the last epoch

Figures = dict[str, float]


def effective_clusters(sizes: Sequence[int]) -> float:
    """exp of the entropy of the sizes: M when clusters are equal, 1 when one holds everything.

    >>> effective_clusters([5, 5, 0, 0])
    2.0
    """
    shares = [size / sum(sizes) for size in sizes if size]
    return math.exp(-sum(share * math.log(share) for share in shares))


def expected_positives(sizes: Sequence[int], views: int) -> float:
    """Positives of a view that is close to all views of its cluster and no others, itself and its twin among them.

    >>> expected_positives([50, 50], 256)
    129.0
    """
    return OWN + (views - OWN) * sum((size / sum(sizes)) ** 2 for size in sizes)


@dataclass
class Guard:
    """Checks each epoch of a stage. Epoch 0 is the network at the start of the stage."""

    views: int = 0  # in a batch
    sizes: list[int] = field(default_factory=list)  # of the clusters at epoch 0
    healthy: dict[str, Tensor] = field(default_factory=dict)
    epoch: int = 0  # whose network is kept
    decision: dict[str, Any] | None = None

    def begin(self, network: nn.Module, labels: Tensor, n_clusters: int, views: int) -> None:
        """Keep epoch 0."""
        self.sizes, self.views = torch.bincount(labels, minlength=n_clusters).tolist(), views
        self._keep(network, 0)

    def stops(self, network: nn.Module, curves: Mapping[str, list[Any]], epoch: int) -> bool:
        """Whether to stop after this epoch. A healthy one is kept, unless its clusters are already overfull."""
        reason = _not_finite(network, curves) or self._collapse(curves) or self._leap(curves)
        if reason is None:
            if curves["positives_per_view"][-1] <= _times(OVERFULL, expected_positives(self.sizes, self.views)):
                self._keep(network, epoch)
            return False
        text, figures = reason
        self.decision = {
            "stopped_after": epoch,
            "returned": self.epoch,
            "why": text.format(**figures),
            "figures": figures,
        }
        return True

    def restore(self, network: nn.Module) -> None:
        """Restore the last healthy network, if the guard stopped the stage."""
        if self.decision is not None:
            network.load_state_dict(self.healthy)

    def report(self, curves: Mapping[str, list[Any]], name: str) -> dict[str, Any]:
        """For the record: the limits, the decision with its numbers, and the messages, one sentence each."""
        messages = list(self._remarks(curves, name)) if self.decision is None else [_sentence(self.decision, name)]
        expected = expected_positives(self.sizes, self.views)
        limits = {"expected_positives": expected, "most_positives": _most(expected, self.views)}
        limits["least_clusters"] = FALLEN * effective_clusters(self.sizes)
        return {"returned": self.epoch, "decision": self.decision, "limits": limits, "told": messages}

    def state_dict(self) -> dict[str, Tensor]:
        plain = {"sizes": torch.tensor(self.sizes), "at": torch.tensor([self.views, self.epoch])}
        return plain | with_prefix("healthy", self.healthy)

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.sizes = [int(size) for size in state["sizes"]]
        self.views, self.epoch = (int(value) for value in state["at"])
        self.healthy = without_prefix("healthy", state)

    def _keep(self, network: nn.Module, epoch: int) -> None:
        self.healthy = {name: t.detach().clone() for name, t in network.state_dict().items()}
        self.epoch = epoch

    def _collapse(self, curves: Mapping[str, list[Any]]) -> tuple[str, Figures] | None:
        expected, positives = expected_positives(self.sizes, self.views), curves["positives_per_view"][-1]
        before, clusters = effective_clusters(self.sizes), effective_clusters(curves["cluster_sizes"][-1])
        if positives > _most(expected, self.views):
            figures = {"positives_per_view": positives, "expected": expected, "views": self.views}
            return (
                "clusters merge: {positives_per_view:.0f} positives per view, {expected:.0f} expected",
                figures,
            )
        if clusters < FALLEN * before:
            figures = {"effective_clusters": clusters, "before": before}
            return "clusters vanish: their effective number fell from {before:.1f} to {effective_clusters:.1f}", figures
        return None

    def _leap(self, curves: Mapping[str, list[Any]]) -> tuple[str, Figures] | None:
        changed = curves["labels_changed"][-1]
        if changed > LEAP:
            return "stage 1 is forgotten: {labels_changed:.0%} of the labels changed", {"labels_changed": changed}
        return None

    def _remarks(self, curves: Mapping[str, list[Any]], name: str) -> Iterator[str]:
        """Remarks on a stage that was not stopped."""
        if not curves.get("loss"):
            return
        positives, expected = curves["positives_per_view"][-1], expected_positives(self.sizes, self.views)
        if positives < min(IDLE, 0.75 * expected):
            yield (
                f"Stage {name} found almost no positives ({positives:.1f} per view, {expected:.0f} expected): the "
                "start is too weak for zeta. Train stage 1 longer, or lower zeta."
            )
        died = [m for m, (a, b) in enumerate(zip(self.sizes, curves["cluster_sizes"][-1], strict=True)) if a and not b]
        if died:
            yield f"Stage {name} emptied {len(died)} of {len(self.sizes)} clusters: {', '.join(map(str, died[:6]))}."
        if curves["labels_changed"][-1] > RESTLESS and len(curves["loss"]) > 1:
            yield f"{curves['labels_changed'][-1]:.1%} of the labels still changed in the last epoch of stage {name}."


def _times(factor: float, expected: float) -> float:
    """`factor` times as many positives as expected, the view itself and its twin not multiplied."""
    return OWN + factor * (expected - OWN)


def _most(expected: float, views: int) -> float:
    """The largest number of positives that passes: at most the midpoint of the expected number and all views."""
    return min(_times(MERGING, expected), (views + expected) / 2)


def _not_finite(network: nn.Module, curves: Mapping[str, list[Any]]) -> tuple[str, Figures] | None:
    finite = all(bool(t.isfinite().all()) for t in network.state_dict().values() if t.is_floating_point())
    if finite and math.isfinite(curves["loss"][-1] + curves["assignment_entropy"][-1]):
        return None
    return "the loss or the weights are not finite", {}


def _sentence(decision: Mapping[str, Any], name: str) -> str:
    why, after = decision["why"], decision["stopped_after"]
    back = f"of epoch {decision['returned']}" if decision["returned"] else "of its start"
    return (
        f"The guard stopped stage {name} after epoch {after} ({why}) and restored the network {back}. "
        "Raise zeta, lower the learning rate, or train stage 1 longer."
    )
