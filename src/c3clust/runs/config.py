"""request.json: what a run was asked for, written before it trains, so that it can be taken up again."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from c3clust.training.checkpoint import Checkpoints
from c3clust.errors import RunError
from c3clust.files import clear_partial, write_atomically
from c3clust.runs.lock import locked

__all__ = ["Request", "taken_up"]

FORMAT = 1
FREE = ("random_state", "verbose", "device")  # parameters that may change on the way; the seed is compared by itself
NAME = "request.json"


@dataclass(frozen=True)
class Request:
    """What decides the result of a run. `source` and `options` go to `data.load`; a fit from Python has no source."""

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
    def read(cls, folder: Path) -> "Request":
        """Read and check; the field that is wrong is named."""
        path = folder / NAME
        try:
            raw = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise RunError(f"{folder} is not a run that can be taken up: {NAME} is missing.") from None
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{path} cannot be read: {error}.") from None
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise RunError(f"{path} is not a request of format {FORMAT}.")
        kinds = {
            "method": str, "params": dict, "seed": int, "data": dict, "source": str | None, "options": dict,
            "checkpoint_minutes": int | float, "command": str, "created": str, "format": int,
        }  # fmt: skip
        for name in raw.keys() | kinds.keys():
            if name not in kinds or name not in raw or not isinstance(raw[name], kinds[name]):
                raise RunError(f"{path}: the field {name!r} is missing, unknown or of the wrong kind.")
        return cls(**raw)

    def differs(self, other: "Request") -> str | None:
        """The first thing that would change the result, if there is one."""
        mine, theirs = ({k: v for k, v in r.params.items() if k not in FREE} for r in (self, other))
        pairs = [("method", self.method, other.method), ("seed", self.seed, other.seed)]
        pairs += [(name, mine.get(name), theirs.get(name)) for name in sorted(mine.keys() | theirs.keys())]
        for name, here, there in pairs:
            if here != there:
                return f"{name} was {there!r} and is {here!r}"
        return None if self.data == other.data else "the data are not the same"


@contextmanager
def taken_up(
    folder: Path, request: Request, keep: Callable[[Path, float], Checkpoints] = Checkpoints
) -> Iterator[Checkpoints]:
    """Own the folder, begin or continue what was asked for, and give its checkpoints, made by `keep`."""
    with locked(folder):
        clear_partial(folder)
        if (folder / NAME).exists():
            difference = request.differs(Request.read(folder))
            if difference:
                raise RunError(
                    f"{folder} holds an unfinished run of another kind: {difference}. Choose another folder."
                )
        else:
            request.write(folder)
        yield keep(folder, request.checkpoint_minutes)
