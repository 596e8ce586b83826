"""ImageNet-10 and ImageNet-Dogs: the training images of 10 and 15 synsets, from a folder of ImageNet."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from c3clust.data.io.pictures import EncodedFiles, to_samples
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options, PublicDataset, note_count
from c3clust.data.sources.folder import list_files
from c3clust.errors import DataError

ADDRESS = "https://www.image-net.org/download.php"
LAYOUT = "ImageNet's training folder, unpacked: imagenet/train/nXXXXXXXX/*.JPEG (free of charge after registration)"
FOLDERS = ("imagenet/train", "ILSVRC2012/train", "ILSVRC/Data/CLS-LOC/train", "imagenet/ILSVRC/Data/CLS-LOC/train")

DATASETS = (
    PublicDataset(
        name="imagenet-10",
        what="ImageNet-10, photographs: 13,000 training images of ImageNet, 10 classes",
        patterns=("imagenet-10", "imagenet10", *FOLDERS),
        layout=LAYOUT,
        address=ADDRESS,
        aliases=("imagenet10",),
    ),
    PublicDataset(
        name="imagenet-dogs",
        what="ImageNet-Dogs, photographs: 19,500 training images of ImageNet, 15 breeds",
        patterns=("imagenet-dogs", *FOLDERS),
        layout=LAYOUT,
        address=ADDRESS,
    ),
)
SYNSETS = {
    "imagenet-10": (
        "n02056570", "n02085936", "n02128757", "n02690373", "n02692877",
        "n03095699", "n04254680", "n04285008", "n04467665", "n07747607",
    ),
    "imagenet-dogs": (
        "n02085936", "n02086646", "n02088238", "n02091467", "n02097130",
        "n02099601", "n02101388", "n02101556", "n02102177", "n02105056",
        "n02105412", "n02105855", "n02107142", "n02110958", "n02112137",
    ),
}  # fmt: skip
TITLES = {"imagenet-10": "ImageNet-10", "imagenet-dogs": "ImageNet-Dogs"}
OFFICIAL = {"imagenet-10": 13_000, "imagenet-dogs": 19_500}
SIDE = 224


def claims(path: Path) -> Claim:
    """A folder with at least one of the synsets. Read only by name, as other folders may have this layout too."""
    synsets = {synset for chosen in SYNSETS.values() for synset in chosen}
    return Claim.NAMED if path.is_dir() and any((path / synset).is_dir() for synset in synsets) else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The images of the synsets, by default at 224 × 224 pixels."""
    name = name or "imagenet-10"
    missing = [synset for synset in SYNSETS[name] if not (path / synset).is_dir()]
    if missing:
        lacks = f"{len(missing)} of {TITLES[name]}'s synsets: {' '.join(missing)}"
        raise DataError(f"{path} lacks {lacks}. Expected: {LAYOUT}.")
    found = [(f"{synset}/{file}", span) for synset in SYNSETS[name] for file, span in list_files(path / synset)]
    y = np.array([SYNSETS[name].index(file.split("/")[0]) for file, _ in found], dtype=np.int64)
    files = EncodedFiles.of(found, str(path), y=y, classes=SYNSETS[name])
    notes = note_count(str(path), TITLES[name], len(y), OFFICIAL[name])
    size, channels = options.image_size or SIDE, options.channels or 3
    originals = True if options.originals is None else options.originals  # the papers crop the original photographs
    options = replace(options, image_size=size, channels=channels, originals=originals)
    return replace(to_samples(files, options), notes=notes)
