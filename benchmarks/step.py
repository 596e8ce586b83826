"""The whole training step of CC against the bare network's forward + backward on ready views, as Markdown.

    python -m benchmarks.step [--quick]

The whole step is the real training loop's: read the batch, two views, objective, backward, Adam, log. The bare network
(encoder and both heads) runs between two steps, on the views of the next one.
"""

import torch
from torch import Tensor

from benchmarks import harness
from benchmarks.augment import pictures
from c3clust import augment
from c3clust.methods.cc import CCObjective
from c3clust.networks import ClusterNet
from c3clust.networks import backbone as make_backbone
from c3clust.training import Batch, Stage, TrainingContext, train
from c3clust.training.context import placed

# network, pixels, batch, steps, target. Small batches for the large ones: the share of the rest is the same or larger.
CASES = (("convnet", 32, 256, 12, 1.30), ("resnet18", 32, 64, 5, 1.10), ("resnet34", 224, 8, 5, 1.05))


class Watch:
    """An objective that times the loop it is called from: from one call to the next is one step."""

    def __init__(self) -> None:
        self.objective = CCObjective(0.5, 1.0)
        self.started: float | None = None
        self.step = self.bare = float("inf")

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        now = harness.clock()
        if self.started is not None:
            self.step = min(self.step, now - self.started)
        bare(network, batch.x_a, batch.x_b)
        self.bare = min(self.bare, harness.clock() - now)
        self.started = harness.clock()
        return self.objective(network, batch)


def bare(network: ClusterNet, x_a: Tensor, x_b: Tensor) -> None:
    """Forward and backward of both views, nothing else."""
    (z_a, c_a), (z_b, c_b) = network(x_a), network(x_b)
    loss = (z_a * z_b).sum() + (c_a * c_b).sum()
    torch.autograd.grad(loss, list(network.parameters()))


def measure(backbone: str, side: int, batch: int, steps: int) -> tuple[float, float]:
    """Seconds of the whole step and of the bare network."""
    shape = (3, side, side)
    torch.manual_seed(0)
    f, width = make_backbone(backbone, shape)
    network = placed(ClusterNet(f, width, 128, 10), shape, torch.device("cpu"))
    x, watch = pictures(batch * steps, side).numpy(), Watch()
    context = TrainingContext(x, shape, augment.Photo(), 0, torch.device("cpu"))
    train(Stage("cc", 1, batch, 1e-3), network, watch, context)
    return watch.step, watch.bare


def rows(quick: bool) -> list[harness.Row]:
    found = []
    for backbone, side, batch, steps, target in CASES:
        if quick:
            batch, steps = max(4, batch // 8), 3
        whole, alone = measure(backbone, side, batch, steps)
        note = f"batch {batch}, {1e3 * whole:.0f} ms against {1e3 * alone:.0f} ms"
        found.append(harness.at_most(f"CC step / bare network, {backbone} {side} px", whole / alone, target, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__)
