"""The plots of bench show every row with scores: its mean, its spread and its CPU time."""

import numpy as np
import pytest

from c3clust.bench import Job, Result
from c3clust.bench.statistics import paired, rows
from c3clust.paper import bench_plots

pytest.importorskip("matplotlib")
ACC = {"kmeans": [0.5, 0.6], "cc": [0.8, 0.9, 0.7, 0.8, 0.9], "dec": [None]}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    out, found = tmp_path_factory.mktemp("out"), []
    for name, values in ACC.items():
        for seed, acc in enumerate(values):
            scores = None if acc is None else {"acc": acc, "nmi": acc, "ari": acc}
            status = "failed" if acc is None else "ok"
            found.append(Result(Job("x.npz", name, {}, seed), out, status, "", scores, processor_seconds=10.0))
    return [row for row in rows(found) if row.results]


def test_bars_are_means_in_order_with_intervals_from_five_seeds_on(table):
    (axis,) = bench_plots.bars([row for row in table if row.values("acc")]).axes
    widths = [patch.get_width() for patch in axis.patches]
    assert np.allclose(widths, [0.82, 0.55])
    interval = paired(ACC["cc"], [0.0] * 5)
    ends = [line.get_xdata() for line in axis.lines]
    assert np.allclose(ends, [[interval.low, interval.high], [0.5, 0.6]])
    assert [label.get_text() for label in axis.get_yticklabels()] == ["CC (5)", "K-means (2)"]


def test_times_have_a_point_per_row(table):
    (axis,) = bench_plots.times([row for row in table if row.values("acc")]).axes
    assert sorted((line.get_xdata()[0], round(line.get_ydata()[0], 2)) for line in axis.lines) == [
        (10.0, 0.55), (10.0, 0.82)
    ]  # fmt: skip


def test_files_are_written_unless_nothing_has_scores(table, tmp_path):
    files = bench_plots.write(tmp_path, table)
    assert [path.name for path in files] == ["bars.png", "bars.pdf", "times.png", "times.pdf"]
    assert all(path.stat().st_size > 1000 for path in files)
    assert bench_plots.write(tmp_path, [row for row in table if row.name == "dec"]) == []
