import numpy as np
import pytest

from c3clust import data
from c3clust.errors import DataError, InputError


def test_lines_are_texts_and_keep_their_number(tmp_path):
    (tmp_path / "t.txt").write_bytes("\ufeffein rotes Haus\r\n\n  zwei Hunde \nдом\n".encode())
    images = data.load(tmp_path / "t.txt")
    assert images.x.tolist() == ["ein rotes Haus", "zwei Hunde", "дом"]
    assert images.names == ["1", "3", "4"]
    assert (images.kind, images.content) == ("text", "text")
    assert list(images.notes) == ["1 empty text was left out."]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"caf\xe9\n", r"not in UTF-8 \(line 1 has the byte 0xe9\).*iconv"),
        (b"good\nna\xefve\n", r"line 2"),
        (b"a\0b\n", "is not a text file"),
        (b"\n \n", "contains no text"),
        (b"", "contains no text"),
    ],
)
def test_a_file_that_is_no_text_gets_one_sentence(tmp_path, content, words):
    (tmp_path / "t.txt").write_bytes(content)
    with pytest.raises(DataError, match=words):
        data.load(tmp_path / "t.txt")


def test_texts_are_not_rows(tmp_path):
    (tmp_path / "t.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match="cannot be read as a table"):
        data.load(tmp_path / "t.txt", kind="table")
    with pytest.raises(InputError, match=r"kind='texts' is unknown. Did you mean text\?"):
        data.load(tmp_path / "t.txt", kind="texts")


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda texts: np.array(texts, dtype=object)])
def test_lists_and_arrays_of_str(make):
    images = data.load(make(["a fox", "", "a wolf"]))
    assert images.x.tolist() == ["a fox", "a wolf"]
    assert images.names == ["0", "2"]


def test_a_list_with_something_else_in_it_is_not_taken_for_texts():
    with pytest.raises(InputError):
        data.load(["a fox", 3])


def test_the_fingerprint_is_of_the_words_and_their_bounds():
    prints = {data.fingerprint(data.load(texts)) for texts in (["ab", "c"], ["a", "bc"], ["ab", "d"], ["ab", "c"])}
    assert len(prints) == 3


def test_texts_in_utf_16(tmp_path):
    (tmp_path / "t.txt").write_text("größe\nzwei\n", encoding="utf-16")
    assert data.load(tmp_path / "t.txt").x.tolist() == ["größe", "zwei"]
