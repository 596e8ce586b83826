import numpy as np
import pytest

from c3clust import data
from c3clust.errors import DataError, InputError


def csv(tmp_path, text, name="t.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_numbers_categories_and_gaps(tmp_path):
    table = data.load(csv(tmp_path, "age,job,sure\n3,cook,true\n,baker,NA\n5.5,cook,false\n"))
    assert (table.kind, table.content) == ("table", "table")
    assert [(c.name, c.levels) for c in table.columns] == [
        ("age", None),
        ("job", ("baker", "cook")),
        ("sure", ("false", "true")),
    ]
    np.testing.assert_array_equal(table.x, [[3, 1, 1], [np.nan, 0, np.nan], [5.5, 1, 0]])
    assert table.names == ["1", "2", "3"]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators(tmp_path, separator):
    rows = "a,b\n3,x\n2,y\n".replace(",", separator)
    assert data.load(csv(tmp_path, rows)).x.tolist() == [[3, 0], [2, 1]]


def test_labels_and_names_of_rows_are_not_clustered(tmp_path):
    path = csv(tmp_path, "id,width,class\nr7,5,b\nr9,2,a\nr8,3,b\nr1,4,a\n")
    table = data.load(path)
    assert table.names == ["r7", "r9", "r8", "r1"]
    assert [c.name for c in table.columns] == ["width"]
    assert (table.y.tolist(), table.classes) == ([1, 0, 1, 0], ["a", "b"])
    assert "true labels" in table.notes[0]
    chosen = data.load(path, columns=["class", "width"])
    assert [c.name for c in chosen.columns] == ["class", "width"]
    assert chosen.y is None


def test_columns_that_are_not_clustered_are_listed(tmp_path):
    table = data.load(csv(tmp_path, "id,width,height,class\nr7,5,1,b\nr9,2,3,a\nr8,3,2,b\n"), columns=["width"])
    assert table.taken == "columns width"
    assert table.left == [
        "column 'class' (true labels, for scores only)", "column 'id' (names of the rows)", "columns height",
    ]  # fmt: skip


def test_a_number_that_differs_in_most_rows_is_no_class(tmp_path):
    table = data.load(csv(tmp_path, "width,target\n" + "".join(f"{i},{i * 1.5}\n" for i in range(10))))
    assert table.y is None
    assert [c.name for c in table.columns] == ["width", "target"]


SENTENCES = "the cat sat down\nthe dog ran off\na bird flew away\n".splitlines()


def test_a_column_of_sentences_is_texts(tmp_path):
    rows = [f"{i},{text},{'ab'[i % 2]}" for i, text in enumerate(SENTENCES)]
    path = csv(tmp_path, "\n".join(["number,said,label", *rows]))
    texts = data.load(path)
    assert texts.kind == "text"
    assert texts.x.tolist() == SENTENCES
    assert texts.classes == ["a", "b"]
    assert texts.names == ["1", "2", "3"]


def test_one_column_of_words_is_texts_too(tmp_path):
    assert data.load(csv(tmp_path, "fruit\napple\npear\n")).kind == "text"
    assert data.load(csv(tmp_path, "fruit,price\napple,3\npear,2\n"), columns=["fruit"]).x.tolist() == ["apple", "pear"]
    assert data.load(csv(tmp_path, "fruit,price\napple,3\npear,2\n")).kind == "table"


def test_texts_beside_other_columns_may_be_meant_either_way(tmp_path):
    rows = [f"{text},{(7 * i) % 5}" for i, text in enumerate(SENTENCES)]
    path = csv(tmp_path, "\n".join(["said,stars", *rows]))
    with pytest.raises(InputError, match=r"texts \(said\) or as a table \(stars\): use --column said or --kind table"):
        data.load(path)
    assert data.load(path, columns=["said"]).kind == "text"
    assert data.load(path, kind="text").x.tolist() == SENTENCES
    assert data.load(path, kind="table").kind == "table"


def test_a_name_of_images_over_other_cells_is_asked_back(tmp_path):
    path = csv(tmp_path, "file,size\nx86,3\narm,4\n")
    with pytest.raises(InputError, match="'x86' is not an image file: use --kind image, or --kind table"):
        data.load(path)
    assert data.load(path, kind="table").columns[0].levels == ("arm", "x86")


def test_a_text_that_ends_like_a_file_is_still_a_text(tmp_path):
    (tmp_path / "t.csv").write_text("said\nlook at photo.jpg\nno more of this\nwell then so be it\n")
    assert data.load(tmp_path / "t.csv").kind == "text"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, "contains no rows"),
        ("a,b\n", {}, "contains no rows"),
        ("a,b\n1,2\n3\n", {}, "1 cells in row 2 and 2 columns"),
        ("a,a\n1,2\n", {}, "more than one column 'a'"),
        ("a,b\n1,inf\n2,3\n", {}, "infinite number in column 'b'"),
        ("age,job\n1,x\n", {"columns": ["wage"]}, r"no column 'wage'. Did you mean age\? Known: age, job"),
        ("age,job\n1,x\n", {"columns": ["u", "v"]}, "none of the columns u, v"),
        ("a,b\nx y z,p q r\nu v w,s t u\n", {}, r"texts \(a, b\): use --column a"),
        ("a,b\nx,p\ny,q\n", {"kind": "text"}, "2 columns of words: select the one"),
        ("a,label\n1,x\n2,\n3,x\n4,y\n", {}, "no label in row 2"),
    ],
)
def test_a_table_that_cannot_be_used_gets_one_sentence(tmp_path, text, options, words):
    with pytest.raises((DataError, InputError), match=words):
        data.load(csv(tmp_path, text), **options)


