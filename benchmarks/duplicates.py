"""Copies planted among photographs: how many are found, and how many of those found are copies.

Of each archive 1,000 photographs (or all) are taken, and 100 copies are added: resized, recompressed, slightly cropped,
or all of these. Features come from EfficientNet-Lite0, as in `c3clust fit`. The seed of the plan is printed; another
one plants other copies in other photographs.
"""

import io
import random
import tarfile
import tempfile
from pathlib import Path

from PIL import Image

from benchmarks.harness import SHARED, Row, clock, skipped
from c3clust import data, encoders
from c3clust.data import duplicates

ARCHIVES = ("photos-subset.tar", "dogs-subset.tar", "tiny-imagenet-subset.tar")
PHOTOGRAPHS, COPIES, SEED = 1000, 100, 0


def rows(quick: bool = False) -> list[Row]:
    names = ARCHIVES[:1] if quick else ARCHIVES
    return [row for name in names for row in measured(SHARED / name, 150 if quick else PHOTOGRAPHS)]


def measured(archive: Path, n: int) -> list[Row]:
    what, wanted = f"planted copies among {n:,} of {archive.name}", "recall ≥ 0.95, precision ≥ 0.99"
    if not archive.exists():
        return [skipped(what, wanted, f"{archive.name} is not here")]
    with tempfile.TemporaryDirectory() as folder:
        n = plant(archive, Path(folder), n, SEED)
        encoder = encoders.load("efficientnet-lite0")
        samples = data.load(folder, **encoder.load_options())
        features = encoders.features(encoder, samples).x
        start = clock()
        found = duplicates.find(samples, features)
        seconds = clock() - start
    number = [name[1:6] for name in samples.names]
    right = sum(number[i] == number[found.original[i]] for i in found.copies)
    recall, precision = right / COPIES, right / max(len(found.copies), 1)
    note = f"{len(found.copies)} found, seed {SEED}, {seconds:.1f} s without the features"
    what = f"planted copies among {n:,} of {archive.name}"
    return [Row(what, wanted, f"{recall:.3f}, {precision:.3f}", recall >= 0.95 and precision >= 0.99, note)]


def plant(archive: Path, folder: Path, n: int, seed: int) -> int:
    """Write n photographs of the archive and COPIES copies into a folder; the number in a name says which is whose."""
    rng = random.Random(seed)
    with tarfile.open(archive) as files:
        pictures = [m for m in files.getmembers() if m.isfile() and m.name.lower().endswith((".jpg", ".jpeg"))]
        chosen = rng.sample(pictures, min(n, len(pictures)))
        for i, member in enumerate(chosen):
            content = files.extractfile(member).read()
            (folder / f"o{i:05d}.jpg").write_bytes(content)
            if i < COPIES:
                copy, quality = altered(Image.open(io.BytesIO(content)).convert("RGB"), rng)
                copy.save(folder / f"c{i:05d}.jpg", quality=quality)
    return len(chosen)


def altered(picture: Image.Image, rng: random.Random) -> tuple[Image.Image, int]:
    """A copy, and the quality at which it is saved."""
    kind, quality, (w, h) = rng.choice(("resized", "recompressed", "cropped", "all")), 90, picture.size
    if kind in ("cropped", "all"):
        left, top, right, bottom = (rng.uniform(0, 0.06) for _ in range(4))
        picture = picture.crop((int(left * w), int(top * h), int(w - right * w), int(h - bottom * h)))
    if kind in ("resized", "all"):
        scale = rng.uniform(0.4, 1.5)
        picture = picture.resize((int(picture.width * scale), int(picture.height * scale)), Image.Resampling.LANCZOS)
    if kind in ("recompressed", "all"):
        quality = rng.randint(30, 75)
    return picture, quality
