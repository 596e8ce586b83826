"""k-means and Consensus on the features of each encoder of photographs, as a Markdown table.

    python -m benchmarks.eyes FOLDER... [--encoders efficientnet-lite0 pplcnetv2 ...] [--runs runs/eyes] [--seed 0]

Each FOLDER is a case: its images, with the true labels in FOLDER.csv (columns name and label) or as sub-folders. The
number of clusters is given. Labels are used for the scores only. Features are stored in the folder of the runs, so each
image is encoded once per encoder. Finished cells are in scores.csv there, and are not computed again.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import torch

from c3clust import Consensus, KMeans, acc, data, encoders

ENCODERS = ("efficientnet-lite0", "efficientnet-lite2", "pplcnetv2", "efficientnet-lite2+pplcnetv2")
METHODS = {"k-means": KMeans, "Consensus": Consensus}
Scores = dict[tuple[str, str, str], float]  # ACC by case, encoder and method


def features(folder: Path, encoder: encoders.Encoder, store: Path) -> data.Samples:
    labels = folder.with_name(f"{folder.name}.csv")
    options = encoder.load_options()
    images = data.load(folder, labels=labels if labels.is_file() else "folders", **options)
    return encoders.features(encoder, images, folder=store)


def read(path: Path) -> Scores:
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(case, encoder, method): float(value) for case, encoder, method, value in csv.reader(file)}


def measure(folders: list[Path], names: list[str], runs: Path, seed: int) -> Scores:
    runs.mkdir(parents=True, exist_ok=True)
    path = runs / "scores.csv"
    found = read(path)
    for name in names:
        encoder = encoders.load(name)
        for folder in folders:
            missing = [method for method in METHODS if (folder.name, name, method) not in found]
            samples = features(folder, encoder, runs) if missing else None
            for method in missing:
                fitted = METHODS[method](len(np.unique(samples.y)), random_state=seed).fit(samples)
                found[folder.name, name, method] = acc(samples.y, fitted.labels_)
                with path.open("a", newline="") as file:
                    csv.writer(file).writerow([folder.name, name, method, found[folder.name, name, method]])
                print(folder.name, name, method, f"{found[folder.name, name, method]:.3f}", flush=True)
    return found


def show(found: Scores, cases: list[str], names: list[str]) -> None:
    """A row per case, a column per encoder: k-means / Consensus."""
    print("\n| case | " + " | ".join(f"`{name}`" for name in names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for case in cases:
        print(f"| {case} | " + " | ".join(_cell(found, [case], name) for name in names) + " |")
    print("| mean | " + " | ".join(_cell(found, cases, name) for name in names) + " |")


def _cell(found: Scores, cases: list[str], encoder: str) -> str:
    means = [np.mean([found[case, encoder, method] for case in cases]) for method in METHODS]
    return " / ".join(f"{mean:.3f}"[1:] if mean < 1 else f"{mean:.2f}" for mean in means)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--encoders", nargs="+", default=list(ENCODERS))
    parser.add_argument("--runs", type=Path, default=Path("runs/eyes"))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(chosen.folders, chosen.encoders, chosen.runs, chosen.seed)
    show(found, [folder.name for folder in chosen.folders], chosen.encoders)


if __name__ == "__main__":
    main()
