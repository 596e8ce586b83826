"""Cluster a folder of photographs, write the report, and export the confident images into folders.

python examples/photos.py ~/Pictures/holiday --clusters 8 --out runs/holiday
"""

import argparse
from pathlib import Path

from c3clust import cluster
from c3clust.records.assignments import Assignments
from c3clust.report.export import export

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("folder", type=Path)
parser.add_argument("--clusters", type=int, default=8)
parser.add_argument("--out", type=Path, default=Path("runs/photos"))
chosen = parser.parse_args()

fitted = cluster(chosen.folder, chosen.clusters, run_dir=chosen.out)
method = type(fitted).__name__  # Consensus if an encoder is installed and the images are large enough, else C3Adaptive
print(f"{len(fitted.labels_)} images in {chosen.clusters} clusters by {method}: open {chosen.out / 'report.html'}")

names = Assignments.read(chosen.out).names
done = export(chosen.out, chosen.out / "sorted", files=[chosen.folder / name for name in names], min_confidence=0.8)
for folder, count in sorted(done.folders.items()):
    print(f"{done.to / folder}: {count}")
