"""The study of C3's variants: which runs it asks for, and its table, findings and figure from numbers made up here."""

import pytest

from c3clust.paper import Setting, departures
from c3clust.paper.setting import OFF
from c3clust.paper.values import read_rows, write_rows


def row(data, variant, seed, acc, zeta="", filling="", status="ok"):
    return {
        "data": data, "variant": variant, "seed": seed, "acc": acc, "nmi": acc, "ari": acc, "zeta": zeta,
        "filling": filling, "seconds": 5.0, "status": status,
    }  # fmt: skip


@pytest.fixture
def rows():
    """The default gains 5 points on one set, and on the other one seed falls by 3."""
    found = []
    for seed, start in enumerate((0.78, 0.80, 0.82, 0.84, 0.86)):
        for data, gain in (("one", 0.05), ("other", -0.03 if seed == 4 else 0.01)):
            found.append(row(data, departures.START, seed, start))
            found.append(row(data, departures.LONGER, seed, start - 0.01))
            found.append(row(data, departures.PUBLISHED, seed, start - 0.02, 0.6, 1.4, "collapsed" if seed else "ok"))
            found.append(row(data, departures.ADAPTIVE, seed, start + gain, 0.8 if seed else 0.75, 1.0))
    return found


@pytest.mark.parametrize("name", ["digits", "mnist-10k", "fashion-10k", "cifar10-10k"])
def test_all_variants_start_from_the_same_cc_and_train_equally_long(name):
    jobs = departures.jobs(Setting(name, [0, 1, 2]))
    starts = {job.seed: job for job in jobs if job.name == departures.START}
    for job in jobs:
        if job.method in ("c3", "c3_adaptive"):
            assert job.start.key == starts[job.seed].key
    by_name = {job.name: job for job in jobs if job.seed == 0}
    longer, adaptive, published = (by_name[n] for n in (departures.LONGER, departures.ADAPTIVE, departures.PUBLISHED))
    more = longer.params["epochs"] - starts[0].params["epochs"]
    assert more == published.params["epochs"] == 2 * adaptive.params["epochs"]  # the stage "settle" is as long again
    for name, change in departures.CHANGES.items():
        expected = OFF | change
        assert expected.items() <= by_name[name].params.items()
    assert not OFF.keys() & adaptive.params.keys() - {"epochs"}  # all its changes
    assert sum(job.name in departures.REJECTED for job in jobs) == 2


def test_the_table_has_spreads_intervals_and_what_went_wrong(rows):
    text = departures.table(rows)
    lines = [line for line in text.splitlines() if line.startswith(f"| {departures.ADAPTIVE} ")]
    assert "| 0.870 ± 0.032 |" in lines[0]
    assert "| +0.050 [+0.050, +0.050] | +0.050 | 0.75–0.8 | 1.00 | 5 s | 5 |" in lines[0]
    assert "| -0.030 |" in lines[1]
    assert "5 (collapsed: 4)" in text
    assert f"| {departures.START} | 0.820 ± 0.032 | 0.820 ± 0.032 | 0.820 ± 0.032 | – | – | – | – |" in text


def test_the_findings_follow_from_the_numbers(rows):
    found = {finding.claim: finding.holds for finding in departures.findings(rows)}
    assert found[f"one: {departures.ADAPTIVE} beats its CC"] is True
    assert found[f"one: {departures.PUBLISHED} beats its CC"] is False
    assert found[f"other: {departures.ADAPTIVE} beats its CC"] is None
    assert found["one: no seed of C3Adaptive more than 2 points below its CC"] is True
    assert found["other: no seed of C3Adaptive more than 2 points below its CC"] is False
    assert found["one: the gain is not the epochs"] is True
    few = departures.findings([row for row in rows if row["seed"] < 4])
    assert {finding.holds for finding in few} == {None}


def test_the_figure_is_drawn_from_the_file_alone(rows, tmp_path):
    pytest.importorskip("matplotlib")
    write_rows(tmp_path / "departures.csv", rows)
    figure = departures.draw(read_rows(tmp_path / "departures.csv"))
    axes = figure.get_axes()
    assert [axis.get_title() or axis.get_title("left") for axis in axes] == ["one", "other"]
    assert [len(line.get_xdata()) for line in axes[0].get_lines()[1:]] == [5, 5]  # the variants that have positives
