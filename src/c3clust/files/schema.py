"""Dataclasses as schemas of JSON files: `build` checks a parsed document against the annotations of a dataclass.

Types are strict, unknown fields are errors, and numbers are finite. Fields that are dicts of a known layout are
annotated with the Layout of a TypedDict, which may be open ended.
"""

from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, NotRequired, TypeVar, cast, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from c3clust.errors import RunError
from c3clust.files.limits import limit

__all__ = ["Clusters", "Count", "Layout", "Limits", "Number", "Whole", "build", "open_ended"]

Built = TypeVar("Built")
CLOSED = ConfigDict(strict=True, allow_inf_nan=False, extra="forbid")
open_ended = with_config(CLOSED | ConfigDict(extra="allow"))  # decorates a TypedDict that may have other entries


@dataclass(frozen=True)
class Layout:
    """Of a field that is a dict: `Annotated[dict[str, Any], Layout(kind)]` has the entries of a TypedDict."""

    kind: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        is_open = hasattr(self.kind, "__pydantic_config__")
        return handler.generate_schema(self.kind if is_open else with_config(CLOSED)(self.kind))


def _within_limit(n: int) -> int:
    if n > limit("C3CLUST_MAX_CLUSTERS"):
        raise ValueError(f"{n:,} clusters are more than the limit of {limit('C3CLUST_MAX_CLUSTERS'):,}")
    return n


Limits = Field  # of the values of a number, or of the length of a list; as the second part of an Annotated
Number = float  # finite
Whole = Annotated[int, Limits(ge=-(2**63), lt=2**63)]
Count = Annotated[int, Limits(ge=0, lt=2**63)]
Clusters = Annotated[int, Limits(ge=1), AfterValidator(_within_limit)]


def build(kind: type[Built], raw: Any, where: str) -> Built:
    """An instance of a dataclass from a parsed document; RunError with the first field that is wrong."""
    try:
        _adapter(cast(Any, kind)).validate_python(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:200]
        reason = first["msg"].removeprefix("Value error, ").replace("Input should be", "it should be")
        if first["type"] == "missing":
            raise RunError(f"{where} lacks the field {place!r}.") from None
        if first["type"] == "extra_forbidden":
            raise RunError(f"{where} has an unknown field {place!r}.") from None
        raise RunError(f"{where}: the field {place!r} cannot be used: {reason}.") from None
    return kind(**raw)  # the values of the file itself, on which a seal is computed


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """The fields of a dataclass as the entries of a dict, of which those without a default are required."""
    hints = get_type_hints(kind, include_extras=True)
    required = {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(kind)}
    entries = {name: hints[name] if needed else NotRequired[hints[name]] for name, needed in required.items()}
    return TypeAdapter(with_config(CLOSED)(TypedDict(kind.__name__, entries)))  # type: ignore[operator]
