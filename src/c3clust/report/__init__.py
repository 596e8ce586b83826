"""A finished run -> report.html, and its images in one folder per cluster.

view.py      the data of the page, stored in the run folder       build.py: how they are made
sprites.py   thumbnails          layout.py: the map          traits.py: words and columns that distinguish clusters
payload.py   record + view + edits -> the page's content as JSON     confusion.py, findings.py: parts of it
page.py      the content -> report.html
export.py    one folder per cluster
"""

from c3clust.report.build import build
from c3clust.report.page import render, write
from c3clust.report.view import View

__all__ = ["View", "build", "render", "write"]