def test_a_table_in_another_encoding(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"caf\xe9,b\n1,2\n")
    with pytest.raises(DataError, match=r"is not in UTF-8.*in Excel as CSV UTF-8"):
        data.load(tmp_path / "t.csv")


def test_a_table_in_utf_16(tmp_path):
    """As PowerShell and Excel write it, with a byte order mark; without one it is no text."""
    for code in ("utf-16-le", "utf-16-be"):
        (tmp_path / "t.csv").write_bytes("\ufeffgröße;b\n1,5;2\n2,5;1\n".encode(code))
        table = data.load(tmp_path / "t.csv")
        assert [column.name for column in table.columns] == ["größe", "b"]
        assert table.x[:, 0].tolist() == [1.5, 2.5]
    (tmp_path / "t.csv").write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="zero bytes"):
        data.load(tmp_path / "t.csv")


@pytest.mark.parametrize("cells", [("1.234,50", "17", "-2.000.000,5"), ("1,234.50", "17", "-2,000,000.5")])
def test_separators_of_thousands_beside_decimals(tmp_path, cells):
    table = data.load(csv(tmp_path, "a;b\n" + "".join(f"{cell};x\n" for cell in cells)))
    assert table.x[:, 0].tolist() == [1234.5, 17, -2000000.5]


def test_parquet_with_types_of_its_own(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra c3clust[tables] is not installed")
    import pyarrow.parquet as parquet

    columns = {"n": [1, None, 3], "f": [0.5, float("nan"), 2.0], "ok": [True, None, False], "w": ["x", "y", None]}
    parquet.write_table(pyarrow.table({**columns, "when": [[1], [2], [3]]}), tmp_path / "t.parquet")
    table = data.load(tmp_path / "t.parquet")
    np.testing.assert_array_equal(table.x, [[1, 0.5, 1, 0], [np.nan, np.nan, np.nan, 1], [3, 2, 0, np.nan]])
    assert table.columns[2].levels == ("False", "True")
    assert list(table.notes) == ["Column 'when' is ignored: its cells are neither numbers nor words, but list."]


def test_a_data_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"a": [1.0, None], "b": pandas.Categorical(["x", "y"]), 3: [True, False]})
    table = data.load(frame)
    np.testing.assert_array_equal(table.x, [[1, 0, 1], [np.nan, 1, 0]])
    assert [c.name for c in table.columns] == ["a", "b", "3"]


def test_the_fingerprint_is_of_names_and_categories_too(tmp_path):
    texts = ["a,b\n3,x\n2,y\n", "a,b\n3,x\n2,z\n", "a,c\n3,x\n2,y\n"]
    assert len({data.fingerprint(data.load(csv(tmp_path, text))) for text in texts}) == 3
