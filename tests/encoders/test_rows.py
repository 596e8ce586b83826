import json

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import c3clust
from c3clust import C3, CC, C3Adaptive, KMeans, data
from c3clust.encoders.rows import TableEncoder
from c3clust.errors import InputError, RunError
from c3clust.files import model_io


@pytest.fixture
def people(tmp_path):
    """Two kinds of people, told apart by age, hours and job; with gaps, a constant and an empty column."""
    rng = np.random.default_rng(0)
    rows = ["age,job,hours,planet,note,row"]
    for i in range(90):
        young = i % 2
        age = "" if i % 9 == 4 else f"{rng.normal(20 if young else 60, 4):.2f}"
        job = "NA" if i % 11 == 3 else ("student" if young else ("retired", "cook")[i % 4 // 2])
        rows.append(f"{age},{job},{rng.normal(10 if young else 40, 5):.3f},earth,,{i}")
    (tmp_path / "people.csv").write_text("\n".join(rows))
    return tmp_path / "people.csv"


def test_it_is_what_scikit_learn_makes_of_the_columns(people):
    table, encoder = data.load(people), TableEncoder()
    encoder.fit(table)
    h = encoder.encode(encoder.validate(table).x).numpy()
    age, job, hours = table.x[:, 0], table.x[:, 1], table.x[:, 2]
    scaled = StandardScaler().fit_transform(np.stack([age, hours], axis=1))
    np.testing.assert_allclose(h[:, [0, 4]], np.nan_to_num(scaled), atol=1e-6)
    known = ~np.isnan(job)
    pipeline = make_column_transformer((OneHotEncoder(sparse_output=False), [0]))
    np.testing.assert_array_equal(h[known, 1:4], pipeline.fit_transform(job[known, None]))
    assert not h[~known, 1:4].any()


def test_useless_columns_are_left_out_and_named(people):
    encoder = TableEncoder()
    encoder.fit(data.load(people))
    assert [column.name for column in encoder.columns] == ["age", "job", "hours"]
    notes = " ".join(encoder.notes)
    for words in (
        "'planet' is ignored: all of its values are the same",
        "'note' is ignored: all of its values are miss",
    ):
        assert words in notes
    assert "'row' is ignored: it is a row number" in notes


def test_many_categories_and_values_of_one_row_each(tmp_path):
    rows = [f"{i % 70},{'xy'[i % 2]}{i},{i * 0.7}" for i in range(400)]
    (tmp_path / "t.csv").write_text("\n".join(["code,key_of_row,size", *rows]).replace("\n", "\nc", 400))
    table, encoder = data.load(tmp_path / "t.csv", kind="table"), TableEncoder()
    encoder.fit(table)
    assert [column.width for column in encoder.columns] == [50, 1]
    assert "Of the 70 categories of column 'code', only the 50 most frequent are used." in encoder.notes
    assert "'key_of_row' is ignored: nearly all of its values differ" in " ".join(encoder.notes)


def test_a_table_that_tells_nothing_apart(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n3,x\n3,x\n3,x\n")
    with pytest.raises(
        InputError, match=r"no column that distinguishes its rows: Column 'a' is ignored.*whose values differ"
    ):
        CC(2).fit(tmp_path / "t.csv")


@pytest.mark.parametrize("method", [CC, KMeans])
def test_fit_save_load_predict(people, tmp_path, method):
    quick = {"epochs": 10, "batch_size": 32} if method is CC else {}
    fitted = method(2, random_state=0, **quick).fit(people)
    assert c3clust.acc(np.arange(90) % 2, fitted.labels_) > 0.9
    fitted.save(tmp_path / "model")
    again = c3clust.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(people), fitted.labels_)
    assert json.loads((tmp_path / "model" / "model.json").read_text())["encoder"]["settings"]["columns"][1] == {
        "name": "job",
        "categories": ["cook", "retired", "student"],
    }


def test_new_rows_may_have_other_orders_gaps_and_new_categories(people, tmp_path, caplog):
    fitted = KMeans(2, random_state=0).fit(people)
    (tmp_path / "new.csv").write_text("hours,extra,job,age\n9.5,?,pilot,21\n41,?,,\n38,?,retired,63\n")
    young, gap, old = fitted.predict(tmp_path / "new.csv")
    assert young != old == gap
    assert "'pilot' in column 'job' of 1 row, unknown to this model: treated as missing" in caplog.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,hours\n1,2\n3,4\n", r"no column 'job'"),
        ("age,job,hours\nold,cook,2\n", r"has 'old' in column 'age', where this model was trained on numbers"),
    ],
)
def test_wrong_columns_at_predict(people, tmp_path, text, words):
    fitted = KMeans(2, random_state=0).fit(people)
    (tmp_path / "new.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        fitted.predict(tmp_path / "new.csv")


def test_numbers_where_categories_were_learned(tmp_path):
    rows = [f"{'12x'[i % 3]},{i % 3}.5" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["code,size", *rows]))
    fitted = KMeans(3, random_state=0).fit(tmp_path / "t.csv")
    (tmp_path / "new.csv").write_text("code,size\n1,0.5\n2,1.5\n")
    np.testing.assert_array_equal(fitted.predict(tmp_path / "new.csv"), fitted.labels_[:2])


