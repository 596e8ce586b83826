"""Tiny-ImageNet: the training images of the official folder, zip or tar. 200 classes of 500, 64 × 64."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from c3clust.data.io.pictures import EncodedFiles, to_samples
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options, PublicDataset, note_count
from c3clust.data.sources.archive import claims as archive_claims
from c3clust.data.sources.archive import first_names, list_archive
from c3clust.data.sources.folder import list_files
from c3clust.errors import DataError

DATASETS = (
    PublicDataset(
        name="tiny-imagenet",
        what="Tiny-ImageNet, photographs: 100,000 training images, 64 × 64, colour, 200 classes",
        patterns=("tiny-imagenet-200", *(f"tiny-imagenet{end}" for end in ("*.zip", "*.tar", "*.tar.gz", ""))),
        layout="tiny-imagenet-200.zip, or its folder with train/nXXXXXXXX/images/*.JPEG",
        address="http://cs231n.stanford.edu/tiny-imagenet-200.zip",
        fetch="curl -fL --create-dirs --output-dir ~/.cache/c3clust -O http://cs231n.stanford.edu/tiny-imagenet-200.zip",
    ),
)
OFFICIAL = 100_000
SIDE = 64
TRAIN = re.compile(r"(?:.*/)?train/(n\d{8})/images/[^/]+\.JPEG")


def claims(path: Path) -> Claim:
    """A folder with train/nXXXXXXXX/images, or an archive of one."""
    if path.is_dir():
        return Claim.LAYOUT if any(path.glob("train/n[0-9]*/images")) else Claim.NO
    if archive_claims(path) is Claim.NO:
        return Claim.NO
    known = any(TRAIN.fullmatch(name) or name.split("/")[0] == "tiny-imagenet-200" for name in first_names(path))
    return Claim.LAYOUT if known else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The training images; their folders are the labels. An `image_size` above 64 is reduced to 64."""
    if path.is_dir():
        found = [(f"train/{name}", span) for name, span in list_files(path / "train")]
        files = EncodedFiles.of([(name, span) for name, span in found if TRAIN.fullmatch(name)], str(path))
    else:
        files = list_archive(path, lambda name: bool(TRAIN.fullmatch(name)))
    if not files.names:
        raise DataError(f"{path} contains no training image of Tiny-ImageNet. Expected: {DATASETS[0].layout}.")
    # not `fullmatch`: the names of repeated images end in #2
    classes, y = np.unique([match[1] for name in files.names if (match := TRAIN.match(name))], return_inverse=True)
    notes = note_count(str(path), "Tiny-ImageNet", len(y), OFFICIAL)
    files = replace(files, y=y.astype(np.int64), classes=classes.tolist())
    size, channels = min(options.image_size or SIDE, SIDE), options.channels or 3
    return replace(to_samples(files, replace(options, image_size=size, channels=channels)), notes=notes)
