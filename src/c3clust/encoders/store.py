"""Features of a dataset: `features` computes and stores them for training, `lazy_features` computes them on access.

Each view of the dataset is one memory-mapped file [n, F], named by the hash of everything that determines it: the data,
the encoder and, for a random view, the policy, the seed and the number of the view. So other methods, other training
seeds and a larger number of views reuse existing files. A JSON file with the hash of the content detects damaged and
incomplete files, which are computed again. Files are renamed into place only when complete; the folder may be deleted
at any time.
"""

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from c3clust import augment, dist
from c3clust.data import batches, fingerprint
from c3clust.data.io.cache import Entry, new_array
from c3clust.data.io.scratch import Scratch
from c3clust.data.io.views import Views
from c3clust.data.samples import ArrayLike, Dataset, Samples
from c3clust.encoders.base import Encoder
from c3clust.errors import DataError
from c3clust.progress import counter

FORMAT = 1


def features(
    encoder: Encoder,
    dataset: Dataset,
    policy: augment.Policy | None = None,
    views: int = 0,
    *,
    seed: int = 0,
    folder: Path | None = None,
    verbose: bool = False,
) -> Samples:
    """Samples whose x are `Views`: the features of each sample, and of `views` random views made by the policy.

    folder: where the features are stored. They are stored in a temporary folder if it is None, or if the policy is a
    function of the user's own, which has no unique name. Several processes share the work, in a folder that all see:
    each computes a part of the samples, or some of the views. The features are the same for any number of processes.
    """
    job = _Job(encoder, encoder.validate(dataset), policy, views, seed)
    named = policy is None or augment.spec(policy)["policy"] in augment.names()
    x = _temporary(job, verbose) if folder is None or not named else Views(job.parts(folder, verbose, shared=True))
    return dataset.to_samples(x)


def lazy_features(encoder: Encoder, dataset: Dataset) -> Samples:
    """Samples whose x are the features, computed on each access and not stored."""
    return dataset.to_samples(LazyFeatures(encoder.validate(dataset).x, encoder))


@dataclass
class LazyFeatures:
    """Samples x, indexed like their features [n, F], which are computed on each access."""

    x: ArrayLike
    encoder: Encoder
    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.x), self.encoder.width)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> np.ndarray:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        parts = [chosen[i : i + self.encoder.batch] for i in range(0, len(chosen), self.encoder.batch)]
        return np.concatenate([self.encoder.encode(samples).numpy() for samples in batches(self.x, parts)])


