"""Dataclasses as schemas of JSON files: `build` checks a parsed document against the annotations of a dataclass.

Types are strict, unknown fields are errors, and numbers are finite. Fields that are dicts of a known layout are
annotated with the Layout of a TypedDict, which may be open ended. The checks are those of pydantic's core: importing
all of pydantic takes longer than most commands run.
"""

from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic_core import SchemaValidator, ValidationError
from typing_extensions import is_typeddict

from c3clust.errors import RunError
from c3clust.files.limits import limit

__all__ = ["Clusters", "Count", "Layout", "Limits", "Number", "Whole", "build", "open_ended"]

Built = TypeVar("Built")
SCALARS = {str: "str", int: "int", float: "float", bool: "bool", Any: "any", NoneType: "none"}
STRICT = {"strict": True, "allow_inf_nan": False}


@dataclass(frozen=True)
class Limits:
    """Of the values of a number, or of the length of a list; as the second part of an Annotated."""

    ge: float | None = None
    gt: float | None = None
    lt: float | None = None
    min_length: int | None = None
    max_length: int | None = None

    def applied_to(self, schema: dict[str, Any]) -> dict[str, Any]:
        return schema | {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Layout:
    """Of a field that is a dict: `Annotated[dict[str, Any], Layout(kind)]` has the entries of a TypedDict."""

    kind: Any

    def applied_to(self, schema: dict[str, Any]) -> dict[str, Any]:
        return _schema(self.kind)


@dataclass(frozen=True)
class _ClusterLimit:
    """At most as many clusters as C3CLUST_MAX_CLUSTERS allows."""

    def applied_to(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": "function-after", "function": {"type": "no-info", "function": _within_limit}, "schema": schema}


def _within_limit(n: int) -> int:
    if n > limit("C3CLUST_MAX_CLUSTERS"):
        raise ValueError(f"{n:,} clusters are more than the limit of {limit('C3CLUST_MAX_CLUSTERS'):,}")
    return n


Number = float  # finite
Whole = Annotated[int, Limits(ge=-(2**63), lt=2**63)]
Count = Annotated[int, Limits(ge=0, lt=2**63)]
Clusters = Annotated[int, Limits(ge=1), _ClusterLimit()]


def open_ended(kind: Any) -> Any:
    """Decorate a TypedDict: its entries are checked strictly, others are kept unchanged."""
    kind.__open_ended__ = True
    return kind


def build(kind: type[Built], raw: Any, where: str) -> Built:
    """An instance of a dataclass from a parsed document; RunError with the first field that is wrong."""
    try:
        _validator(cast(Any, kind)).validate_python(raw)
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
def _validator(kind: Any) -> SchemaValidator:
    """The entries of a dataclass, of which those without a default are required."""
    required = {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(kind)}
    return SchemaValidator(cast(Any, _entries(kind, required, "forbid")), cast(Any, STRICT))


def _entries(kind: Any, required: dict[str, bool], others: str) -> dict[str, Any]:
    """A dict with the annotated entries of `kind`, each of which is required or not."""
    hints = get_type_hints(kind, include_extras=True)
    entries = {
        name: {"type": "typed-dict-field", "schema": _schema(hints[name]), "required": needed}
        for name, needed in required.items()
    }
    return {"type": "typed-dict", "fields": entries, "extra_behavior": others, "config": STRICT}


def _schema(hint: Any) -> dict[str, Any]:
    """The schema of an annotation; TypeError for one that is not known here."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _schema(args[0])
        for part in args[1:]:
            schema = part.applied_to(schema)
        return schema
    if origin is Literal:
        return {"type": "literal", "expected": list(args)}
    if origin in (Union, UnionType):
        return _either([arg for arg in args if arg is not NoneType], NoneType in args)
    if origin is list:
        return {"type": "list", "items_schema": _schema(args[0])}
    if origin is dict:
        return {"type": "dict", "keys_schema": _schema(args[0]), "values_schema": _schema(args[1])}
    if is_typeddict(hint):
        required = {name: name in hint.__required_keys__ for name in hint.__annotations__}
        return _entries(hint, required, "allow" if getattr(hint, "__open_ended__", False) else "forbid")
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    raise TypeError(f"{hint} cannot be checked")


def _either(choices: list[Any], nullable: bool) -> dict[str, Any]:
    schemas = [_schema(choice) for choice in choices]
    schema = schemas[0] if len(schemas) == 1 else {"type": "union", "choices": schemas}
    return {"type": "nullable", "schema": schema} if nullable else schema
