"""Plan: what a fit decides before anything runs, from the samples and the parameters alone."""

from dataclasses import dataclass

import torch

from c3clust import augment
from c3clust.features.preprocess import Preprocessor

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """Each decision is made once and passed on.

    preprocessor: the encoder, scaling and size of the input; its `fit` computes features and scaling. policy: how views
    are made. note: a sentence about an encoder that would help.
    """

    preprocessor: Preprocessor
    policy: augment.Policy
    device: torch.device
    seed: int
    note: str | None = None
