"""Arrays, tensors, .npy and .npz files.

    [n, C, H, W]  or  [n, H, W, C]    images, C of 1 or 3
    [n, H, W]                         grey images
    [n, F]                            feature vectors, kept as float32 or float64
    [n, V, F]                         V views of each sample, the first the sample itself: with `embeddings=True`,
                                      or if the key in an .npz file is that of embeddings

uint8 images are kept. Other numbers are converted to float32 in [0, 1]: they are divided by `pixel_max`, or, where it
is not given, values within [0, 1] are kept and values within [0, 255] are divided by 255. Anything else is rejected.
True in a boolean image is 1. `Samples.pixel_max` says which it was, so that a model reads new images the same way.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from c3clust.data.io.npy import NpyFile, open_npy
from c3clust.data.io.views import Views
from c3clust.data.samples import ArrayLike, Samples
from c3clust.data.source import Claim, Options
from c3clust.errors import C3ClustError, DataError, InputError, first_line
from c3clust.files.limits import bomb, unpacked_limit

CHANNELS = (1, 3)
X_KEYS = ("x", "images", "data", "x_train", "arr_0", "embeddings", "embedding", "features")
EMBEDDING_KEYS = ("embeddings", "embedding", "features")
Y_KEYS = ("y", "labels", "label", "target", "y_train", "arr_1")
Rows = TypeVar("Rows", np.ndarray, NpyFile)
STEPS = 2**16  # of float64 that the range of a feature of integers must have: then rounding changes no cluster
LARGEST = 1e300  # larger values count as infinite, since differences of them may be


def claims(path: Path) -> Claim:
    return Claim.KIND if path.suffix.lower() in (".npy", ".npz") and path.is_file() else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """One array of a .npy or .npz file; an .npz may hold labels under `y` or `labels`. Pickled objects are rejected."""
    try:
        if path.suffix.lower() == ".npy":
            x = open_npy(path)
            return from_array(x, place=str(path), embeddings=options.embeddings, pixel_max=options.pixel_max)
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as loaded:
            x_key, y_key = _keys(loaded.files, path)
            _check_size(path, loaded, x_key, y_key)
            named = options.embeddings or x_key.lower() in EMBEDDING_KEYS
            x, y = loaded[x_key], loaded[y_key] if y_key else None
            read = from_array(x, y, place=str(path), embeddings=named, pixel_max=options.pixel_max)
            roles = [f"array {y_key!r} (true labels, for scores only)"] if y_key else []
            rest = [f"array {key!r}" for key in loaded.files if key not in (x_key, y_key)]
            return replace(read, taken=f"array {x_key!r}", left=[*roles, *rest])
    except C3ClustError:
        raise
    except Exception as error:  # numpy raises almost anything on hostile bytes
        raise DataError(
            f"{path} cannot be read as a numpy file: {first_line(error)}. Save it again with numpy.save or "
            "numpy.savez, as numbers and not as objects."
        ) from error


def from_array(
    x: Any, y: Any = None, *, place: str = "array", embeddings: bool = False, pixel_max: float | str | None = None
) -> Samples:
    """Samples from a numpy array, a torch tensor or a nested list of numbers.

    >>> import numpy as np
    >>> from_array(np.zeros((5, 28, 28), dtype=np.uint8)).x.shape
    (5, 1, 28, 28)
    """
    _refuse_mask(x, place)
    x = x if isinstance(x, NpyFile) and _stays(x) else _as_numbers(x)
    if embeddings and x.ndim not in (2, 3):
        shapes = "embeddings must be [n, F], or [n, V, F] with V views of each sample"
        raise InputError(f"{place} has shape {x.shape}: {shapes}.")
    if x.ndim not in (2, 3, 4):
        shapes = "images must be [n, C, H, W], [n, H, W, C] or [n, H, W], feature vectors [n, F]"
        raise InputError(f"{place} has shape {x.shape}: {shapes}.")
    if 0 in x.shape:
        raise InputError(f"{place} has shape {x.shape} and is empty. Give at least one sample.")
    found: ArrayLike
    white = None
    if embeddings and x.ndim == 3:
        found = Views([_vectors(x[:, view], place) for view in range(x.shape[1])])
    elif x.ndim == 2:
        found = _vectors(x, place)
    else:
        found, white = _pixels(_channels_first(x, place), place, pixel_max)
    labels, classes = label_codes(y, len(x), place) if y is not None else (None, None)
    names = [str(i) for i in range(len(x))]
    return Samples(found, names, labels, classes, place=place, pixel_max=white)


def _stays(x: NpyFile) -> bool:
    """Whether the array is used as it is stored, so that it need not be in memory."""
    if x.ndim == 2:
        return x.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    return x.dtype == np.uint8 and x.ndim in (3, 4)


def from_dlpack(x: Any) -> Any:
    """An array of another library (torch, JAX, CuPy, TensorFlow) as one of numpy; anything else stays as it is."""
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack__"):
        return x
    if hasattr(x, "detach"):  # a torch tensor, on any device
        return _of_torch(x)
    try:
        return np.from_dlpack(x)
    except Exception:  # on another device, or of a type that numpy does not have
        import torch

        try:
            return _of_torch(torch.from_dlpack(x))
        except Exception as error:
            raise InputError(f"The array cannot be used: {first_line(error)}. Give an array of numpy.") from error


def _of_torch(x: Any) -> np.ndarray:
    x = x.detach().cpu()
    return np.asarray(x.float() if str(x.dtype) == "torch.bfloat16" else x)  # numpy has no bfloat16


def label_codes(y: Any, n: int, place: str) -> tuple[np.ndarray, list[str]]:
    """Labels of any type as integers [n] into the sorted list of their names."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise InputError(f"{place} has labels of shape {y.shape} for {n} images: give one label per image.")
    values, codes = np.unique(y, return_inverse=True)
    return codes.astype(np.int64), [str(value) for value in values]


