import numpy as np
import pytest

from c3clust import data


@pytest.mark.parametrize(
    ("value", "kind", "policy"),
    [
        (np.zeros((3, 8, 8), np.uint8), "image", "digit"),
        (np.zeros((3, 5)), "vector", "vector"),
        (["a fox", "a wolf"], "text", "words"),
    ],
)
def test_the_type_decides_the_kind_and_the_policy(value, kind, policy):
    dataset = data.load(value)
    assert (dataset.kind, dataset.policy) == (kind, policy)
    assert isinstance(dataset, data.Texts if kind == "text" else data.Samples)


def test_a_table_has_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n3,x\n2,y\n")
    table = data.load(tmp_path / "t.csv")
    assert isinstance(table, data.Table)
    assert not isinstance(table, data.Samples)
    assert [column.name for column in table.columns] == ["a", "b"]


def test_features_keep_the_metadata():
    texts = data.load(["a fox", "", "a wolf"])
    samples = texts.to_samples(np.zeros((2, 4), np.float32), "vector")
    assert isinstance(samples, data.Samples)
    assert (samples.names, samples.notes, samples.place) == (texts.names, texts.notes, texts.place)
    assert (samples.kind, samples.policy, len(samples)) == ("vector", "vector", 2)
