"""Result: what a fit hands to its run folder and to the report."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from c3clust.data.samples import ArrayLike, Samples
from c3clust.encoders import Encoder
from c3clust.records.duplicates import Duplicates
from c3clust.records.outliers import Outlier

__all__ = ["Result"]


@dataclass(frozen=True)
class Result:
    """The clusters of n samples; copies of a sample have its z, label and confidence.

    quality: what is known about them without labels, with the source of the labels; None if the method does not
    estimate it. start: the stage that the last one started from, and the labels at that time. features: the samples as
    the encoder made them.
    """

    z: ArrayLike  # [n, D]
    labels: np.ndarray  # [n]
    confidence: np.ndarray  # [n]
    n_clusters: int
    duplicates: Duplicates
    outliers: dict[int, Outlier]
    quality: dict[str, Any] | None = None
    choice: dict[str, Any] | None = None
    stages: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    augment: dict[str, Any] = field(default_factory=dict)
    start: tuple[int, np.ndarray] | None = None
    encoder: Encoder | None = None
    encoder_note: dict[str, Any] | None = None
    features: Samples | None = None
    device: str = "cpu"
