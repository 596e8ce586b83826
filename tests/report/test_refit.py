"""Commands that are made from the command of a run."""

import pytest

from c3clust.report.refit import NUMBER, kmeans_command, refit_command


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("c3clust fit 'my photos' -k auto --out=x", "c3clust fit 'my photos' -k 7 -o 'a b-7'"),
        ("c3clust fit p --clusters auto -o y --method cc", "c3clust fit p --method cc -k 7 -o 'a b-7'"),
        ("", "c3clust fit digits -k 7 -o 'a b-7'"),
        ("rm -rf 'unclosed", "c3clust fit digits -k 7 -o 'a b-7'"),
    ],
)
def test_the_command_is_that_of_the_run(new_record, command, expected):
    record = new_record(4, data={"place": "digits", "n": 9}, command=command)
    assert refit_command(record, "'a b'", "7", ["-k", "7"], without=NUMBER) == expected


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("c3clust fit 'my photos/' -k 4 -o runs/a --set prior=even", "c3clust fit 'my photos/'"),
        ("c3clust fit x.csv -k 4 --out=a --column text --no-guard --json", "c3clust fit x.csv --column text"),
        ("c3clust fit --recipe c3-cifar10 -o runs/a", "c3clust fit /data/x"),
        ("c3clust fit x -k auto", "c3clust fit x"),
        ("c3clust fit 'unfinished", "c3clust fit /data/x"),
        ("", "c3clust fit /data/x"),
    ],
)
def test_the_command_for_kmeans(new_record, command, words):
    record = new_record(4, data={"place": "/data/x", "kind": "text", "n": 9}, command=command)
    assert kmeans_command(record, "'a b'") == f"{words} -k 4 --method kmeans -o 'a b-kmeans'"


def test_the_command_for_kmeans_uses_the_same_features(new_record):
    record = new_record(4, command="c3clust fit p/ -k 4 -o a --encoder auto", encoder={"name": "efficientnet-lite0"})
    command = "c3clust fit p/ -k 4 --method kmeans --encoder efficientnet-lite0 -o a-kmeans"
    assert kmeans_command(record, "a") == command
