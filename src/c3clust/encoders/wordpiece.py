"""WordPiece: text -> tokens, as BERT was trained on them. Wu et al. 2016, https://arxiv.org/abs/1609.08144, section 4.1

Text is cleaned, lower-cased and freed of accents (if the vocabulary is uncased), split at spaces, punctuation and
Chinese characters; each word is then the longest known pieces from left to right, or unknown as a whole.
"""

import unicodedata
from collections.abc import Sequence

from c3clust.errors import DataError

__all__ = ["WordPiece"]

LONGEST = 100  # characters of a word
REMEMBERED = 200_000  # words
CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """Tokens of texts by a vocabulary: one piece an entry, pieces inside a word begin with ##."""

    def __init__(self, vocabulary: Sequence[str], lower: bool = True) -> None:
        self.ids, self.lower = {piece: i for i, piece in enumerate(vocabulary)}, lower
        absent = [name for name in ("[UNK]", "[CLS]", "[SEP]", "[PAD]") if name not in self.ids]
        if absent:
            raise DataError(f"The vocabulary has no entry {absent[0]}: it is not one of BERT.")
        self._known: dict[str, list[int]] = {}

    def __call__(self, text: str, longest: int) -> list[int]:
        """Token numbers of a text between [CLS] and [SEP], at most `longest` with these two.

        No more than 20 characters a token are looked at: a long text takes no longer than it must.
        """
        tokens = [self.ids["[CLS]"]]
        for word in self._words(text[: 20 * longest]):
            tokens += self._pieces(word)
            if len(tokens) >= longest - 1:
                break
        return [*tokens[: longest - 1], self.ids["[SEP]"]]

    def _words(self, text: str) -> list[str]:
        if text.isascii() and text.isprintable():
            text = text.lower() if self.lower else text
            return "".join(c if c.isalnum() or c == " " else f" {c} " for c in text).split()
        text = "".join(_cleaned(c) for c in text)
        if self.lower:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn").lower()
        return "".join(f" {c} " if _is_punctuation(c) else c for c in text).split()

    def _pieces(self, word: str) -> list[int]:
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            found = self._known[word] = self._split(word)
        return found

    def _split(self, word: str) -> list[int]:
        """The longest known pieces from left to right."""
        unknown, start, pieces = [self.ids["[UNK]"]], 0, []
        if len(word) > LONGEST:
            return unknown
        while start < len(word):
            head = "##" if start else ""
            end = next((e for e in range(len(word), start, -1) if head + word[start:e] in self.ids), None)
            if end is None:
                return unknown
            pieces.append(self.ids[head + word[start:end]])
            start = end
        return pieces


def _cleaned(c: str) -> str:
    """A character without meaning is nothing, any space is a space, a Chinese character stands alone."""
    if c in "\t\n\r" or unicodedata.category(c) == "Zs":
        return " "
    if c in "\0\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Cn", "Co", "Cs"):
        return ""
    return f" {c} " if any(low <= ord(c) <= high for low, high in CHINESE) else c


def _is_punctuation(c: str) -> bool:
    """Unicode's punctuation, and every other sign of ASCII."""
    return (c.isascii() and c.isprintable() and not c.isalnum() and c != " ") or unicodedata.category(c)[0] == "P"