def _as_numbers(x: Any) -> np.ndarray:
    try:
        x = x[:] if isinstance(x, NpyFile) else np.asarray(from_dlpack(x))
    except (ValueError, TypeError) as error:
        raise InputError(f"The array cannot be used: {first_line(error)}. Give one array of numbers.") from error
    if x.dtype.kind not in "buif":
        raise InputError(
            f"The array is of type {x.dtype}: images and features must be numbers, preferably uint8 or float32."
        )
    return x


def _channels_first(x: np.ndarray | NpyFile, place: str) -> np.ndarray | NpyFile:
    """[n, H, W] and [n, H, W, C] as [n, C, H, W]. Only one of the axes 1 and 3 may have the length of channels."""
    if x.ndim == 3:
        return _each(x, lambda rows: rows[:, None])
    first, last = x.shape[1] in CHANNELS, x.shape[3] in CHANNELS
    if first and last and x.shape[1] != x.shape[3]:
        # [n, 1, W, 3] or [n, 3, H, 1] is ambiguous
        raise InputError(
            f"{place} has shape {x.shape}, which may be [n, C, H, W] or [n, H, W, C]. "
            "Give images that are more than 3 pixels high and wide."
        )
    if first:
        return x
    if last:
        return _each(x, lambda rows: np.moveaxis(rows, 3, 1))
    raise InputError(
        f"{place} has shape {x.shape}, in which neither axis 1 nor axis 3 is a channel axis of 1 or 3. "
        "Drop an alpha channel with x[..., :3], or give [n, F] feature vectors."
    )


