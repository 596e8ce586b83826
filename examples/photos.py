"""Cluster a folder of photographs, write the report, and export the confident images into folders.

python examples/photos.py ~/Pictures/holiday --clusters 8 --out runs/holiday
"""

import argparse
from pathlib import Path

from c3clust import C3, data
from c3clust.report.export import export

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("folder", type=Path)
parser.add_argument("--clusters", type=int, default=8)
parser.add_argument("--out", type=Path, default=Path("runs/photos"))
parser.add_argument("--epochs", type=int, help="epochs per stage; by default chosen from the number of images")
chosen = parser.parse_args()

images = data.load(str(chosen.folder))
params = {"n_clusters": chosen.clusters}
if chosen.epochs:
    params |= {"cc_epochs": chosen.epochs, "epochs": chosen.epochs}
C3(**params, random_state=0).fit(images, run_dir=chosen.out)
print(f"{len(images)} images in {chosen.clusters} clusters: open {chosen.out / 'report.html'}")

done = export(
    chosen.out, chosen.out / "sorted", files=[chosen.folder / name for name in images.names], min_confidence=0.8
)
for folder, count in sorted(done.folders.items()):
    print(f"{done.to / folder}: {count}")
