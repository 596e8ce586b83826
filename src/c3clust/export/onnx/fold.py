"""Constants of an exported graph, computed once, so that the reader knows the size of every tensor."""

from typing import Any

import numpy as np

__all__ = ["fold"]

SMALL = 1024  # values: sizes and positions are folded, weights are not


def fold(model: Any) -> None:
    """Replace the nodes of a graph that compute small constants by these constants, and remove unused nodes."""
    from onnx import helper, numpy_helper

    graph = model.graph
    known = {t.name: numpy_helper.to_array(t) for t in graph.initializer if np.prod(t.dims) <= SMALL}
    kept = []
    for node in graph.node:
        values = _values(node, known)
        if values is None:
            kept.append(node)
        else:
            known.update(values)
    there = {t.name for t in graph.initializer}
    needed = _needed(kept, [output.name for output in graph.output])
    initial = [t for t in graph.initializer if t.name in needed]
    initial += [numpy_helper.from_array(known[name], name) for name in sorted(needed & known.keys() - there)]
    nodes = [node for node in kept if needed & set(node.output)]
    value = (list(graph.input), list(graph.output))
    model.graph.CopyFrom(helper.make_graph(nodes, graph.name, *value, initial))


def _values(node: Any, known: dict[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """The outputs of a node of which all inputs are known; None of any other."""
    from onnx.reference import ReferenceEvaluator

    if not all(name in known or not name for name in node.input):
        return None
    try:
        found = ReferenceEvaluator(node).run(None, {name: known[name] for name in node.input if name})
    except Exception:  # an operator that the evaluator does not have
        return None
    arrays = [np.asarray(each) for each in found]
    return dict(zip(node.output, arrays, strict=True)) if all(each.size <= SMALL for each in arrays) else None


def _needed(nodes: list[Any], outputs: list[str]) -> set[str]:
    """The names that the outputs depend on."""
    needed = set(outputs)
    for node in reversed(nodes):  # they are in the order in which they are computed
        if needed & set(node.output):
            needed.update(node.input)
    return needed