@dataclass(frozen=True)
class _Job:
    """The features of a validated dataset and of its views."""

    encoder: Encoder
    dataset: Dataset
    policy: augment.Policy | None
    views: int
    seed: int

    def parts(self, folder: Path, verbose: bool, shared: bool = False) -> list[ArrayLike]:
        """The features of the samples, then of each view: from the folder, or computed and stored there.

        shared: by all processes together.
        """
        shape = (len(self.dataset), self.encoder.width)
        entries = [Entry.of(folder, key) for key in (dist.of_first(self._keys) if shared else self._keys())]
        found = [_load(entry, shape) for entry in entries]
        missing = [number for number, part in enumerate(found) if part is None]
        if shared:
            missing = sorted(set().union(*dist.gather_objects(missing)))
        if missing:
            try:
                self._compute({number: entries[number] for number in missing}, shape, verbose, shared)
            except OSError as error:
                size = len(missing) * shape[0] * shape[1] * 4
                raise DataError(
                    f"Features cannot be stored in {folder} ({error.strerror}): {size:,} bytes are needed. "
                    "Free some space, or choose another folder for the run."
                ) from error
            for number in missing:
                found[number] = _load(entries[number], shape)
        whole = [part for part in found if part is not None]
        if len(whole) < len(found):
            raise DataError(f"Features in {folder} cannot be read. Delete the folder.")
        return whole

    def _keys(self) -> list[str]:
        """The hash of everything that determines the features, then that of each view."""
        encoder = {"encoder": self.encoder.key(), "batch": self.encoder.batch}
        key = {"format": FORMAT, "data": fingerprint(self.dataset), **encoder}
        keys = [key]
        if self.policy is not None:
            view = {"policy": augment.spec(self.policy), "seed": self.seed}
            keys += [key | view | {"view": v} for v in range(self.views)]
        return [hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest() for key in keys]

    def _compute(self, entries: dict[int, Entry], shape: tuple[int, int], verbose: bool, shared: bool) -> None:
        """One pass over the samples: each batch is read once, and encoded as itself and as each missing view."""
        folder = next(iter(entries.values())).array.parent
        folder.mkdir(parents=True, exist_ok=True)
        first = not shared or dist.rank() == 0
        with ExitStack() as stack:
            writing = stack.enter_context(Scratch(".writing-", folder)) if first else folder
            writing = Path(dist.gather_objects(str(writing))[0]) if shared else writing
            files = {number: writing / f"{number}.npy" for number in entries}
            if first:
                for file in files.values():
                    new_array(file, shape, np.float32).close()
            if shared:
                dist.wait()
            self._fill(files, shape, verbose and first, shared)
            if shared:
                dist.wait()
            if first:
                for number, file in files.items():
                    entries[number].store(file, {})
        if shared:
            dist.wait()

    def _fill(self, files: dict[int, Path], shape: tuple[int, int], verbose: bool, shared: bool) -> None:
        """Write the rows that are this process's into the files, which have their headers."""
        batch, rows = self.encoder.batch, {number: self._rows(number, shape[0], shared) for number in files}
        starts = [i for i in range(0, shape[0], batch) if any(i in part for part in rows.values())]
        with ExitStack() as stack:
            out = {
                number: stack.enter_context(_open_rows(files[number], part)) for number, part in rows.items() if part
            }
            # one generator per view, so that a view does not depend on which others are computed with it
            generators = {number: torch.Generator().manual_seed(1_000_003 * self.seed + number) for number in out}
            progress = stack.enter_context(counter("features", sum(map(len, rows.values())), verbose))
            index = [np.arange(i, min(i + batch, shape[0])) for i in starts]
            for chosen, samples in zip(index, batches(self.dataset.x, index), strict=True):
                for number, file in out.items():
                    if int(chosen[0]) in rows[number]:
                        view = (self.policy, generators[number]) if number else (None, None)
                        found = self.encoder.encode(samples, *view).numpy().astype(np.float32, copy=False)
                        file.write(found.tobytes())
                        progress(len(chosen))

    def _rows(self, number: int, n: int, shared: bool) -> range:
        """The rows of a view that are this process's: a part of the samples themselves, all or none of a random view.

        The generator of a view continues from batch to batch, so a view cannot be divided.
        """
        if not shared:
            return range(n)
        if number == 0:
            return dist.part(n, self.encoder.batch)
        return range(n if (number - 1) % dist.world_size() == dist.rank() else 0)


def _open_rows(path: Path, rows: range) -> BinaryIO:
    """A .npy file of features, open for the values of these rows in order."""
    file = open(path, "r+b")  # noqa: SIM115
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    file.seek(rows.start * shape[1] * dtype.itemsize, 1)
    return file


def _temporary(job: _Job, verbose: bool) -> Views:
    """Features in a folder that is deleted with the last reference to them."""
    try:
        scratch = Scratch("c3clust-features-")
    except OSError as error:
        raise DataError(f"Features cannot be stored in the temporary folder: {error.strerror}. Set TMPDIR.") from error
    try:
        x = Views(job.parts(scratch.folder, verbose))
    except BaseException:
        scratch.remove()
        raise
    x.scratch = scratch  # a reference, so that the files are not deleted
    return x


def _load(entry: Entry, shape: tuple[int, int]) -> ArrayLike | None:
    """The features of an entry; None if they are missing or damaged."""
    x, _ = entry.load() or (np.empty(0), {})
    return x if x.shape == shape and x.dtype == np.float32 else None
