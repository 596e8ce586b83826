"""label, merge, undo: change the names and clusters of a finished run, and its page. No torch.

records/edits.py has the file. methods/_changes.py splits and regroups.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from c3clust.records import edits
from c3clust.records.changes import current
from c3clust.records.edits import Edits
from c3clust.report.page import render

__all__ = ["label", "merge", "undo"]


def label(run: str | Path, names: Mapping[int, str]) -> Edits:
    """Name clusters of a finished run, such as {3: "cats"}; an empty name removes a name."""
    return _shown(run, edits.label(run, names))


def merge(run: str | Path, clusters: Iterable[int]) -> Edits:
    """Merge clusters of a finished run into the first of them."""
    return _shown(run, edits.merge(run, clusters))


def undo(run: str | Path) -> Edits:
    """Undo the last name, merge, split or regrouping of a finished run."""
    return _shown(run, edits.undo(run))


def _shown(run: str | Path, now: Edits) -> Edits:
    """Update the page, if there is one."""
    if (current(run) / "view.npz").exists():
        render(Path(run))
    return now
