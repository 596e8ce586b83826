"""z.npy: the representation of the samples of a run, which edits of single samples and the review need.

RUN/z.npy is that of the fit, RUN/changes/N/z.npy that of a regrouping. A split does not change it.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import open_regular, write_atomically
from c3clust.records.changes import states

__all__ = ["keep_z", "read_z", "write_z"]

FILE = "z.npy"
MOST = 2**28  # bytes that a fit writes; larger ones are written when they are first needed


def keep_z(folder: Path, z: Any) -> None:
    """Write z [n, D] into the folder of a run or a regrouping, unless it is large."""
    if int(np.prod(z.shape)) * 4 <= MOST:
        write_z(folder, z)


def write_z(folder: Path, z: Any) -> None:
    """Write z [n, D] as float32."""
    out = io.BytesIO()
    rows = z if isinstance(z, np.ndarray) else z[np.arange(len(z))]
    np.save(out, np.asarray(rows, dtype=np.float32), allow_pickle=False)
    write_atomically(folder / FILE, out.getvalue())


def read_z(run: str | Path, n: int) -> np.ndarray | None:
    """z [n, D] of the n samples of a run as it is now; None if it was not written."""
    path = next((state / FILE for state in reversed(states(run)) if (state / "model.json").exists()), Path(run) / FILE)
    try:
        with open_regular(path) as file:
            z = np.load(file, allow_pickle=False)
    except FileNotFoundError:
        return None
    except Exception as error:  # numpy raises almost anything on hostile bytes
        raise RunError(f"{path} cannot be used: {' '.join(str(error).split())}. Delete it.") from None
    if z.ndim != 2 or len(z) != n or z.dtype != np.float32 or not np.isfinite(z).all():
        raise RunError(f"{path} is not the representation of {n:,} samples. Delete it.")
    return z
