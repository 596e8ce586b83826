import numpy as np
import pytest

from c3clust.records.edits import Edits
from c3clust.report import Facts, View, build, render, summarise
from c3clust.report.page import payload
from c3clust.report.traits import c_tf_idf, row_texts, traits_of_columns, traits_of_texts

TEXTS = ["the goal of the game"] * 6 + ["the team won the game 42"] * 6 + ["the engine of the car"] * 12
LABELS = np.repeat([0, 2], 12)


def test_c_tf_idf_is_its_formula():
    sums, totals = np.array([[3.0, 1.0], [0.0, 5.0]]), np.array([10.0, 20.0])
    found = c_tf_idf(sums, np.repeat(totals[:, None], 2, axis=1))
    for i in range(2):
        for j in range(2):
            expected = np.sqrt(sums[i, j] / totals[i]) * np.log(1 + 15 / (sums[0, j] + sums[1, j]))
            assert found[i, j] == pytest.approx(expected)


def test_words_that_set_clusters_apart():
    traits = traits_of_texts(TEXTS, LABELS, 3)
    words = [trait["name"] for trait in traits.top(0)]
    assert words[0] == "game"
    assert set(words) == {"game", "goal", "team", "won"}  # "the" and "of" are everywhere, 42 is no word
    assert {trait["name"] for trait in traits.top(2)} == {"engine", "car"}
    assert traits.top(1) == []


def test_texts_without_words_have_no_traits():
    assert traits_of_texts(["1 2", "3"], np.array([0, 1]), 2) is None


X = np.array([[1.0, 0], [2.0, 0], [np.nan, 1], [8.0, 1], [9.0, 1], [10.0, np.nan]])
COLUMNS = [("age", None), ("job", ["cook", "smith"])]


def test_columns_that_set_clusters_apart():
    traits = traits_of_columns(X, COLUMNS, np.array([0, 0, 0, 1, 1, 1]), 2)
    age = X[:, 0]
    first = {trait["name"]: trait for trait in traits.top(0)}
    assert first["age"]["here"] == 1.5
    assert first["age"]["all"] == np.nanmean(age) == 6
    assert first["age"]["weight"] == pytest.approx((1.5 - 6) / np.nanstd(age))
    assert first["job = cook"]["here"] == pytest.approx(2 / 3)
    assert first["job = cook"]["all"] == pytest.approx(2 / 5)
    assert first["job = cook"]["weight"] == pytest.approx((2 / 3 - 2 / 5) / np.sqrt(2 / 5 * 3 / 5))
    assert "job = smith" not in first  # a category that is rarer here says what another says already
    assert [trait["name"] for trait in traits.top(1)] == ["job = smith", "age"]


def test_columns_without_differences_have_no_traits():
    assert traits_of_columns(np.ones((4, 1)), [("a", None)], np.array([0, 0, 1, 1]), 2) is None


def test_a_merge_adds_up():
    labels = np.array([0, 0, 1, 1, 2, 2])
    merged = traits_of_columns(X, COLUMNS, labels, 3).merged(np.array([0, 0, 2]))
    expected = traits_of_columns(X, COLUMNS, np.array([0, 0, 0, 0, 2, 2]), 3)
    assert merged.top(0) == expected.top(0)
    assert merged.top(2) == expected.top(2)


def view_of(x, labels, **more):
    n = len(x)
    z = np.random.default_rng(0).normal(size=(n, 4))
    return build(x, z, labels, np.linspace(0.4, 1, n), [str(i) for i in range(n)], n_clusters=3, **more)


@pytest.mark.parametrize("kind", ["text", "table"])
def test_view_and_page_keep_words_and_traits(tmp_path, new_record, kind):
    if kind == "text":
        view = view_of(np.array([*TEXTS[:-1], "</script>" + "long " * 200], dtype=object), LABELS)
    else:
        view = view_of(X, np.array([0, 0, 0, 2, 2, 2]), columns=COLUMNS)
    view.write(tmp_path)
    record = new_record(3, view.n)
    record.write(tmp_path / "record.json")
    again = View.read(tmp_path)
    assert again.texts == view.texts
    assert again.traits.top(0) == view.traits.top(0)
    page = payload(again, Edits(3), summarise(Facts.of(record, again, Edits(3))))
    assert page["noun"] == {"text": "text", "table": "row"}[kind]
    assert page["traits"] == {"text": "words", "table": "columns"}[kind]
    assert page["clusters"][0]["traits"][0]["name"] in ("game", "age")
    assert page["clusters"][1]["traits"] == []
    assert max(map(len, page["items"]["text"])) <= 400
    assert "</script>long" not in render(tmp_path).read_text(encoding="utf-8")


def test_rows_in_words():
    assert row_texts(X[[2, 5]], COLUMNS, 100) == ["job smith", "age 10"]
    assert row_texts(X[:1], COLUMNS, 8) == ["age 1, j"]


def test_damaged_traits_are_refused(tmp_path):
    from c3clust.errors import RunError

    view = view_of(X, np.array([0, 0, 0, 2, 2, 2]), columns=COLUMNS)
    view.write(tmp_path)
    with np.load(tmp_path / "view.npz") as arrays:
        kept = dict(arrays)
    np.savez(tmp_path / "view.npz", **(kept | {"trait_sums": kept["trait_sums"][:, 1:]}))
    with pytest.raises(RunError, match="trait_sums has shape"):
        View.read(tmp_path)
