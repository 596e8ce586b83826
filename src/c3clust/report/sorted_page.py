"""sorted_page: the images that were added to an export, by folder, as one HTML page that links to the files."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

__all__ = ["sorted_page"]

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .75rem; padding: 0; }
li { list-style: none; }
img { width: 100%; aspect-ratio: 1; object-fit: cover; border-radius: 4px; background: #8883; }
a { color: inherit; text-decoration: none; overflow-wrap: anywhere; font-size: .85rem; }
small { opacity: .7; }
"""
POLICY = "default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'"


def sorted_page(rows: Sequence[Mapping[str, Any]]) -> str:
    """rows: name, file (relative to the page), cluster_name and confidence of each image."""
    by_folder: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_folder.setdefault(row["file"].partition("/")[0], []).append(row)
    title = f"{len(rows):,} new image{'' if len(rows) == 1 else 's'}"
    sections = "".join(_section(folder, by_folder[folder]) for folder in sorted(by_folder))
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        f'content="{POLICY}">\n<style>{STYLE}</style>\n<h1>{title}</h1>\n{sections}</html>\n'
    )


def _section(folder: str, rows: Sequence[Mapping[str, Any]]) -> str:
    return f"<h2>{escape(folder)} <small>{len(rows):,}</small></h2>\n<ul>\n{''.join(map(_item, rows))}</ul>\n"


def _item(row: Mapping[str, Any]) -> str:
    address = quote(row["file"].encode("utf-8", "surrogateescape"))
    doubt = f"{escape(row['cluster_name'])}, {float(row['confidence']):.0%}"
    text = escape(row["file"].partition("/")[2].encode("utf-8", "replace").decode())
    image = f'<img src="{address}" alt="" loading="lazy">'
    return f'<li><a href="{address}">{image}{text}<br><small>{doubt}</small></a></li>\n'
