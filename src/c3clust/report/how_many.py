"""How many clusters: the evidence of a run that found their number, for the page, as a table and as an image."""

import io
import math
import shlex
from itertools import chain
from typing import Any

from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.records.tables import csv_text

__all__ = ["CSV", "PNG", "how_many", "picture", "table"]

CSV, PNG = "how_many.csv", "how_many.png"
CURVES = ("score", "low", "high", "stability", "kept", "above_cloud")
MOST = 40  # clusters up to which the tree is drawn
LISTED = 5  # merges and splits that are listed


def curves(record: RunRecord) -> dict[str, list[Any]] | None:
    """The numbers of clusters that were compared, and the curves over them; None without evidence."""
    if record.choice is None:
        return None
    ks, found = record.choice["ks"], {name: record.choice[name] for name in CURVES}
    return {"ks": ks, **found} if len(ks) > 1 and all(len(curve) == len(ks) for curve in found.values()) else None


def how_many(record: RunRecord, edits: Edits, run: str) -> dict[str, Any] | None:
    """The section of the page; None for a run that was given its number. run: its folder, quoted for a shell."""
    choice = record.choice
    if choice is None:
        return None
    other = choice["runner_up"]
    return {
        "reason": choice["reason"],
        "chosen": choice["chosen"],
        "runner_up": other,
        "looked_at": choice.get("looked_at"),
        "curves": curves(record),
        "tree": tree(choice["merges"], edits),
        "splits": splits(choice["splits"], edits),
        "run": run,
        "command": None if other is None else command(record, other, run),
        "files": [CSV, PNG] if curves(record) else [],
    }


def tree(merges: list[Any], edits: Edits) -> dict[str, Any] | None:
    """Leaves in the order in which they are drawn, and nodes [left, right, height], leaves first as in scipy.

    Clusters that the owner merged are one leaf; empty ones, which no merge names, are none. None if there are too many
    clusters, or fewer than two.
    """
    named = {edits.target[c] for *ends, _ in merges for c in chain(*ends) if 0 <= c < len(edits.target)}
    live = [c for c in edits.live if c in named]
    root, members, nodes = {c: i for i, c in enumerate(live)}, [[c] for c in live], []
    for a, b, height in merges:
        ends = [edits.target[c] for group in (a, b) for c in group[:1] if 0 <= c < len(edits.target)]
        if len(ends) < 2 or not {*ends} <= root.keys() or root[ends[0]] == root[ends[1]]:
            continue
        left, right = root[ends[0]], root[ends[1]]
        members.append(members[left] + members[right])
        root |= dict.fromkeys(members[-1], len(members) - 1)
        nodes.append([left, right, height])
    if not 2 <= len(live) <= MOST or len(members[-1]) < len(live):
        return None
    return {"order": members[-1], "leaves": live, "nodes": nodes}


def splits(found: list[Any], edits: Edits) -> list[list[Any]]:
    """The clusters that would split first: [cluster, size, size, silhouette]; those that were merged are left out."""
    untouched = [c for c in edits.live if edits.target.count(c) == 1]
    return [[int(c), int(a), int(b), s] for c, a, b, s in found if int(c) in untouched][:LISTED]


def command(record: RunRecord, k: int, run: str) -> str:
    """The command that gives another number of clusters, without training where that is possible."""
    can_regroup = record.quality is not None or record.method == "kmeans"
    return f"c3clust regroup {run} -k {k}" if can_regroup else fit_command(record, k, run)


def fit_command(record: RunRecord, k: int, run: str) -> str:
    """The command that fits another number of clusters, as far as the command of the run is known."""
    folder = shlex.quote(f"{shlex.split(run)[0]}-{k}")
    try:
        given = iter(shlex.split(record.command))
    except ValueError:
        given = iter(())
    words = []
    for word in given:
        if word in ("-k", "--clusters", "-o", "--out"):
            next(given, None)
        elif word.partition("=")[0] not in ("--clusters", "--out"):
            words.append(word)
    if words[:2] != ["c3clust", "fit"]:
        words = ["c3clust", "fit", str(record.data.get("place") or "SOURCE")]
    return f"{shlex.join(words)} -k {k} -o {folder}"


def table(record: RunRecord) -> str | None:
    """how_many.csv: a line for each number of clusters; None without evidence."""
    found = curves(record)
    if found is None or record.choice is None:
        return None
    roles = {record.choice["runner_up"]: "runner-up", record.choice["chosen"]: "chosen"}
    rows = zip(found["ks"], *(found[name] for name in CURVES), (roles.get(k, "") for k in found["ks"]), strict=True)
    header = ("clusters", "silhouette", "low", "high", "stability", "neighbours_kept", "above_cloud", "role")
    return csv_text(header, rows)


def picture(record: RunRecord) -> bytes | None:
    """how_many.png: the silhouette against the number of clusters, with its interval; None without evidence."""
    found = curves(record)
    if found is None or record.choice is None:
        return None
    from PIL import Image, ImageDraw, ImageFont

    W, H, left, right, top, bottom = 1200, 640, 110, 30, 96, 90
    ks, low, high = found["ks"][1:], found["low"][1:], found["high"][1:]
    least, most = min(0.0, *low), max(*high, 1e-3)
    image = Image.new("RGB", (W, H), "white")
    draw, font, ink = ImageDraw.Draw(image), ImageFont.load_default(22), (93, 97, 104)

    def x(k: float) -> float:
        return left + (W - left - right) * math.log(k / ks[0]) / max(math.log(ks[-1] / ks[0]), 1e-9)

    def y(v: float) -> float:
        return top + (H - top - bottom) * (most - v) / (most - least)

    for i in range(5):
        v = least + (most - least) * i / 4
        draw.line([(left, y(v)), (W - right, y(v))], fill=(228, 227, 222))
        draw.text((left - 12, y(v)), f"{v:.2f}", ink, font, "rm")
    for k in (k for k in (2, 3, 5, 8, 12, 20, 30, 50, 80, 120) if ks[0] <= k <= ks[-1]):
        draw.text((x(k), H - bottom + 12), str(k), ink, font, "mt")
    band = [(x(k), y(v)) for k, v in zip(ks, high, strict=True)]
    band += [(x(k), y(v)) for k, v in reversed(list(zip(ks, low, strict=True)))]
    draw.polygon(band, fill=(204, 227, 240))
    draw.line([(x(k), y(v)) for k, v in zip(ks, found["score"][1:], strict=True)], fill=(0, 114, 178), width=4)
    for k, label, colour, above in (  # each has its own line, since the numbers may be next to each other
        (record.choice["runner_up"], "next", ink, 34),
        (record.choice["chosen"], "chosen", (0, 114, 178), 8),
    ):
        if k in ks:
            draw.line([(x(k), top), (x(k), H - bottom)], fill=colour, width=2)
            half = draw.textlength(f"{label}: {k}", font) / 2
            draw.text((min(x(k), W - 6 - half), top - above), f"{label}: {k}", colour, font, "mb")
    draw.text((left, 14), "Silhouette of resampled clusterings, with its interval", (26, 27, 30), font)
    draw.text(((left + W - right) / 2, H - 16), "number of clusters", ink, font, "mb")
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()
