"""A finished run -> report.html, and its images in one folder per cluster.

view.py      the data of the page, stored in the run folder       build.py: how they are made
sprites.py   thumbnails          layout.py: the map          traits.py: words and columns that distinguish clusters
facts.py     record + view + edits -> what can be said about the run without labels
findings.py  what looks wrong, and what to try (training_findings.py: about the training)     verdict.py: the top line
naming.py    names suggested for clusters
payload.py   record + view + edits -> the page's content as JSON     confusion.py: a part of it
page.py      the content -> report.html
export.py    one folder per cluster
"""

from c3clust.report.build import build
from c3clust.report.facts import Facts
from c3clust.report.findings import findings
from c3clust.report.page import render, write
from c3clust.report.verdict import Summary, summarise, verdict
from c3clust.report.view import View

__all__ = ["Facts", "Summary", "View", "build", "findings", "render", "summarise", "verdict", "write"]
