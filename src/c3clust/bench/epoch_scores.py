"""Scores and counts of pairs after each epoch, computed from outside of training.

Whenever a checkpoint is saved, the labels and z of that moment are compared with the true labels. Training is not
affected: the result goes to a file that training never reads, and no random number is drawn.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from c3clust import metrics
from c3clust.data.io.subset import Subset
from c3clust.files.atomic import append_to
from c3clust.training.checkpoint import Checkpoints, TrainingState
from c3clust.training.embed import embed

ZETAS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SAMPLE = 1000  # samples whose pairs are counted


def pair_counts(z: Tensor, y: np.ndarray, zetas: Sequence[float]) -> dict[str, dict[str, int]]:
    """Count, for each zeta, the pairs of samples that are positive (cosine >= zeta) or negative, truly or falsely.

    z: [n, D], unit rows. A true positive is a positive pair of one class, a false negative a negative one.
    """
    i, j = torch.triu_indices(len(z), len(z), offset=1)
    s, classes = (z @ z.T)[i, j], torch.from_numpy(y)
    same = classes[i] == classes[j]
    pairs, same_all, counts = len(s), int(same.sum()), {}
    for zeta in zetas:
        near = s >= zeta
        near_all, tp = int(near.sum()), int((near & same).sum())
        tn = pairs - near_all - same_all + tp
        counts[str(zeta)] = {"tp": tp, "fp": near_all - tp, "fn": same_all - tp, "tn": tn}
    return counts


class EpochScores(Checkpoints):
    """Checkpoints of CC or C3 that also append a line per epoch to epochs.jsonl next to the run folder."""

    def __init__(self, y: np.ndarray, run: Path, minutes: float = 10.0) -> None:
        super().__init__(run, minutes)
        self.y, self.path = y, run.parent / "epochs.jsonl"

    def save(self, stage: int, training: TrainingState) -> None:
        if training.step == 0:
            labels = training.labels.numpy()
            if not getattr(training.objective, "assigns", True):  # then the loop has not evaluated them
                parts = embed(training.network, training.x, training.size)
                labels = torch.cat([c.argmax(dim=1) for _, c in parts]).numpy()
            self._evaluate(stage, training.epoch, training.network, training, labels)
        super().save(stage, training)

    def save_end(self, stage: int, network: nn.Module, context: Any, note: dict[str, Any]) -> None:
        self._evaluate(stage, note["epochs"], network, context, context.assignments(network).argmax(axis=1))
        super().save_end(stage, network, context, note)

    def _evaluate(self, stage: int, epoch: int, network: nn.Module, samples: Any, labels: np.ndarray) -> None:
        y = self.y[samples.x.chosen] if isinstance(samples.x, Subset) else self.y  # copies are not trained on
        sample = np.sort(np.random.default_rng(0).permutation(len(y))[:SAMPLE])
        z = torch.cat([z for z, _ in embed(network, samples.x[sample], samples.size)])
        pairs = pair_counts(z, y[sample], ZETAS)
        entry = {"stage": stage, "epoch": epoch, **metrics.scores(y, labels), "pairs": pairs}
        with append_to(self.path) as file:
            file.write((json.dumps(entry) + "\n").encode())
