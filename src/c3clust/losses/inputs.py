"""Checks of what a loss is given: rows that belong together, and unit rows where a loss assumes them."""

from torch import Tensor

from c3clust.errors import InputError

__all__ = ["check_pairs", "check_unit_rows"]

TOLERANCE = 0.02  # of a squared length: bfloat16 keeps two digits


def check_pairs(**rows: Tensor) -> None:
    """The tensors have one shape, so that their rows can be pairs; InputError otherwise."""
    shapes = {name: tuple(each.shape) for name, each in rows.items()}
    if len(set(shapes.values())) > 1:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"The shapes differ: {found}. Row i of each must belong to sample i of the same batch.")


def check_unit_rows(**rows: Tensor) -> None:
    """The rows have unit length; InputError otherwise. Rows of zeros, which have no direction, may stay."""
    for name, each in rows.items():
        squares = each.detach().float().square().sum(dim=-1)
        wrong = ((squares - 1).abs() > TOLERANCE) & (squares > 0)
        if wrong.any():
            length = squares[wrong][0].item() ** 0.5
            raise InputError(
                f"A row of {name} has the length {length:.3g}, where this loss needs unit rows: "
                f"give torch.nn.functional.normalize({name}, dim=1)."
            )
