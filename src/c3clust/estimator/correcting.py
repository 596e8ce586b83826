"""Correctable: the part of an estimator that follows the answers of a person, and asks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.estimator.corrections import Corrections
from c3clust.estimator.editing import Editable
from c3clust.estimator.prediction import confidence_of
from c3clust.records.edits import Edits
from c3clust.review.learner import Learner
from c3clust.review.questions import Question

__all__ = ["Correctable"]


class Correctable(Editable):
    """`correct` and `questions`, for every method that leaves z."""

    _outputs_: tuple[Any, np.ndarray]  # z and c of the distinct samples of the fit
    _learner_: Learner | None

    def correct(self, pins: Sequence[Any]) -> Any:
        """Follow the answers of a person: the pins hold, samples near them follow, the rest stays.

        Sets `labels_` and `confidence_`; `predict` follows. Nothing is trained but what is on top of z.

        Parameters
        ----------
        pins : sequence of records.pins.Pin
            All answers so far, in order; samples are positions in X. Fewer of them undo, none restores the fit.

        Returns
        -------
        self : the estimator
        """
        learner = self._learn()
        learner.correct(pins)
        rows, c = self.outputs_of_fit()
        before = c.argmax(axis=1)
        new = learner.n_clusters - c.shape[1]
        edits = Edits(c.shape[1], [{"op": "pin", "pins": [], "new": [""] * new}] if new else [])
        corrections = Corrections.of(rows, np.where(learner.start < 0, -1, before), learner.labels)
        self._steps_ = [edits] if corrections is None else [edits, corrections]
        self.labels_, self.confidence_ = learner.labels, confidence_of(learner.labels, learner.probabilities)
        return self

    def questions(self, n: int = 10, number: bool = False) -> list[Question]:
        """The n questions whose answers are worth most now, best first; `Question.pins(answer)` has the pins.

        number: those that tell most about the number of clusters, if it is not known.
        """
        return self._learn().questions(n, number)

    def _learn(self) -> Learner:
        """What learns from the pins, made when it is first needed."""
        if getattr(self, "_outputs_", None) is None or (self._learner_ is None and self._steps()):
            raise RunError(
                "This model was loaded from a folder, or its clusters were split: it has no samples to correct. Fit it "
                "again, or correct the folder of the run with c3clust answer."
            )
        if self._learner_ is None:
            z, c = self.outputs_of_fit()
            self._learner_ = Learner(z, self.labels_, c.shape[1], c)
        return self._learner_

    def outputs_of_fit(self) -> tuple[np.ndarray, np.ndarray]:
        """z [n, D] and c [n, M] of the samples of the fit, before any correction."""
        z, c = self._outputs_
        copies = self.duplicates_.rows
        return np.asarray(z[copies], dtype=np.float32), c[copies]
