"""A verdict among many claims needs a wider interval than one that is printed alone."""

from c3clust.bench.statistics import Difference, paired
from c3clust.paper import fig_pairs, findings


def test_verdicts_are_those_of_28_claims():
    clear, just = paired([0.9, 0.9, 0.9, 0.9, 0.91], [0.5] * 5), paired([0.6, 0.7, 0.5, 0.65, 0.55], [0.5] * 5)
    assert just.low > 0  # alone it would hold
    assert findings.side(clear) is True
    assert findings.side(just) is None
    assert findings.side(clear, positive=False) is False
    assert findings.at_most(just, 0.2) is None
    assert findings.within(paired([0.5, 0.501, 0.5, 0.499, 0.5], [0.5] * 5), 0.01) is True


def test_the_correction_keeps_the_mean_and_leaves_few_seeds_alone():
    few = Difference(0.1, 0.05, 0.15, 3)
    assert findings.corrected(few) == few
    wide = findings.corrected(Difference(0.1, 0.05, 0.15, 5))
    assert wide.mean == 0.1
    assert 0.1 - wide.low == wide.high - 0.1 > 2 * 0.05


def test_positives_are_judged_over_seeds():
    def rows(*ends):
        curves = [(seed, [10.0, 20.0, 26.0, 26.0, end]) for seed, end in enumerate(ends)]
        return [
            {"seed": seed, "epoch": epoch, "loss": 0.0, "positives_per_view": value, "settled": 25.6}
            for seed, curve in curves
            for epoch, value in enumerate(curve, 1)
        ]

    def verdicts(*ends):
        return [finding.holds for finding in fig_pairs.findings(rows(*ends))]

    assert verdicts(26.1, 26.0, 26.2, 25.9, 26.0) == [True, True]
    assert verdicts(26.1, 26.0, 26.2) == [None, None]
    assert verdicts(36.1, 36.0, 36.2, 35.9, 36.0) == [False, False]
    assert verdicts(20.0, 36.0, 26.2, 25.9, 36.0) == [None, None]  # the mean is near, the seeds are not
