import pytest

from c3clust.encoders.wordpiece import WordPiece
from c3clust.errors import DataError

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##a", "the", "cafe", ",", "-", "中", "文", "!"]


@pytest.fixture(scope="module")
def tokens():
    vocabulary = WordPiece(PIECES)
    return lambda text, longest=64: [PIECES[i] for i in vocabulary(text, longest)[1:-1]]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", ["un", "##aff", "##able"]),  # the longest piece first, though ##a is known
        ("The,the-", ["the", ",", "the", "-"]),
        ("Café CAFÉ", ["cafe", "cafe"]),
        ("the\u200bthe\x07\tthe", ["[UNK]", "the"]),
        ("中文the", ["中", "文", "the"]),
        ("the“the", ["the", "[UNK]", "the"]),
        ("zebra unzebra the", ["[UNK]", "[UNK]", "the"]),
        ("un" * 51, ["[UNK]"]),  # a word of more than 100 characters
        (" \n", []),
    ],
)
def test_pieces(tokens, text, pieces):
    assert tokens(text) == pieces


def test_long_texts_are_cut_between_the_marks():
    vocabulary = WordPiece(PIECES)
    assert vocabulary("the " * 50, 6) == [2, 8, 8, 8, 8, 3]
    assert vocabulary("", 6) == [2, 3]


def test_capitals_count_in_a_cased_vocabulary():
    assert WordPiece([*PIECES, "The"], lower=False)("The the", 8) == [2, len(PIECES), 8, 3]


def test_a_vocabulary_of_another_kind_is_refused():
    with pytest.raises(DataError, match=r"no entry \[UNK\]"):
        WordPiece(["a", "b"])


def test_against_the_tokenizers_package():
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    theirs = tokenizers.BertWordPieceTokenizer({piece: i for i, piece in enumerate(PIECES)}, lowercase=True)
    ours = WordPiece(PIECES)
    for text in (
        "Unaffable, the Café!",
        "ＴＨＥ the\u00ad the",
        "naïve—the İ ß ﬁ 中文 한국 हिन्दी",
        "\ufffdthe\0 un-un",
        "a_b @the",
    ):
        assert ours(text, 512) == theirs.encode(text).ids
