"""Text that comes from files, on its way to a terminal, a spreadsheet or a file.

The rules (docs/SECURITY.md):

- Control characters, and the characters that reverse the direction of a line, are shown as escapes on a terminal.
- A cell of a CSV file that a spreadsheet would take for a formula gets an apostrophe in front; `from_cell` removes it.
- Text is written as UTF-8. Bytes of file names that are not UTF-8 are written as they are; other lone surrogates, which
  no file can hold, as escapes.
"""

import codecs
import re
import unicodedata
from typing import Any

__all__ = ["duration", "encoded", "encoding", "from_cell", "printable", "separator", "to_cell"]

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)
FORMULA = re.compile(r"'*[=+\-@\t\r]")
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SEPARATORS = ",;\t|"
LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that do not stand for a byte


def printable(text: str) -> str:
    """The text without anything that a terminal would obey; line breaks and tabs stay.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return "".join(letter if _is_plain(letter) else _escape(letter) for letter in text)


def to_cell(value: Any) -> Any:
    """A value as a cell of a CSV file: text that looks like a formula gets an apostrophe in front; numbers do not.

    >>> to_cell("=1+1"), to_cell("-3.5"), to_cell("photo.png"), to_cell(-2)
    ("'=1+1", '-3.5', 'photo.png', -2)
    """
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value) else value


def from_cell(text: str) -> str:
    """The text of which `to_cell` made the cell.

    >>> from_cell("'=1+1"), from_cell("'tis.png")
    ('=1+1', "'tis.png")
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def encoded(text: str) -> bytes:
    """The text as bytes for a file."""
    return LONE.sub(lambda found: _escape(found[0]), text).encode("utf-8", "surrogateescape")


def encoding(start: bytes) -> str:
    """The encoding of a file of text that starts like this: UTF-16 if it says so (PowerShell, Excel), else UTF-8.

    >>> encoding(b"\\xff\\xfea\\0"), encoding(b"abc")
    ('utf-16', 'utf-8-sig')
    """
    return "utf-16" if start.startswith(UTF_16) else "utf-8-sig"


def separator(header: str) -> str:
    """The separator of a CSV file with this first line: the most frequent one of comma, semicolon, tab and bar.

    >>> separator("name;cluster, old;size")
    ';'
    """
    return max(SEPARATORS, key=header.count)


def duration(seconds: float | None) -> str:
    """A time in words.

    >>> duration(90), duration(7200), duration(400_000), duration(None)
    ('90 s', '2.0 h', '4.6 days', '–')
    """
    if seconds is None:
        return "–"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def _is_plain(letter: str) -> bool:
    return (
        letter in "\n\t"
        or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        or letter in "\u200c\u200d"
    )


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
