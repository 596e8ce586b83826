"""`start=`: the fitted estimator, saved model or released checkpoint that CC or C3 starts from; `StartFields`."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from c3clust.errors import InputError
from c3clust.estimator.saving import read_model, restore
from c3clust.features.n_clusters import without_evidence
from c3clust.features.preprocess import Preprocessor
from c3clust.methods._base import EncoderFields, parameters
from c3clust.methods._released import read_checkpoint
from c3clust.networks import ClusterNet, is_small
from c3clust.training import TrainingContext

__all__ = ["StartFields", "learning_rate"]

ARCHITECTURE = ("backbone", "stem", "projection_dim", "scale", "finetune")


def learning_rate(lr: float | str, method: Any, shape: tuple[int, ...], *, paper: float, small: float) -> float:
    """`lr`; "auto" is the paper's rate, for ResNets, and `small` for the package's small networks."""
    if not isinstance(lr, str):
        return lr
    return small if not method.finetune and is_small(method.backbone, shape) else paper


@parameters
class StartFields(EncoderFields):
    """The parameter of a method that may continue a network of CC.

    Parameters
    ----------
    start : fitted estimator, path or None
        A network to continue from: a fitted CC (or C3, where this is a C3), the folder of a saved one, with its encoder
        and size of images, or a checkpoint of CC's released code (checkpoint_1000.tar). None trains CC first.
    """

    start: Any = None

    def _start_kinds(self) -> Mapping[str, type]:
        """The methods whose networks it may start from, by name."""
        raise NotImplementedError

    def _fitted_start(self) -> Any:
        return fitted_start(self, self._start_kinds())

    def _choose_preprocessor(self, dataset: Any) -> tuple[Preprocessor, str | None]:
        """That of the start, if there is one: its encoder, scaling and size."""
        if self.start is None:
            return super()._choose_preprocessor(dataset)  # type: ignore[misc]
        return copy.copy(self._fitted_start().preprocessor_), None

    def _resolved_params(self) -> dict[str, Any]:
        return super()._resolved_params() | architecture(self)  # type: ignore[misc]


def fitted_start(method: Any, kinds: Mapping[str, type]) -> Any:
    """`method.start` as a fitted estimator of one of the `kinds`, by the names of their methods.

    A file is a checkpoint of CC's released code. An encoder that is not built in is the one of `method`.
    """
    start, encoder = method.start, method.encoder
    if isinstance(start, str | Path):
        if Path(start).is_file():
            return read_checkpoint(kinds["cc"], start, method.image_size)
        meta, state = read_model(start)
        if meta["method"] not in kinds:
            raise InputError(f"start={str(start)!r} is a {meta['method']} model: a {_named(kinds)} model is needed.")
        given = {"encoder": encoder} if meta.get("encoder") and encoder not in (None, "auto", "none") else {}
        return restore(kinds[meta["method"]], start, given, meta, state)
    if not isinstance(start, tuple(kinds.values())):
        raise InputError(
            f"start is a {type(start).__name__}: a fitted {_named(kinds)}, or the folder of one, is needed."
        )
    check_is_fitted(start)
    return start


def started_network(method: Any, start: Any, context: TrainingContext) -> ClusterNet:
    """A copy of the network of the fitted `start`, whose number of clusters n_clusters="auto" means."""
    if method.n_clusters == "auto":
        method.choice_ = without_evidence(start.n_clusters_, f"The start has {start.n_clusters_} clusters.")
    if start.input_shape_ != context.shape or start.n_clusters_ != method.n_clusters_:
        raise InputError(
            f"start was fitted for {start.n_clusters_} clusters of samples {start.input_shape_}; "
            f"but {method.n_clusters_} clusters of {context.shape} are required. Give a start that fits, or none."
        )
    method.architecture_ = {name: getattr(start, name) for name in ARCHITECTURE} | architecture(start)
    network = copy.deepcopy(start.network_).to(context.device)
    return network


def architecture(method: Any) -> dict[str, Any]:
    """The parameters that describe the network of a fitted `method` which are those of its start; none without one."""
    return {} if method.start is None else getattr(method, "architecture_", {})


def _named(kinds: Mapping[str, type]) -> str:
    return " or ".join(kind.__name__ for kind in kinds.values())
