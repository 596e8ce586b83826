"""request.json: the config of a run, written before it trains, so that the run can be resumed."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typing_extensions import TypedDict

from c3clust.errors import RunError
from c3clust.files.atomic import read_json, write_atomically
from c3clust.files.schema import Count, Layout, Limits, Number, build, open_ended
from c3clust.records.ownership import is_own, seal
from c3clust.records.record import Seed

__all__ = ["RunConfig", "is_object", "method_name", "plain"]

FORMAT = 1
MAY_CHANGE = ("random_state", "verbose", "device")  # while a run is resumed; the seed is compared by itself
NAME = "request.json"


@open_ended
class Fingerprint(TypedDict, total=False):
    """What the data of a run are compared by."""

    n: Count
    shape: list[Count]
    fingerprint: str


@open_ended
class LoadOptions(TypedDict, total=False):
    """Options of `data.load`."""

    labels: str | None
    image_size: Count | None
    channels: Count | None
    max_bad: Number
    memory: Count | None
    workers: Count | None
    cache: str | None
    root: str | None
    largest: Count | None
    embeddings: bool
    kind: str | None
    columns: list[str] | None
    outside: bool
    originals: bool | None
    limit: Count | None


@dataclass(frozen=True)
class RunConfig:
    """All that decides the result of a run. `source` and `options` are for `data.load`."""

    method: str
    params: dict[str, Any]
    seed: Seed
    data: Annotated[dict[str, Any], Layout(Fingerprint)]
    source: str | None = None
    options: Annotated[dict[str, Any], Layout(LoadOptions)] = field(default_factory=dict)
    checkpoint_minutes: Annotated[float, Limits(ge=0)] = 10.0
    command: str = ""
    created: str = ""
    format: int = FORMAT
    seal: str = field(default="", compare=False)

    def write(self, folder: Path) -> None:
        content = self._content()
        sealed = content | {"seal": seal(NAME, content)}
        write_atomically(folder / NAME, (json.dumps(sealed, indent=1, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, folder: Path) -> "RunConfig":
        """Read and check the file; an error names the field that is wrong."""
        path = folder / NAME
        try:
            raw = read_json(path)
        except FileNotFoundError:
            raise RunError(f"{folder} is not a run that can be resumed: {NAME} is missing.") from None
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{path} cannot be read: {error}.") from None
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise RunError(f"{path} is not the config of a run of format {FORMAT}.")
        return build(cls, raw, str(path))

    def is_own(self) -> bool:
        """Whether this user wrote it: only then are the paths in it used."""
        return is_own(NAME, self._content(), self.seal)

    def _content(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "seal"}

    def difference(self, other: "RunConfig") -> str | None:
        """The first difference that would change the result, if there is one."""
        mine, theirs = ({k: v for k, v in r.params.items() if k not in MAY_CHANGE} for r in (self, other))
        pairs = [("method", self.method, other.method), ("seed", self.seed, other.seed)]
        pairs += [(name, mine.get(name), theirs.get(name)) for name in sorted(mine.keys() | theirs.keys())]
        for name, here, there in pairs:
            if here != there:
                return f"{name} was {there!r} and is {here!r}"
        return None if self.data == other.data else "the data are not the same"


def plain(value: Any) -> Any:
    """A parameter as JSON can hold it; an object of the user's own is named by its class."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return {"object": type(value).__qualname__}


def is_object(value: Any) -> bool:
    """Whether `plain` could only name this parameter."""
    return isinstance(value, dict) and set(value) == {"object"}


def method_name(estimator: Any) -> str:
    """The name of the file or folder in `methods` that defines the class of the estimator, or the class given.

    Of a class that is not part of the package: "module:Class".
    """
    cls = estimator if isinstance(estimator, type) else type(estimator)
    module, own, name = cls.__module__.partition("c3clust.methods.")
    return name.partition(".")[0] if own and not module else f"{cls.__module__}:{cls.__qualname__}"
