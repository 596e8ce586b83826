"""Checks that an ONNX file is harmless. It is parsed, not run; docs/SECURITY.md states what is rejected, and why."""

import math
from collections.abc import Iterator
from typing import Any

__all__ = ["LARGEST", "OPERATORS", "check", "metadata", "parse"]

LARGEST = 2**26  # values of one tensor, for one sample
ALL = 2**29  # values of all tensors together
OPERATORS = {  # those of our exports: no loop, no branch, nothing random
    "Abs", "Add", "And", "ArgMax", "ArgMin", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat",
    "Constant", "ConstantOfShape", "Conv", "Div", "Equal", "Erf", "Exp", "Expand", "Flatten", "Gather",
    "GatherElements", "Gelu", "Gemm", "GlobalAveragePool", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish",
    "Identity", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "MatMul", "Max",
    "MaxPool", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pad", "Pow", "Range", "Reciprocal", "ReduceL2", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceSum", "Relu", "Reshape", "Resize", "Shape", "Sigmoid", "Sign", "Slice",
    "Softmax", "Softplus", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "Transpose", "Unsqueeze", "Where",
}  # fmt: skip


def parse(content: bytes) -> Any:
    """The ModelProto of a file; ValueError if it is none."""
    import onnx

    try:
        return onnx.load_model_from_string(content)
    except Exception:  # protobuf has its own errors
        raise ValueError("it is damaged, or not an ONNX file") from None


def metadata(model: Any) -> dict[str, str]:
    """The metadata_props of a model."""
    return {prop.key: prop.value for prop in model.metadata_props}


def check(model: Any, sample: tuple[int, ...]) -> int:
    """The number of values of the largest tensor, for one sample of this shape; ValueError with what is rejected.

    The model is changed: what it says about shapes is forgotten.
    """
    _check_parts(model)
    largest, total = 0, 0
    for name, shape in _shapes(model, sample):
        if any(side is None for side in shape):
            raise ValueError(f"the size of its tensor {name[:80]!r} is not fixed")
        size = math.prod(side for side in shape if side is not None)
        largest, total = max(largest, size), total + size
        if size > LARGEST or total > ALL:
            raise ValueError(f"its tensor {name[:80]!r} exceeds the memory limit of a model")
    return largest


def _check_parts(model: Any) -> None:
    from onnx import AttributeProto, TensorProto

    graph = model.graph
    if [value.name for value in graph.input] != ["x"]:
        raise ValueError("its input is not x alone")
    if [value.name for value in graph.output] != ["z", "probabilities", "labels"]:
        raise ValueError("its outputs are not z, probabilities and labels")
    if len(model.functions) or len(model.training_info) or len(graph.sparse_initializer):
        raise ValueError("it has functions, training or sparse weights, which our exports do not have")
    tensors = list(graph.initializer)
    for node in graph.node:
        if node.domain not in ("", "ai.onnx") or node.op_type not in OPERATORS:
            raise ValueError(f"it has the operator {node.op_type[:80]!r}, which our exports do not have")
        for attribute in node.attribute:
            if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
                raise ValueError(f"its operator {node.op_type} has a graph of its own")
            tensors += [attribute.t, *attribute.tensors]
    if any(tensor.data_location == TensorProto.EXTERNAL or len(tensor.external_data) for tensor in tensors):
        raise ValueError("it names another file for its weights, which is not opened")


def _shapes(model: Any, sample: tuple[int, ...]) -> Iterator[tuple[str, list[int | None]]]:
    """Each tensor that the graph computes, and its shape for one sample; None for a side that is not known."""
    from onnx import shape_inference

    x = model.graph.input[0].type.tensor_type.shape
    if len(x.dim) != 1 + len(sample):
        raise ValueError(f"its input does not have the {1 + len(sample)} dimensions that it should have")
    for dim, side in zip(x.dim, (1, *sample), strict=True):
        dim.dim_value = side
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        found = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph
    except Exception:
        raise ValueError("its operators do not fit together") from None
    known = {value.name: value.type.tensor_type for value in (*found.value_info, *found.output)}
    for name in (name for node in found.node for name in node.output if name):
        tensor = known.get(name)
        if tensor is None or not tensor.HasField("shape"):
            yield name, [None]
        else:
            yield name, [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
