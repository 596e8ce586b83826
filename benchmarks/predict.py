"""`predict` on a folder of photographs against decoding and the network's forward pass alone, as Markdown.

python -m benchmarks.predict [--quick]
"""

import tarfile
import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks import harness
from c3clust import CC
from c3clust.data.io.decode import decode

ARCHIVE = harness.SHARED / "photos-subset.tar"
CASES = (("convnet", 64, 500), ("resnet18", 224, 100))  # network, pixels, photographs


def alone(network: torch.nn.Module, files: list[Path], side: int) -> None:
    """Read, decode, forward: batches of 512 as `predict` has them."""
    with torch.no_grad():
        for start in range(0, len(files), 512):
            x = np.stack([decode(file.read_bytes(), side) for file in files[start : start + 512]])
            network((torch.from_numpy(x) / 255).contiguous(memory_format=torch.channels_last))


def unpack(folder: Path, n: int) -> list[Path]:
    """n photographs of the archive in `folder`, evenly chosen."""
    with tarfile.open(ARCHIVE) as archive:
        members = [m for m in archive if m.isreg() and m.name.lower().endswith((".jpg", ".jpeg"))]
        for member in members[:: max(1, len(members) // n)][:n]:
            archive.extract(member, folder, filter="data")
    return sorted(path for path in folder.rglob("*") if path.is_file())


def rows(quick: bool) -> list[harness.Row]:
    found = []
    for backbone, side, n in CASES:
        figure = f"predict / decode + forward, {backbone} {side} px"
        if not ARCHIVE.exists():
            found.append(harness.skipped(figure, "≤ 1.15", f"{ARCHIVE.name} is not here"))
            continue
        n = n // 10 if quick else n
        with tempfile.TemporaryDirectory() as temporary:
            files = unpack(Path(temporary), n)
            some = np.random.default_rng(0).integers(0, 256, (20, 3, side, side), dtype=np.uint8)
            model = CC(10, backbone=backbone, epochs=0, random_state=0).fit(some)
            candidates = {
                "ours": lambda model=model, place=temporary: model.predict(place),
                "alone": lambda model=model, files=files, side=side: alone(model.network_, files, side),
            }
            t = harness.best_times(candidates, rounds=2 if quick else 4)
        note = f"{len(files)} photographs, {t['ours']:.0f} ms against {t['alone']:.0f} ms"
        found.append(harness.at_most(figure, t["ours"] / t["alone"], 1.15, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__)
