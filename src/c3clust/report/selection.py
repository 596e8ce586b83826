"""Which samples and clusters of a finished run are meant by words on the command line, or in a table of answers."""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from c3clust.errors import InputError, RunError
from c3clust.records.edits import Edits
from c3clust.records.pins import KINDS, PAIRED, Pin
from c3clust.records.state import State
from c3clust.records.tables import read_columns

__all__ = ["Selection", "read_answers"]

NEW = "new:"
ANSWERS = ("kind", "sample", "other", "cluster")


class Selection:
    """The samples and clusters of a run, found by what a person calls them."""

    def __init__(self, run: str | Path) -> None:
        self.state = State.read(run)
        self.names = self.state.assignments.names
        self.known, self.place = set(self.names), Path(str(self.state.record.data.get("place") or ""))
        self.by_file: dict[str, list[str]] = {}
        for name in self.names:
            self.by_file.setdefault(PurePosixPath(name).name, []).append(name)

    @property
    def edits(self) -> Edits:
        return self.state.edits

    def sample(self, word: str) -> str:
        """The name of a sample: as in assignments.csv, the path of its file, or the name of its file alone."""
        inside = self._inside(word)
        found = [word] if word in self.known else [inside] if inside in self.known else self.by_file.get(word, [])
        if not found:
            listed = self.state.run / "assignments.csv"
            raise InputError(f"{word!r} is not a sample of {self.state.run}: its names are in {listed}.")
        if len(found) > 1:
            raise InputError(f"{word!r} are {len(found)} samples of this run: name one as {found[0]!r}.")
        return found[0]

    def members(self, cluster: int) -> list[str]:
        """The samples of a cluster."""
        return [name for name, i in zip(self.names, self.state.assignments.clusters, strict=True) if i == cluster]

    def samples_or_members(self, words: Iterable[str], whole: bool | None) -> list[str]:
        """The samples that words name, or all of a cluster. whole: every word is a cluster, or none is."""
        found: list[str] = []
        for word in words:
            cluster = None if whole is False else self._cluster(word, required=whole is True)
            if cluster is None:
                found.append(self.sample(word))
                continue
            if whole is None and word in self.known:
                raise InputError(f"{word!r} is a sample and a cluster: add --samples or --clusters.")
            found += self.members(cluster)
        if not found:
            raise InputError("These clusters are empty: there is nothing to discard.")
        return found

    def _cluster(self, word: str, required: bool) -> int | None:
        try:
            return self.edits.find(word)
        except RunError:
            if required:
                raise
            return None

    def _inside(self, word: str) -> str | None:
        """A path as a name within the source."""
        try:
            root = self.place.parent if self.place.is_file() else self.place
            return Path(word).resolve().relative_to(root.resolve()).as_posix()
        except (ValueError, OSError):
            return None


def read_answers(run: str | Path, path: Path) -> tuple[list[Pin], list[str]]:
    """The pins of a table with the columns kind, sample, other and cluster; and the names of the clusters it makes.

    A cluster is a number, a name, or new:NAME for one that does not exist yet. `other` is the second sample of
    together and apart.
    """
    chosen, pins, new = Selection(run), list[Pin](), dict[str, list[str]]()
    for line, row in enumerate(read_columns(path, ANSWERS, any_file=True), 2):
        try:
            _answer(chosen, row, pins, new)
        except (InputError, RunError) as error:
            raise InputError(f"{path}, line {line}: {error}") from None
    pins += [Pin.of("in", samples) for samples in new.values()]
    if not pins:
        raise InputError(f"{path} has no answers: one per line is needed, after the line {','.join(ANSWERS)}.")
    return pins, list(new)


def _answer(chosen: Selection, row: Sequence[str], pins: list[Pin], new: dict[str, list[str]]) -> None:
    kind, sample, other, cluster = (cell.strip() for cell in row)
    if kind not in KINDS:
        raise InputError(f"{kind[:40]!r} is not a kind of answer: use one of {', '.join(KINDS)}.")
    samples = [chosen.sample(sample), *([chosen.sample(other)] if kind in PAIRED else [])]
    if kind == "in" and cluster.startswith(NEW):
        new.setdefault(cluster.removeprefix(NEW).strip(), []).extend(samples)
    elif kind in ("in", "not"):
        pins.append(Pin.of(kind, samples, chosen.edits.find(cluster)))
    else:
        pins.append(Pin.of(kind, samples))
