"""Documents are checked against the annotations of a dataclass: one sentence for the first field that is wrong."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest
from typing_extensions import TypedDict

from c3clust.errors import RunError
from c3clust.files.schema import Clusters, Count, Layout, Limits, Number, Whole, build, open_ended


@open_ended
class Open(TypedDict, total=False):
    n: Count


class Closed(TypedDict):
    n: Count


@dataclass(frozen=True)
class Document:
    name: str
    kind: Literal["a", "b"]
    n: Clusters
    seed: Whole = 0
    share: Number = 0.5
    on: bool = False
    pair: Annotated[list[str], Limits(min_length=2, max_length=2)] | None = None
    curves: dict[str, list[Number | list[Number] | None]] = field(default_factory=dict)
    parts: list[Annotated[dict[str, Any], Layout(Open)]] = field(default_factory=list)
    closed: Annotated[dict[str, Any], Layout(Closed)] | None = None
    anything: Any = None
    other: ClassVar[int] = 3


GOOD = {"name": "x", "kind": "a", "n": 3}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"share": 1, "seed": -1, "on": True, "pair": ["a", "b"], "anything": {"x": [None]}},
        {"curves": {"loss": [1.0, None, [1, 2.5]]}, "parts": [{"n": 1, "more": "kept"}, {}], "closed": {"n": 0}},
    ],
)
def test_what_fits_is_kept_as_it_is(more):
    built = build(Document, GOOD | more, "x.json")
    assert {name: getattr(built, name) for name in GOOD | more} == GOOD | more


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"unknown": 1}, "x.json has an unknown field 'unknown'."),
        ({"other": 1}, "has an unknown field 'other'"),
        ({"name": 3}, "the field 'name' cannot be used: it should be a valid string."),
        ({"kind": "c"}, "the field 'kind' cannot be used: it should be 'a' or 'b'."),
        ({"n": 0}, "'n' cannot be used: it should be greater than or equal to 1"),
        ({"n": True}, "'n' cannot be used: it should be a valid integer"),
        ({"n": 2.0}, "'n' cannot be used: it should be a valid integer"),
        ({"n": 10**9}, "clusters are more than the limit of"),
        ({"seed": 2**63}, "'seed' cannot be used: it should be less than"),
        ({"share": math.nan}, "'share' cannot be used: it should be a finite number"),
        ({"share": "1"}, "'share' cannot be used"),
        ({"on": 1}, "'on' cannot be used"),
        ({"pair": ["a"]}, "'pair' cannot be used"),
        ({"pair": ("a", "b")}, "'pair' cannot be used"),
        ({"curves": {"loss": [math.inf]}}, "'curves.loss.0"),
        ({"parts": [{"n": -1}]}, "'parts.0.n' cannot be used"),
        ({"closed": {"n": 1, "m": 2}}, "has an unknown field 'closed.m'"),
        ({"closed": {}}, "lacks the field 'closed.n'"),
    ],
)
def test_what_does_not_fit_is_one_sentence(more, message):
    with pytest.raises(RunError) as error:
        build(Document, GOOD | more, "x.json")
    assert message in str(error.value)


@pytest.mark.parametrize("raw", [None, [], "x", 3])
def test_a_document_is_a_dict(raw):
    with pytest.raises(RunError, match="cannot be used"):
        build(Document, raw, "x.json")
