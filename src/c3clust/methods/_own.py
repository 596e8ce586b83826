"""Methods that are not part of the package: "module:Class", or the name of an entry point of the group c3clust.methods.

Importing a module executes it. This is only done if the user names it: on the command line, in Python, or for
a bench that this user started. It is not done for files of models and runs (docs/SECURITY.md).
A class with scikit-learn's interface (`fit` and `labels_`, or `fit_predict`) becomes a method by `adapted`.
"""

import os
import sys
from dataclasses import field, fields, make_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import isclass, signature
from typing import Any, ClassVar

import numpy as np

from c3clust.errors import InputError, first_line
from c3clust.estimator.base import Estimator
from c3clust.methods._base import Clusterer, parameters
from c3clust.networks.readouts import Neighbours
from c3clust.training import TrainingContext

__all__ = ["installed", "load_own"]

GROUP = "c3clust.methods"


@cache
def installed() -> dict[str, str]:
    """The methods of other packages that are installed, "module:Class" by name."""
    return {point.name: point.value for point in entry_points(group=GROUP)}


def load_own(name: str) -> Any:
    """The class of "module:Class" or of an entry point; InputError in one sentence if there is none."""
    spec = installed().get(name, name)
    module, _, attribute = spec.partition(":")
    try:
        found = getattr(_imported(module), attribute)
    except Exception as error:  # the module may raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise InputError(
            f"method {name!r} cannot be imported ({reason}): it is MODULE:CLASS, on Python's path."
        ) from error
    if isclass(found) and issubclass(found, Estimator):
        return found
    if not isclass(found) or not (hasattr(found, "fit_predict") or hasattr(found, "fit")):
        raise InputError(
            f"method {name!r} is not a clusterer: a class with `fit` and `labels_`, or `fit_predict`, is needed."
        )
    return adapted(found, spec)


def _imported(module: str) -> Any:
    """The module; one in the current folder is found too, after all others."""
    here = os.getcwd()
    if here in sys.path or "" in sys.path:
        return import_module(module)
    sys.path.append(here)
    try:
        return import_module(module)
    finally:
        sys.path.remove(here)


@parameters
class Adapted(Clusterer):
    """Cluster raw pixels or features with a clusterer of another package.

    A new sample gets the label of the nearest one that it was fitted on. Samples that the clusterer calls noise (-1)
    are one cluster more. A clusterer without `n_clusters` or `n_components` makes as many clusters as it finds.
    """

    standardise: ClassVar[float] = 0
    clusterer: ClassVar[type]

    def _check_params(self) -> None:
        pass

    @property
    def n_clusters_(self) -> int:
        return getattr(self, "_found_", None) or super().n_clusters_

    def _check_n_clusters(self, name: str) -> None:
        self._found_: int | None = None
        super()._check_n_clusters(name)

    def _build_network(self, shape: tuple[int, ...]) -> Neighbours:
        return Neighbours(self.n_clusters_, int(np.prod(shape)))

    def _fit(self, context: TrainingContext) -> Neighbours:
        pixels, known = context.pixels(), signature(self.clusterer).parameters
        scaling = self.preprocessor_.scaling
        rows = pixels if scaling is None else pixels * scaling.spread.astype(np.float32)  # in the units of the samples
        shared = {f.name for f in fields(Clusterer)}
        params = {name: getattr(self, name) for name in known if name not in shared and hasattr(self, name)}
        counted = {name: self.n_clusters_ for name in ("n_clusters", "n_components") if name in known}
        seeded = {"random_state": context.seed} if "random_state" in known else {}
        labels = np.asarray(_labels(self.clusterer(**{**params, **counted, **seeded}), rows))
        labels = np.unique(np.where(labels < 0, labels.max() + 1, labels), return_inverse=True)[1]
        self._found_ = max(int(labels.max()) + 1, self.n_clusters_ if counted else 1)
        network = self._build_network(context.shape)
        network.store(pixels, labels)
        return network


def _labels(clusterer: Any, x: np.ndarray) -> Any:
    if hasattr(clusterer, "fit_predict"):
        return clusterer.fit_predict(x)
    return clusterer.fit(x).labels_


def _field(value: Any) -> Any:
    """A field of a dataclass with this default."""
    mutable = isinstance(value, list | dict | set)
    return field(default_factory=lambda: value) if mutable else field(default=value)


def adapted(cls: Any, spec: str) -> Any:
    """A method that calls the clusterer `cls`, with its parameters and those that all methods share."""
    shared = {f.name for f in fields(Clusterer)} | {"n_components"}
    known = {name: p.default for name, p in signature(cls).parameters.items() if name not in shared}
    needed = [name for name, default in known.items() if default is signature(cls).empty]
    if needed:
        raise InputError(
            f"method {spec!r} needs a value for {needed[0]!r}, which has no default: give a class that has."
        )
    own = [(name, Any, _field(value)) for name, value in known.items()]
    counts = {"n_clusters", "n_components"} & set(signature(cls).parameters)
    space = {"clusterer": cls, "chooses_k": not counts, "__doc__": Adapted.__doc__}
    made = make_dataclass(cls.__name__, own, bases=(Adapted,), namespace=space, eq=False, repr=False, kw_only=True)
    made.__module__, _, made.__qualname__ = spec.partition(":")  # what files name it by
    return made
