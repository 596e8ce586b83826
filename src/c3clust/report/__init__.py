"""A finished run -> report.html; names and merges of its clusters; its images in one folder a cluster.

view.py      what the page shows, kept in the run folder        sprites.py, layout.py: its pictures and its map
traits.py    what sets its clusters apart, of texts and tables
page.py      record + view + edits -> report.html               confusion.py, findings.py: what it says
edits.py     rename, merge, undo
export.py    one folder a cluster
"""

from c3clust.report.page import render, write
from c3clust.report.view import View, build

__all__ = ["View", "build", "render", "write"]
