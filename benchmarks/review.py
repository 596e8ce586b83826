"""From an answer to new labels and the next question, as in `c3clust review`, as Markdown.

python -m benchmarks.review [--quick]
"""

import time
from types import SimpleNamespace

import numpy as np

from benchmarks import harness
from c3clust.review.learner import Learner

CASES = ((10_000, 2.0), (100_000, 5.0))  # samples, seconds
WIDTH, CLUSTERS, PINS = 1280, 20, 100


def reply(n: int, seed: int = 0) -> float:
    """Seconds of one reply after PINS answers; what is prepared when the page opens does not count."""
    random = np.random.default_rng(seed)
    labels = random.integers(CLUSTERS, size=n)
    z = random.normal(size=(n, WIDTH)).astype(np.float32)
    z += random.normal(size=(CLUSTERS, WIDTH)).astype(np.float32)[labels] / 2
    learner = Learner(z, labels, CLUSTERS, seed=seed)
    pins = [SimpleNamespace(kind="in", samples=(i,), cluster=int(labels[i])) for i in range(PINS)]
    began = time.perf_counter()
    learner.correct(pins)
    learner.questions(1)
    return time.perf_counter() - began


def rows(quick: bool) -> list[harness.Row]:
    found = []
    for n, limit in CASES:
        n = n // 10 if quick else n
        seconds = reply(n)
        note = f"{n:,} samples of {WIDTH:,} dimensions, {CLUSTERS} clusters, {PINS} answers"
        found.append(harness.at_most(f"answer to new labels and next question, {n:,} samples, s", seconds, limit, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__)
