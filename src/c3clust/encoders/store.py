"""Features, computed once and kept: of each sample itself and of V random views of it.

Every view is one file [n, F] that is mapped into memory, named by the hash of all that decides it: the data, the
encoder and, for a random view, the policy, the seed and its number. So another method, another seed of training or a
larger V finds what is there already. Beside it stands a JSON file with the hash of its content: what was damaged or
cut short is made anew. Files appear under their names only when complete; the folder may be deleted at any time.
"""

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from c3clust import augment, dist
from c3clust.data import batches, fingerprint
from c3clust.data.io.views import Views
from c3clust.data.samples import ArrayLike, Samples
from c3clust.encoders.base import Encoder
from c3clust.errors import DataError
from c3clust.progress import counter

__all__ = ["Encoded", "features"]

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One view of all samples, as kept in a folder."""

    array: Path
    info: Path

    @classmethod
    def of(cls, folder: Path, key: dict[str, Any]) -> "Entry":
        stem = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
        return cls(folder / f"{stem}.npy", folder / f"{stem}.json")

    def load(self, shape: tuple[int, int]) -> np.ndarray | None:
        """The features as a memory map; None if they are not there, or not whole."""
        try:
            info = json.loads(self.info.read_text(encoding="utf-8"))
            x = np.load(self.array, mmap_mode="r", allow_pickle=False)
            whole = x.shape == shape and x.dtype == np.float32 and info["sha256"] == _digest(self.array)
            return x if whole else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, made: Path) -> None:
        """Put a finished file in its place; the JSON file comes last."""
        info = made.with_suffix(".json")
        info.write_text(json.dumps({"sha256": _digest(made)}), encoding="utf-8")
        os.replace(made, self.array)
        os.replace(info, self.info)


@dataclass
class Encoded:
    """Samples that index as their features: encoded when they are asked for, and not kept."""

    x: ArrayLike
    encoder: Encoder

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.x), self.encoder.width)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> np.ndarray:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        parts = [chosen[i : i + self.encoder.batch] for i in range(0, len(chosen), self.encoder.batch)]
        return np.concatenate([self.encoder.encode(samples).numpy() for samples in batches(self.x, parts)])


def features(
    encoder: Encoder,
    images: Samples,
    policy: augment.Policy | None = None,
    views: int = 0,
    *,
    seed: int = 0,
    folder: Path | None = None,
    verbose: bool = False,
) -> Samples:
    """The images with x as `Views`: the features of each sample, and of `views` random views that the policy makes.

    folder: where they are kept for the next time; None, or a policy that is a function of the user's own, which has no
    name that tells it from others, keeps them in a temporary folder. Of several processes, one computes.
    """
    named = policy is None or augment.spec(policy)["policy"] in augment.names()
    images = replace(encoder.taken(images), columns=None)
    setting = (encoder, images, policy, views, seed)
    if folder is None or not named:
        x = _temporary(*setting, verbose)
    else:
        first = _parts(*setting, folder, verbose) if dist.rank() == 0 else None
        dist.wait()
        x = Views(first or _parts(*setting, folder, False))
    return replace(images, x=x, policy=encoder.on_views if len(x.parts) > 1 else "vector")


def _temporary(
    encoder: Encoder, images: Samples, policy: augment.Policy | None, views: int, seed: int, verbose: bool
) -> Views:
    """Features in a folder that goes when they are no longer used."""
    folder = Path(tempfile.mkdtemp(prefix="c3clust-features-"))
    try:
        x = Views(_parts(encoder, images, policy, views, seed, folder, verbose))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(x, shutil.rmtree, folder, ignore_errors=True)
    return x


def _parts(
    encoder: Encoder,
    images: Samples,
    policy: augment.Policy | None,
    views: int,
    seed: int,
    folder: Path,
    verbose: bool,
) -> list[np.ndarray]:
    """The features of the samples, then of each view: from the folder, or computed and put there."""
    shape = (len(images), encoder.width)
    known = {"format": FORMAT, "data": fingerprint(images), "encoder": encoder.key(), "batch": encoder.batch}
    keys = [known] + [
        known | {"policy": augment.spec(policy), "seed": seed, "view": v} for v in range(views) if policy is not None
    ]
    entries = [Entry.of(folder, key) for key in keys]
    found = [entry.load(shape) for entry in entries]
    missing = [number for number, part in enumerate(found) if part is None]
    if missing:
        try:
            _compute(encoder, images, policy, seed, {number: entries[number] for number in missing}, shape, verbose)
        except OSError as error:
            raise DataError(
                f"Features cannot be kept in {folder} ({error.strerror}): {len(missing) * shape[0] * shape[1] * 4:,} "
                "bytes are needed. Make room, or choose another folder for the run."
            ) from error
        for number in missing:
            found[number] = entries[number].load(shape)
    whole = [part for part in found if part is not None]
    if len(whole) < len(found):
        raise DataError(f"Features in {folder} cannot be read back. Delete the folder.")
    return whole


def _compute(
    encoder: Encoder,
    images: Samples,
    policy: augment.Policy | None,
    seed: int,
    entries: dict[int, Entry],
    shape: tuple[int, int],
    verbose: bool,
) -> None:
    """One pass over the samples: each batch is read once and encoded as itself and as each view that is missing."""
    folder = next(iter(entries.values())).array.parent
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        writing = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder, prefix=".writing-")))
        files = {number: writing / f"{number}.npy" for number in entries}
        out = {
            number: np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
            for number, file in files.items()
        }
        # View v has a generator of its own, so that it is the same whichever others are made with it.
        generators = {number: torch.Generator().manual_seed(1_000_003 * seed + number) for number in entries}
        index = [np.arange(i, min(i + encoder.batch, shape[0])) for i in range(0, shape[0], encoder.batch)]
        progress = stack.enter_context(counter("features", shape[0] * len(entries), verbose))
        for rows, samples in zip(index, batches(images.x, index), strict=True):
            for number, array in out.items():
                view = (policy, generators[number]) if number else (None, None)
                array[rows] = encoder.encode(samples, *view).numpy()
                progress(len(rows))
        for number, array in out.items():
            array.flush()
            entries[number].keep(files[number])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
