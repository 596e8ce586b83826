"""Split: one cluster of a model becomes several, by heads on its representation z. Nothing is trained but the heads.

`Step`: what was changed after the fit, in order: merges and names, samples placed by hand, splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from c3clust.errors import RunError
from c3clust.estimator.corrections import FILE as CORRECTIONS
from c3clust.estimator.corrections import Corrections
from c3clust.files import model_io
from c3clust.networks.vector_head import VectorHead
from c3clust.records.assignments import Assignments
from c3clust.records.changes import Change, current, new_change
from c3clust.records.edits import Edits
from c3clust.records.embedding import FILE as Z
from c3clust.records.embedding import read_z

__all__ = ["Split", "Step", "read_edits", "write_steps"]

FILE = "split"


@dataclass(frozen=True, eq=False)
class Split:
    """cluster becomes the clusters `numbers`, one for each output of the heads, of `n_clusters` in all."""

    cluster: int
    numbers: tuple[int, ...]
    n_clusters: int
    heads: VectorHead

    @torch.no_grad()
    def parts(self, z: np.ndarray) -> np.ndarray:
        """Probability [n, parts] of each part, for z [n, D]."""
        if z.shape[1] != self.heads.width:
            raise RunError(f"A split for {self.heads.width} features does not fit a model with {z.shape[1]}.")
        if not len(z):
            return np.zeros((0, len(self.numbers)), np.float32)
        return np.concatenate([self.heads(torch.from_numpy(z[i : i + 4096]))[1] for i in range(0, len(z), 4096)])

    def apply(self, labels: np.ndarray, proba: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels [n] and probabilities [n, M] after the split: the probability of the cluster goes to its parts."""
        q, inside = self.parts(z), labels == self.cluster
        labels = labels.copy()
        labels[inside] = np.asarray(self.numbers)[q[inside].argmax(axis=1)]
        wide = np.zeros((len(proba), self.n_clusters), proba.dtype)
        wide[:, : proba.shape[1]] = proba
        wide[:, list(self.numbers)] = proba[:, [self.cluster]] * q
        return labels, wide

    def write(self, folder: Path, carried: int) -> None:
        """Write the change and its heads into the folder of a change."""
        model_io.write(folder / FILE, {}, self.heads.state_dict())
        Change("split", self.n_clusters, carried, self.cluster, list(self.numbers)).write(folder)

    @classmethod
    def read(cls, folder: Path) -> "Split":
        """The split of a change."""
        change, (_, tensors) = Change.read(folder), model_io.read(folder / FILE, "split")
        assert change.cluster is not None
        try:
            with torch.device("meta"):
                heads = VectorHead(len(change.numbers), len(tensors["centre"]))
            model_io.check_types(tensors, heads.state_dict())
            heads.load_state_dict(tensors, strict=True, assign=True)
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            raise RunError(f"{folder} is damaged or of another kind: {str(error).splitlines()[0]}") from None
        return cls(change.cluster, tuple(change.numbers), change.n_clusters, heads.eval())


Step = Edits | Corrections | Split


def read_edits(run: str | Path, folder: Path, n_clusters: int) -> list[Step]:
    """The edits in the folder of a run or a change, and the corrections that they make of the samples."""
    edits = Edits.read(folder, n_clusters)
    if (folder / f"{CORRECTIONS}.json").exists():
        return [edits, Corrections.read(folder, edits.n_all)]
    if not edits.placed:
        return [edits]
    found = Assignments.read(folder)
    if (z := read_z(run, len(found.names))) is None:
        raise RunError(
            f"{run} has samples that were moved and no {Z}, by which predict follows them: undo the moves, or make it "
            f"with c3clust move {run} and the samples again."
        )
    before = edits.apply(found.clusters)[0]
    corrections = Corrections.of(z, before, found.edited(edits).clusters)
    return [edits] if corrections is None else [edits, corrections]


def write_steps(folder: Path, steps: Sequence[Step]) -> None:
    """Write the edits and splits of a model that is saved again. It contains no names of samples."""
    at, carried = folder, 0
    for step in steps:
        if isinstance(step, Split):
            with new_change(folder) as partial:
                step.write(partial, carried)
            at = current(folder)
        elif isinstance(step, Corrections):
            step.write(at)
        elif step.operations:
            edits = step.without_samples()
            edits.write(at)
            carried = len(edits.operations)
