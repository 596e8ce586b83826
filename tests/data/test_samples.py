import numpy as np
import pytest

from c3clust import data


@pytest.mark.parametrize(
    ("value", "kind", "content"),
    [
        (np.zeros((3, 8, 8), np.uint8), "image", "handwriting"),
        (np.zeros((3, 5)), "vector", "vector"),
        (["a fox", "a wolf"], "text", "text"),
    ],
)
def test_the_type_decides_the_kind_and_the_content(value, kind, content):
    dataset = data.load(value)
    assert (dataset.kind, dataset.content) == (kind, content)
    assert isinstance(dataset, data.Texts if kind == "text" else data.Samples)


def test_a_table_has_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n3,x\n2,y\n")
    table = data.load(tmp_path / "t.csv")
    assert isinstance(table, data.Table)
    assert not isinstance(table, data.Samples)
    assert [column.name for column in table.columns] == ["a", "b"]


def test_features_keep_the_metadata():
    texts = data.load(["a fox", "", "a wolf"])
    samples = texts.to_samples(np.zeros((2, 4), np.float32))
    assert isinstance(samples, data.Samples)
    assert (samples.names, samples.notes, samples.place) == (texts.names, texts.notes, texts.place)
    assert (samples.kind, samples.content, len(samples)) == ("vector", "vector", 2)
