"""The 1,797 handwritten digits of scikit-learn, 8 × 8 pixels, for examples and tests."""

from pathlib import Path

import numpy as np

from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options, PublicDataset

DATASETS = (
    PublicDataset(
        name="digits",
        what="scikit-learn's handwritten digits: 1,797 images, 8 × 8, grey, 10 classes",
        layout="comes with scikit-learn",
        address="https://scikit-learn.org/stable/datasets/toy_dataset.html",
        built_in=True,
    ),
)


def claims(path: Path) -> Claim:
    """No path: the dataset is part of scikit-learn."""
    return Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The digits, with values 0..16 scaled to 0..255."""
    from sklearn.datasets import load_digits

    raw = load_digits()
    x = np.rint(raw.images * (255 / 16)).astype(np.uint8)[:, None]  # [1797, 1, 8, 8]
    y, names, classes = raw.target.astype(np.int64), [str(i) for i in range(len(x))], list("0123456789")
    return Samples(x, names, y, classes, place="digits")