def test_data_frames(people):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.read_csv(people)
    fitted = KMeans(2, random_state=0).fit(frame)
    np.testing.assert_array_equal(fitted.labels_, KMeans(2, random_state=0).fit(people).labels_)
    np.testing.assert_array_equal(fitted.predict(frame), fitted.labels_)
    whole = frame[["age", "hours", "job"]].dropna()
    assert len(fitted.predict(whole)) == len(whole)


def test_stage_two_goes_on_with_the_columns_of_its_start(people):
    cc = CC(2, epochs=6, batch_size=32, random_state=0).fit(people)
    c3 = C3(2, start=cc, epochs=1, batch_size=32, random_state=0).fit(people)
    assert c3.encoder_.state() == cc.encoder_.state()
    np.testing.assert_array_equal(c3.start_labels_, cc.labels_)


def test_hostile_settings_are_refused(people, tmp_path):
    KMeans(2, random_state=0).fit(people).save(tmp_path / "model")
    meta, tensors = model_io.read(tmp_path / "model" / "model", "model")
    meta["encoder"]["settings"]["columns"][0]["spread"] = 0
    model_io.write(tmp_path / "model" / "model", meta, tensors)  # a file whose hash is right
    with pytest.raises(RunError, match="columns of its table cannot be read"):
        c3clust.load(tmp_path / "model")


def test_the_head_begins_with_the_clusters_of_the_columns(tmp_path):
    """Noise has no clusters that z would find too; at next to no learning rate the head keeps what it was taught."""
    rows = np.random.default_rng(0).normal(size=(200, 6))
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,e,f", *(",".join(f"{v:.4f}" for v in row) for row in rows)]))
    still = {"cc_epochs": 2, "warmup": 0.5, "cc_lr": 1e-9, "epochs": 0, "settle": 0, "random_state": 0}
    found = KMeans(3, random_state=0).fit(tmp_path / "t.csv").labels_
    assert c3clust.acc(found, C3Adaptive(3, **still).fit(tmp_path / "t.csv").labels_) > 0.8
    assert c3clust.acc(found, C3Adaptive(3, **still).fit(rows).labels_) < 0.8  # vectors, whose head starts from z


def test_a_run_on_a_table_is_an_encoder(people, tmp_path):
    first = CC(2, epochs=2, batch_size=32, projection_dim=6, random_state=0).fit(people)
    first.save(tmp_path / "first")
    second = KMeans(2, encoder=str(tmp_path / "first"), random_state=0).fit(people)
    np.testing.assert_array_equal(second.encoder_note_["features"], 6)
    second.save(tmp_path / "second")
    np.testing.assert_array_equal(
        c3clust.load(tmp_path / "second", encoder=str(tmp_path / "first")).predict(people), second.labels_
    )
    third = CC(2, encoder=str(tmp_path / "first"), epochs=1, views=1, batch_size=32, random_state=0).fit(people)
    assert third.input_shape_ == (6,)
