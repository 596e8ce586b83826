"""Documentation of inherited parameters and attributes: the docstring of a method lists all that it has."""

import re

from c3clust.estimator.base import method_name

__all__ = ["Documented", "with_inherited_entries"]

ENTRY = re.compile(r"^    (?P<names>\w+(?:, \w+)*)(?: : (?P<kind>.+))?$", re.MULTILINE)
Entries = dict[tuple[str, ...], tuple[str, str]]  # names -> kind, text below


class Documented:
    """A class of parameters: its entries are added to the docstring of each method that inherits them."""


def with_inherited_entries(cls: type) -> str:
    """The docstring of `cls` with the parameters and attributes that it inherits and does not document itself."""
    summary, *sections = re.split(r"\n\n(?=    \w+\n    -+\n)", (cls.__dict__.get("__doc__") or "").rstrip())
    found = {re.match(r" *(\w+)", section)[1]: section for section in sections}  # type: ignore[index]
    for title in ("Parameters", "Attributes"):
        found[title] = _section(title, _inherited(cls, title, _entries(found.get(title, ""))))
    if "Examples" not in found and hasattr(cls, "example"):
        found["Examples"] = "    Examples\n    --------\n" + cls.example.replace("NAME", method_name(cls))
    order = dict.fromkeys(("Parameters", "Attributes", *found))
    return "\n\n".join([summary, *(found[title] for title in order)]) + "\n    "


def _inherited(cls: type, title: str, entries: Entries) -> Entries:
    for base in cls.__mro__[1:]:
        own = re.search(rf"    {title}\n    -+\n(.*?)(?:\n\n|\Z)", base.__doc__ or "", re.DOTALL)
        for names, (kind, text) in _entries(own[1] if own and issubclass(base, Documented) else "").items():
            if not {name for known in entries for name in known} & set(names):
                values = [repr(getattr(cls, name)) for name in names] if title == "Parameters" else []
                default = [f"default={' and '.join(dict.fromkeys(values))}"] if values else []
                entries[names] = (", ".join([*([kind] if kind else []), *default]), text)
    return entries


def _section(title: str, entries: Entries) -> str:
    first = sorted(entries.items(), key=lambda entry: entry[0] != ("n_clusters",))
    lines = [f"    {', '.join(names)} : {kind}{text}" for names, (kind, text) in first]
    return "\n".join([f"    {title}", f"    {'-' * len(title)}", *lines])


def _entries(section: str) -> Entries:
    found = list(ENTRY.finditer(section))
    found = [entry for entry in found if entry["names"] not in ("Parameters", "Attributes")]
    ends = [*(entry.start() for entry in found[1:]), len(section)]
    return {
        tuple(entry["names"].split(", ")): (entry["kind"] or "", section[entry.end() : end].rstrip())
        for entry, end in zip(found, ends, strict=False)
    }
