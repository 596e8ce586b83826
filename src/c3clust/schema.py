"""Dataclasses as schemas of JSON files: `build` checks a parsed document against the annotations of a dataclass.

Types are strict, unknown fields are errors, and numbers are finite. Fields that are dicts of a known layout are
annotated with the Layout of a TypedDict, whose further entries are kept unless it says otherwise.
"""

from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, NotRequired, TypeVar, cast, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from c3clust.errors import RunError
from c3clust.limits import limit

__all__ = ["Clusters", "Count", "Layout", "Number", "Whole", "build", "open_ended"]

Built = TypeVar("Built")
Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


def _within_limit(n: int) -> int:
    if n > limit("C3CLUST_MAX_CLUSTERS"):
        raise ValueError(f"{n:,} clusters are more than the limit of {limit('C3CLUST_MAX_CLUSTERS'):,}")
    return n


Clusters = Annotated[int, Field(ge=1), AfterValidator(_within_limit)]
_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def open_ended(kind: Any) -> Any:
    """Decorate a TypedDict: its entries are checked strictly, others are kept as they are."""
    kind.__pydantic_config__ = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)
    return kind


@dataclass(frozen=True)
class Layout:
    """Of a field that is a dict: `Annotated[dict[str, Any], Layout(kind)]` has the entries of a TypedDict."""

    kind: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return handler.generate_schema(self.kind)


def build(kind: type[Built], raw: Any, where: str) -> Built:
    """An instance of a dataclass from a parsed document; RunError with the first field that is wrong."""
    try:
        _adapter(cast(Any, kind)).validate_python(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:200]
        told = first["msg"].removeprefix("Value error, ").replace("Input should be", "it should be")
        if first["type"] == "missing":
            raise RunError(f"{where} lacks the field {place!r}.") from None
        if first["type"] == "extra_forbidden":
            raise RunError(f"{where} has an unknown field {place!r}.") from None
        raise RunError(f"{where}: the field {place!r} cannot be used: {told}.") from None
    return kind(**raw)  # the values as they are in the file: a seal is of these


@cache
def _adapter(kind: Any) -> TypeAdapter[dict[str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    optional = {f.name for f in fields(kind) if f.default is not MISSING or f.default_factory is not MISSING}
    entries = {f.name: NotRequired[hints[f.name]] if f.name in optional else hints[f.name] for f in fields(kind)}
    make: Any = TypedDict
    schema = make(kind.__name__, entries)
    schema.__pydantic_config__ = _STRICT
    return TypeAdapter(schema)
