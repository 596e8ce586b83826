"""Views of texts: a part of the text, with some words dropped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from c3clust.augment.checks import check_number, check_range


@dataclass(frozen=True)
class Words:
    """For texts: consecutive words, some of which are dropped, and dropout in the encoder.

    At least one word is kept. Texts of up to three words are unchanged: their views differ by dropout only.

    Parameters
    ----------
    keep : fraction of the words in the part, from and to.
    drop : probability that a word of the part is dropped.
    dropout : probability that the encoder drops a feature of a text, in all tokens (encoders/text.py). Its strength is
        discussed in docs/TEXT_AND_TABLES.md.
    """

    keep: tuple[float, float] = (0.7, 1.0)
    drop: float = 0.1
    dropout: float = 0.05

    def __post_init__(self) -> None:
        check_range(self, "keep", 0, 1, open_low=True)
        check_number(self, "drop", 0, 0.9, "it is a probability, and words must be left")
        check_number(self, "dropout", 0, 0.9, "it is a probability, and activations must be left")

    def __call__(self, texts: Sequence[str], size: Any, generator: torch.Generator) -> list[str]:
        return [self._view(text, generator) for text in texts]

    def _view(self, text: str, generator: torch.Generator) -> str:
        words = text.split()
        if len(words) <= 3:
            return text
        u = torch.rand(2 + len(words), generator=generator).tolist()
        length = max(1, round(len(words) * (self.keep[0] + (self.keep[1] - self.keep[0]) * u[0])))
        start = int(u[1] * (len(words) - length + 1))
        run = words[start : start + length]
        return " ".join(word for word, v in zip(run, u[2:], strict=False) if v >= self.drop) or run[0]
