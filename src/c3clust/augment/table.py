"""Views of the rows of a table: some columns masked, some replaced by values of other rows.

Rows are encoded, [N, F]: a column of numbers is one feature, a column of categories one feature per category
(encoders/rows.py). Missing values are 0, so a masked column is encoded like a missing value.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from c3clust.augment.checks import check_probabilities
from c3clust.errors import InputError


@dataclass(frozen=True)
class Rows:
    """For encoded rows [N, F]: each column of each row may be masked, or replaced by the value of another row.

    The other row is drawn from the batch, as a sample of the distribution of the column.

    Parameters
    ----------
    resample : probability that a column is replaced by the value of another row.
    mask : probability that a column is masked.
    widths : number of features of each column; (): one each. It is set by the encoder of the table.

    References
    ----------
    Bahri, Jiang, Tay, Metzler: SCARF: Self-supervised contrastive learning using random feature corruption, ICLR 2022,
    https://arxiv.org/abs/2106.15147.
    """

    resample: float = 0.3
    mask: float = 0.1
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_probabilities(self, "resample", "mask")
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
        resampled, masked = u < self.resample, (u >= self.resample) & (u < self.resample + self.mask)
        source = torch.where(resampled, other, torch.arange(n)[:, None])  # [N, columns], a row of the batch
        of = torch.repeat_interleave(torch.arange(columns), torch.tensor(widths))  # [F], the column of a feature
        view = x.gather(0, source[:, of].to(x.device)).to(torch.float32)
        return view.masked_fill_(masked[:, of].to(x.device), 0.0)
