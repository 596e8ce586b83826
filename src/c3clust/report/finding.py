"""Finding: one plain sentence about a run, and advice."""

from dataclasses import dataclass

__all__ = ["LEVELS", "Finding"]

LEVELS = ("bad", "warn", "good", "note")


@dataclass(frozen=True)
class Finding:
    """level: one of LEVELS; text: what was found; advice: what to try. A command in it comes last."""

    level: str
    kind: str
    text: str
    advice: str = ""
