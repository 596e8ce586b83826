"""How many clusters: the evidence of a run that found their number for the page and as a table."""

from itertools import chain
from typing import Any

from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.records.tables import csv_text
from c3clust.report.refit import NUMBER, refit_command

__all__ = ["CSV", "how_many", "table"]

CSV = "how_many.csv"
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
        "others": choice.get("others", [] if other is None else [other]),
        "doubt": choice.get("doubt"),
        "looked_at": choice.get("looked_at"),
        "curves": curves(record),
        "tree": tree(choice["merges"], edits),
        "splits": splits(choice["splits"], edits),
        "run": run,
        "command": None if other is None else command(record, other, run),
        "file": CSV if curves(record) else None,
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
    return (
        f"c3clust regroup {run} -k {k}"
        if can_regroup
        else refit_command(record, run, str(k), ["-k", str(k)], without=NUMBER)
    )


def table(record: RunRecord) -> str | None:
    """how_many.csv: a line for each number of clusters; None without evidence."""
    found = curves(record)
    if found is None or record.choice is None:
        return None
    roles = {record.choice["runner_up"]: "runner-up", record.choice["chosen"]: "chosen"}
    roles |= dict.fromkeys(set(record.choice.get("others", [])) - roles.keys(), "other")
    chance = record.choice.get("chance", [""] * len(found["ks"]))
    columns = [*(found[name] for name in CURVES), chance, [roles.get(k, "") for k in found["ks"]]]
    rows = zip(found["ks"], *columns, strict=True)
    header = ("clusters", "silhouette", "low", "high", "stability", "neighbours_kept", "above_cloud", "chance", "role")
    return csv_text(header, rows)
