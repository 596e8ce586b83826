"""Views of the rows of a table: some of its columns hidden, some taken from other rows.

Rows come encoded, [N, F]: a column of numbers is one feature, a column of categories one for each category
(encoders/table.py). What is missing is 0 there, so a hidden column looks as if its value were missing.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from c3clust.augment.checks import check_number
from c3clust.errors import InputError

__all__ = ["Rows"]


@dataclass(frozen=True)
class Rows:
    """Encoded rows [N, F]: each column of each row may be hidden, or take the value of another row of the batch.

    Values of other rows come as often as they are: the batch stands for the column's own distribution. Bahri, Jiang,
    Tay, Metzler, SCARF: Self-Supervised Contrastive Learning using Random Feature Corruption, ICLR 2022,
    https://arxiv.org/abs/2106.15147.

    Parameters
    ----------
    resample : probability that a column takes the value of another row.
    mask : probability that a column is hidden.
    widths : how many features each column has; (): one each. The encoder of the table sets it.
    """

    resample: float = 0.3
    mask: float = 0.1
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("resample", "mask"):
            check_number(self, name, 0, 1, "it is a probability")
        object.__setattr__(self, "widths", tuple(int(width) for width in self.widths))

    def __call__(self, x: Tensor, size: Any, generator: torch.Generator) -> Tensor:
        widths = self.widths or (1,) * x.shape[-1]
        if x.ndim != 2 or sum(widths) != x.shape[1]:
            raise InputError(
                f"augmentation 'table' needs the rows of a table, got shape {list(x.shape)}: use another policy."
            )
        n, columns = len(x), len(widths)
        other = torch.randint(n, (n, columns), generator=generator)
        u = torch.rand(n, columns, generator=generator)
        taken, hidden = u < self.resample, (u >= self.resample) & (u < self.resample + self.mask)
        source = torch.where(taken, other, torch.arange(n)[:, None])  # [N, columns], a row of the batch
        of = torch.repeat_interleave(torch.arange(columns), torch.tensor(widths))  # [F], the column of a feature
        view = x.gather(0, source[:, of].to(x.device)).to(torch.float32)
        return view.masked_fill_(hidden[:, of].to(x.device), 0.0)
