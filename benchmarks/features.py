"""k-means and C3Adaptive on the features of a pretrained encoder, as a Markdown table.

python benchmarks/features.py PLACE -k 10 [--labels folders] [--size 128] [--seeds 0 1 2 3 4] [--folder features/]

The features are computed once and shared by all rows. True labels are used for the scores only. An encoder that was
trained with labels makes these rows another kind than those of methods that start from nothing: no table has both.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from c3clust import C3Adaptive, KMeans, acc, augment, data, encoders, nmi

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("place")
parser.add_argument("-k", "--clusters", type=int, required=True)
parser.add_argument("--labels", choices=["folders"])
parser.add_argument("--encoder", default="efficientnet-lite0")
parser.add_argument("--size", type=int, help="pixels; default: the encoder's own")
parser.add_argument("--views", type=int, default=4)
parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
parser.add_argument("--folder", type=Path, default=Path("c3clust-features"))
chosen = parser.parse_args()
torch.set_num_threads(1)

encoder = encoders.load(chosen.encoder).resize_to(chosen.size)
images = data.load(chosen.place, labels=chosen.labels, **encoder.load_options())
started = time.process_time()
features = encoders.features(
    encoder, images, augment.policy(augment.default(images.content)), chosen.views, folder=chosen.folder, verbose=True
)
print(f"{len(images):,} samples, {1 + chosen.views} x {encoder.width} features, {time.process_time() - started:.0f} s")

rows: dict[str, list[tuple[float, float, float]]] = {}


def note(name: str, labels: np.ndarray, since: float) -> None:
    """Scores, and processor time since then."""
    rows.setdefault(name, []).append((acc(images.y, labels), nmi(images.y, labels), time.process_time() - since))
    print(f"{name}: {rows[name][-1]}", flush=True)


for seed in chosen.seeds:
    started = time.process_time()
    note("k-means on features", KMeans(chosen.clusters, random_state=seed).fit(features).labels_, started)
    started = time.process_time()
    fitted = C3Adaptive(chosen.clusters, random_state=seed).fit(features)
    note("C3Adaptive", fitted.labels_, started)
    note("stage 1 of C3Adaptive", fitted.start_labels_, started)

print("\n| method | ACC | NMI | ACC by seed | seconds |\n|---|---|---|---|---|")
for name, found in rows.items():
    a, b, seconds = (np.array(column) for column in zip(*found, strict=True))
    by_seed = " ".join(f"{value:.3f}" for value in a)
    spread = " | ".join(f"{column.mean():.3f} ± {column.std():.3f}" for column in (a, b))
    print(f"| {name} | {spread} | {by_seed} | {'' if name.startswith('stage') else f'{seconds.mean():.0f}'} |")
