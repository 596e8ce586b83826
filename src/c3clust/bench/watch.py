"""Scores and pairs after each epoch, seen from outside of training.

The checkpoint of an epoch is when training shows what it has: here true labels meet the labels and z of that moment.
Nothing flows back: what is found goes into a file that training never reads, and nothing random is drawn.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from c3clust import metrics
from c3clust.training.checkpoint import Checkpoints, TrainingState
from c3clust.training.embed import embed

__all__ = ["ZETAS", "Watch", "pair_counts"]

ZETAS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SAMPLE = 1000  # samples whose pairs are counted


def pair_counts(z: Tensor, y: np.ndarray, zetas: Sequence[float]) -> dict[str, dict[str, int]]:
    """For each zeta, pairs of two samples: positives (cosine >= zeta) and negatives, true or false by their classes.

    z: [n, D], unit rows. A true positive is a positive of one class, a false negative a negative of one class.
    """
    i, j = torch.triu_indices(len(z), len(z), offset=1)
    s, classes = (z @ z.T)[i, j], torch.from_numpy(y)
    same = classes[i] == classes[j]
    everything, same_all, found = len(s), int(same.sum()), {}
    for zeta in zetas:
        near = s >= zeta
        near_all, tp = int(near.sum()), int((near & same).sum())
        rest = everything - near_all - same_all + tp
        found[str(zeta)] = {"tp": tp, "fp": near_all - tp, "fn": same_all - tp, "tn": rest}
    return found


class Watch(Checkpoints):
    """Checkpoints of CC or C3 that also note, in epochs.jsonl beside the run folder, what each epoch came to."""

    def __init__(self, y: np.ndarray, run: Path, minutes: float = 10.0) -> None:
        super().__init__(run, minutes)
        self.y, self.path = y, run.parent / "epochs.jsonl"

    def save(self, stage: int, training: TrainingState) -> None:
        if training.step == 0:
            self._note(stage, training.epoch, training.network, training, training.labels.numpy())
        super().save(stage, training)

    def save_end(self, stage: int, network: nn.Module, context: Any, note: dict[str, Any]) -> None:
        self._note(stage, note["epochs"], network, context, context.assignments(network).argmax(axis=1))
        super().save_end(stage, network, context, note)

    def _note(self, stage: int, epoch: int, network: nn.Module, samples: Any, labels: np.ndarray) -> None:
        y = self.y
        chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:SAMPLE])
        z = torch.cat([z for z, _ in embed(network, samples.x[chosen], samples.size)])
        seen = {"stage": stage, "epoch": epoch, **metrics.scores(y, labels), "pairs": pair_counts(z, y[chosen], ZETAS)}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(seen) + "\n")
