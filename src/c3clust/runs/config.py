"""request.json: the config of a run, written before it trains, so that the run can be resumed."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.files import read_json, write_atomically

__all__ = ["RunConfig", "is_object", "plain"]

FORMAT = 1
MAY_CHANGE = ("random_state", "verbose", "device")  # while a run is resumed; the seed is compared by itself
NAME = "request.json"


@dataclass(frozen=True)
class RunConfig:
    """All that decides the result of a run. `source` and `options` are for `data.load`."""

    method: str
    params: dict[str, Any]
    seed: int
    data: dict[str, Any]  # n, shape, fingerprint
    source: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    checkpoint_minutes: float = 10.0
    command: str = ""
    created: str = ""
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        write_atomically(folder / NAME, (json.dumps(asdict(self), indent=1, allow_nan=False) + "\n").encode())

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
        kinds = {
            "method": str, "params": dict, "seed": int, "data": dict, "source": str | None, "options": dict,
            "checkpoint_minutes": int | float, "command": str, "created": str, "format": int,
        }  # fmt: skip
        for name in raw.keys() | kinds.keys():
            if name not in kinds or name not in raw or not isinstance(raw[name], kinds[name]):
                raise RunError(f"{path}: the field {name!r} is missing, unknown or of the wrong kind.")
        return cls(**raw)

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
