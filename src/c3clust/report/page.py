"""record + view + edits -> report.html: one file that needs no network.

The content is embedded as JSON that cannot end the script element, and the page's code inserts it as text only. The
content security policy names the page's own style and code by their hashes, so nothing else is executed.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.files.atomic import write_atomically
from c3clust.records.assignments import Assignments, read_labels
from c3clust.records.changes import current
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.records.tables import csv_text
from c3clust.report import how_many
from c3clust.report.facts import Facts
from c3clust.report.naming import suggestion
from c3clust.report.payload import payload
from c3clust.report.placed import placed
from c3clust.report.verdict import Summary, summarise
from c3clust.report.view import View

__all__ = ["current_view", "render", "write"]

FILE = "report.html"
LABELS = "labels.csv"
CLUSTERS = "clusters.csv"
TEMPLATES = Path(__file__).with_name("templates")
PLACE = re.compile(r"{{ (\w+) }}")  # in the template
SCRIPTS = (
    "base", "thumbs", "find", "dialogs", "summary", "copies", "outliers", "map", "curves", "how_many", "truth", "theme",
)  # fmt: skip


def render(run_dir: Path) -> Path:
    """Write run_dir/report.html from record.json, view.npz and edits.json of the run folder."""
    run_dir = Path(run_dir)
    record = RunRecord.read(current(run_dir) / "record.json")
    view, edits = current_view(run_dir)
    write(run_dir, record, view, edits)
    return run_dir / FILE


def current_view(run: Path) -> tuple[View, Edits]:
    """The view of a run with the samples where they were placed, before merges; and the edits."""
    now = current(run)
    view = View.read(now)
    edits = Edits.read(now, view.n_clusters)
    if not edits.placed:
        return view, edits
    found = Assignments.read(now)
    after, truth = edits.place(found.names, found.clusters), None
    if view.classes and (run / LABELS).exists():
        number = {name: i for i, name in enumerate(view.classes)}
        truth = np.array([number.get(name, -1) for name in read_labels(run / LABELS, found.names, any_file=False)])
    return placed(view, found.clusters, after, found.edited(edits).confidence, edits.n_all, truth), edits


def write(run_dir: Path, record: RunRecord, view: View, edits: Edits | None = None) -> Summary:
    """Write report.html, clusters.csv and how_many.csv atomically. Edits are those of the run folder unless given."""
    run_dir = Path(run_dir)
    edits = edits or Edits.read(run_dir, view.n_clusters)
    summary = summarise(Facts.of(record, view, edits, str(run_dir)))
    text = page(payload(view, edits, summary, str(run_dir)), view.sheets)
    write_atomically(run_dir / FILE, text.encode())
    if not (run_dir / how_many.CSV).exists() and (evidence := how_many.table(record)):  # no edit changes it
        write_atomically(run_dir / how_many.CSV, evidence.encode())
    write_atomically(run_dir / CLUSTERS, clusters_csv(view, edits).encode("utf-8", "surrogateescape"))
    return summary


def clusters_csv(view: View, edits: Edits) -> str:
    """clusters.csv: one line per current cluster, with the name that was given and the one suggested."""
    now, rows = view.merged(np.asarray(edits.target)), []
    for i in edits.live:
        found = suggestion(now, i)
        given = ("", "") if found is None else (found.name, found.source)
        rows.append((i, edits.names.get(i, ""), *given, int(now.sizes[i])))
    return csv_text(("cluster", "name", "suggested_name", "suggested_from", "samples"), rows)


def page(content: Mapping[str, Any], sheets: Sequence[bytes]) -> str:
    """The HTML of the page."""
    base, own, html = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("base.css", "page.css", "page.html"))
    style = base + own
    scripts = [(TEMPLATES / "scripts" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    code = '"use strict";\n(() => {\n' + "\n".join(scripts) + "})();\n"
    parts = {
        "title": escape(content["title"]),
        "style": style,
        "code": code,
        "style_hash": _hash(style),
        "code_hash": _hash(code),
        "data": _json(content),
        "sheets": _json([_data_url(sheet) for sheet in sheets]),
    }
    return PLACE.sub(lambda found: parts[found[1]], html)


def _json(value: Any) -> str:
    """JSON in ASCII that cannot end a script element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _data_url(sheet: bytes) -> str:
    mime = "image/png" if sheet[:4] == b"\x89PNG" else "image/jpeg" if sheet[:2] == b"\xff\xd8" else "image/webp"
    return f"data:{mime};base64,{base64.b64encode(sheet).decode()}"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