def _each(x: np.ndarray | NpyFile, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | NpyFile:
    return x.changed(change) if isinstance(x, NpyFile) else change(x)


def _pixels(
    x: np.ndarray | NpyFile, place: str, white: float | str | None
) -> tuple[np.ndarray | NpyFile, float | None]:
    """Pixels as uint8 or as float32 in [0, 1], and the value of white: see the module's docstring."""
    if isinstance(x, NpyFile):  # of uint8
        return x, None
    if x.dtype == np.uint8:
        return np.ascontiguousarray(x), None
    if white == "type":
        white = 1 if x.dtype.kind == "f" else 255
    kind = x.dtype.kind
    with np.errstate(over="ignore"):  # overflow becomes infinite, and is rejected as such
        x = _finite(np.ascontiguousarray(x, dtype=np.float32), place)
    low, high = float(x.min()), float(x.max())
    if low < 0 or high > 255:
        raise InputError(
            f"{place} has pixel values from {low:g} to {high:g}: they must be in [0, 1] or [0, 255]. "
            "Undo a mean/std normalisation or rescale them first; for embeddings [n, V, F], use embeddings=True."
        )
    if kind == "b":
        white = 1
    elif white is None:
        white = 1 if high <= 1 else 255
    if high > float(white):
        raise InputError(
            f"{place} has pixel values up to {high:g}, but white is {white:g}, as in fit (for bytes and files: 1 in "
            "floats and 255 in integers). Give uint8, or rescale the values first."
        )
    return (x if white == 1 else x / np.float32(255)), float(white)


def _vectors(x: np.ndarray | NpyFile, place: str) -> np.ndarray | NpyFile:
    """Feature vectors in the type of floats that holds their values: they are centred before they become float32."""
    if isinstance(x, NpyFile):  # of floats
        return _finite(x, place)
    check_whole_numbers(x, place)
    exact = np.can_cast(x.dtype, np.float32)  # bool, float16, and integers of 8 or 16 bits
    return _finite(np.ascontiguousarray(x, dtype=np.float32 if exact else np.float64), place)


def check_whole_numbers(x: np.ndarray, place: str = "The array") -> None:
    """InputError if values are masked, or if integers are so large that float64 rounds their differences away."""
    _refuse_mask(x, place)
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8 or x.ndim != 2 or not x.size:
        return
    low, high = x.min(axis=0), x.max(axis=0)
    step = np.spacing(np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64))))
    width = (high.astype(object) - low.astype(object)).astype(np.float64)  # exact first: integers of numpy overflow
    lost = (step > 1) & (width > 0) & (width < STEPS * step)
    if lost.any():
        column = int(lost.argmax())
        raise InputError(
            f"{place} has integers from {low[column]} to {high[column]} in feature {column}, whose differences are "
            f"lost in floats, which have steps of {step[column]:.0f} there. Subtract the smallest one first, or omit "
            "the feature."
        )


def _refuse_mask(x: Any, place: str) -> None:
    """InputError for a masked array: what is masked would be read as its hidden value."""
    if np.ma.is_masked(x):
        n = int(np.ma.count_masked(x))
        raise InputError(f"{place} has {n:,} masked values. Fill them with x.filled(value), or omit their samples.")


def _finite(x: Rows, place: str) -> Rows:
    limit, rest = min(LARGEST, float(np.finfo(x.dtype).max)), tuple(range(1, x.ndim))
    bad = np.concatenate([~(np.abs(x[i : i + 1024]) <= limit).all(axis=rest) for i in range(0, len(x), 1024)])
    if bad.any():
        raise InputError(
            f"{place} has NaN or infinite values in {int(bad.sum())} of {len(x)} samples, the "
            f"first at index {int(bad.argmax())}. Remove or repair these samples."
        )
    return x


def _check_size(path: Path, loaded: Any, *keys: str | None) -> None:
    """DataError if the arrays of an .npz file unpack to too much; numpy reads no more than the sizes declared there."""
    size = path.stat().st_size
    wanted = {f"{key}{end}" for key in keys if key for end in ("", ".npy")}
    if sum(member.file_size for member in loaded.zip.infolist() if member.filename in wanted) > unpacked_limit(size):
        raise DataError(bomb(path, size))


def _keys(files: list[str], path: Path) -> tuple[str, str | None]:
    """The keys of the images and, if any, of the labels in an .npz file."""
    lower = {key.lower(): key for key in files}
    x_key, y_key = (next((lower[key] for key in keys if key in lower), None) for keys in (X_KEYS, Y_KEYS))
    rest = [key for key in files if key != y_key]
    if x_key is None and len(rest) != 1:
        found = ", ".join(files) or "no arrays"
        raise InputError(f"{path} contains {found}: name the array of images x (and that of labels, if any, y).")
    return x_key or rest[0], y_key
