"""The record goes to JSON and back; what is wrong with a foreign one is named."""

import json

import pytest

from c3clust.errors import RunError
from c3clust.records.record import RunRecord


@pytest.fixture
def record():
    return RunRecord(method="c3", n_clusters=3, params={"zeta": 0.6}, seed=1, data={"n": 5}, scores={"acc": 0.5})


def test_round_trip(record, tmp_path):
    record.write(tmp_path / "record.json")
    assert RunRecord.read(tmp_path / "record.json") == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": "one"}, "field 'seed' cannot be used: it should be a valid integer"),
        ({"seed": True}, "field 'seed' cannot be used: it should be a valid integer"),
        ({"seed": -1}, "field 'seed' cannot be used: it should be greater than or equal to 0"),
        ({"seed": 2**31}, "field 'seed' cannot be used: it should be less than 2147483648"),
        ({"stages": {}}, "field 'stages' cannot be used: it should be a valid list"),
        ({"extra": 1}, "unknown field 'extra'"),
        ({"format": 99}, "not a run record of format 1"),
    ],
)
def test_the_wrong_field_is_named(record, tmp_path, change, message):
    path = tmp_path / "record.json"
    record.write(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RunError, match=message):
        RunRecord.read(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '{"format": 1}', "\x00"])
def test_anything_else_is_refused(tmp_path, text):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(RunError):
        RunRecord.read(tmp_path / "record.json")


def test_a_missing_record_means_no_finished_run(tmp_path):
    with pytest.raises(RunError, match="not a finished run"):
        RunRecord.read(tmp_path / "record.json")


def test_numbers_that_json_lacks_are_never_written(record, tmp_path):
    record.seconds = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        record.write(tmp_path / "record.json")
