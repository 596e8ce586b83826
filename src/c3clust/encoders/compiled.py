"""Frozen networks on a CPU, run by onnxruntime if it is installed (extra `photos`): about three times as fast.

A network is exported once for images of one shape, in about two seconds, and must then give what it gives in torch.
One that cannot be exported, or whose results differ, is run by torch.
"""

import io
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

TOLERANCE = 1e-4  # of the largest feature
LARGEST = 2**28  # weights; the exported network is a copy in memory
log = logging.getLogger(__name__)


def installed() -> bool:
    return find_spec("onnxruntime") is not None and find_spec("onnx") is not None


def compiled(network: nn.Module, shape: tuple[int, ...]) -> Callable[[Tensor], Tensor] | None:
    """The network [N, *shape] -> [N, F] as a session of onnxruntime with torch's number of threads; None without it."""
    if not installed() or sum(weight.numel() for weight in network.parameters()) > LARGEST:
        return None
    try:
        with _signals_held():
            run = _session(network, shape)
            x = torch.rand(3, *shape, generator=torch.Generator().manual_seed(0))  # not the size of the export
            with torch.inference_mode():
                expected, found = network(x), run(x)
    except Exception as error:  # networks of any kind are exported, and anything may fail
        log.debug("run by torch: %s", error)
        return None
    close = expected.shape == found.shape and (found - expected).abs().max() <= TOLERANCE * expected.abs().max()
    return run if close else None


def exported(network: nn.Module, x: Tensor, dynamic: dict[str, dict[int, str]], **options: Any) -> bytes:
    """The content of an ONNX file. dynamic: the sides that vary of the input x and then of each output, by name."""
    content: Any = io.BytesIO()
    first, *outputs = dynamic
    with warnings.catch_warnings(), torch.inference_mode(), _silent(), _signals_held():
        warnings.simplefilter("ignore")  # values of the shape become constants, as they should
        options |= {"input_names": [first], "output_names": outputs, "dynamic_axes": dynamic}
        torch.onnx.export(network, (x,), content, dynamo=False, **options)
    return content.getvalue()


def _session(network: nn.Module, shape: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    import onnxruntime

    content = exported(network, torch.zeros(2, *shape), {"x": {0: "n"}, "h": {0: "n"}})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(x: Tensor) -> Tensor:
        return torch.from_numpy(session.run(None, {"x": np.ascontiguousarray(x.numpy(), dtype=np.float32)})[0])

    return run


@contextmanager
def _silent() -> Iterator[None]:
    """Without standard output, to which torch prints the graph of a network that it cannot export."""
    sys.stdout.flush()
    out, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(out, 1)
        os.close(out)
        os.close(nowhere)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the end: within an export torch may lose the exception that they raise, and the
    import of onnxruntime too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        each: signal.signal(each, lambda number, _: came.append(number)) for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for number in came[:1]:
            signal.raise_signal(number)
