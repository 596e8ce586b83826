"""The methods, one file each. The folder is the list: the command line, the tests and the tables find a new file."""

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from c3clust import data, dist, report
from c3clust.encoders import is_built_in, register
from c3clust.encoders.run import Runs
from c3clust.errors import InputError, RunError, suggest
from c3clust.estimator.base import method_name
from c3clust.estimator.saving import read_model, restore
from c3clust.estimator.splits import Split, read_edits
from c3clust.files import catalog
from c3clust.files.lock import locked
from c3clust.methods._base import Clusterer
from c3clust.methods._own import installed, load_own
from c3clust.methods._released import read_checkpoint, write_checkpoint
from c3clust.records.assignments import Assignments
from c3clust.records.changes import Change, at_rest, states
from c3clust.records.duplicates import Duplicates
from c3clust.records.record import RunRecord
from c3clust.runs import Result, Run, RunConfig, build_view
from c3clust.runs.trust import trusted
from c3clust.training.checkpoint import Checkpoints

__all__ = [
    "export_checkpoint", "find", "import_checkpoint", "load", "load_model", "names", "parameters", "resume", "title",
]  # fmt: skip


Resumed = tuple[Clusterer, RunRecord, report.Summary | None]


def names() -> list[str]:
    """The names of all methods: the files of this folder.

    >>> {"c3", "cc", "kmeans"} <= set(names())
    True
    """
    return list(catalog.methods())


def load(name: str) -> Any:
    """The estimator class of a method.

    >>> load("c3")
    <class 'c3clust.methods.c3.estimator.C3'>
    """
    if name not in names():
        raise InputError(f"method {name!r} is unknown. {suggest(name, names())}")
    module = import_module(f"{__name__}.{name}")
    return getattr(module, module.__all__[0])


def find(name: str) -> Any:
    """The estimator class of a method that the user names: also "module:Class", or a method of an installed package.

    Importing a module executes it: never call this with a name from a file.
    """
    if name in names():
        return load(name)
    if ":" in name or name in installed():
        return load_own(name)
    raise InputError(f"method {name!r} is unknown. {suggest(name, [*names(), *installed()])} Your own is MODULE:CLASS.")


def parameters(name: str) -> list[str]:
    """The names of the parameters of a method that the user names."""
    return list(signature(find(name)).parameters)


def title(name: str) -> str:
    """What a method is: the first line of its file; the name itself if it is not part of the package."""
    known = catalog.methods()
    return catalog.title(known[name]) if name in known else name


def _again(name: str, given: Any, folder: str | Path) -> Any:
    """The class of the method `name` of a file: one of the package, or the one that the user gives again."""
    if name in names() and given in (None, name):
        return load(name)
    if given is None:
        raise RunError(
            f"{folder} names the method {name[:200]!r}, which is not part of c3clust: it is only imported if you name "
            "it yourself. If you know where it comes from, give it again, by --method or load(..., method=)."
        )
    cls = find(given) if isinstance(given, str) else given
    if name not in (given, method_name(cls)):
        raise RunError(f"{folder} was made by {name[:200]!r}, not by {given!r}: omit it, or name that one.")
    return cls


def load_model(folder: str | Path, **given: Any) -> Clusterer:
    """The fitted estimator that was saved in `folder` (a run, or what `save` wrote). Executes nothing from it.

    `given` holds parameters that a file cannot hold or may not decide: `backbone=` your own module; `encoder=` the
    encoder of the run, unless it is built in; `method=` its class or "module:Class", unless it is part of the package;
    `device=` overrides the saved one.
    """
    return at_rest(folder, lambda: _load_now(folder, given))


def _load_now(folder: str | Path, given: dict[str, Any]) -> Clusterer:
    found = states(folder)
    regrouped = [i for i, state in enumerate(found) if i and Change.read(state).op == "regroup"]
    first = regrouped[-1] if regrouped else 0
    estimator = fitted_model(found[first], run=folder, **given)
    for state in found[first + 1 :]:
        split = Split.read(state)
        estimator._steps_ = [*estimator._steps(), split, *read_edits(folder, state, split.n_clusters)]
    estimator._folder_ = Path(folder)
    return estimator


def fitted_model(folder: str | Path, method: Any = None, run: str | Path | None = None, **given: Any) -> Clusterer:
    """The estimator without later splits and regroupings; run: the run that `folder` is a change of."""
    meta, state = read_model(folder)
    return restore(_again(meta["method"], method, folder), folder, given, meta, state, run)


def resume(folder: str | Path, verbose: bool = False, method: Any = None, **given: Any) -> Resumed:
    """Continue an unfinished run from its last checkpoint; the fitted estimator, the record and the summary.

    `given`: `source`, `cache` and `encoder`, which must be given again if the run was started by somebody else.
    `method` must be given if it is not part of the package.
    """
    folder = Path(folder)
    config = trusted(folder, RunConfig.read(folder), **given)
    cls = _again(config.method, method, folder)
    if (folder / "report.html").exists():
        raise RunError(f"{folder} contains a finished run: there is nothing to resume.")
    if config.source is None:
        raise RunError(f"{folder} was started from Python: call fit again with the same data and run_dir.")
    dataset = data.load(config.source, **config.options, shared=dist.world_size() > 1)
    if (folder / "record.json").exists():
        return _write_missing_report(folder, dataset, config.params.get("encoder"), cls)
    known = signature(cls).parameters
    if unknown := next((name for name in config.params if name not in known), None):
        raise RunError(f"{folder}: {config.method} has no parameter {unknown!r}; the run was made by another version.")
    more = {"verbose": verbose} if "verbose" in known else {}
    run = Run.of(folder, config)
    estimator = cls(**{**config.params, **more, "random_state": config.seed})
    estimator.fit(dataset, run_dir=run)
    assert run.record is not None
    return estimator, run.record, run.summary


def import_checkpoint(path: str | Path, folder: str | Path, image_size: int | None = None) -> Any:
    """Save the network of a checkpoint of CC's released code in a new `folder`; the fitted CC."""
    estimator = read_checkpoint(load("cc"), path, image_size)
    Run(folder, resume=False).claim()
    estimator.save(folder)
    return estimator


def export_checkpoint(folder: str | Path, path: str | Path) -> None:
    """Write the network of a saved CC or C3 as a checkpoint that CC's released code reads."""
    estimator, record = load_model(folder), Path(folder) / "record.json"
    stages = RunRecord.read(record).stages if record.exists() else [{"epochs": getattr(estimator, "epochs", 0)}]
    write_checkpoint(estimator.network_, path, sum(int(stage["epochs"]) for stage in stages))


def _write_missing_report(folder: Path, dataset: Any, encoder: Any, cls: Any) -> Resumed:
    """A run that was killed after its record was written lacks only its report."""
    given = {"method": method_name(cls) if method_name(cls) in names() else cls}
    given |= {} if is_built_in(encoder) else {"encoder": encoder}
    estimator = load_model(folder, **given)
    found = Assignments.read(folder)
    copies = Duplicates.read(folder, found.names)
    record = RunRecord.read(folder / "record.json")
    z = estimator.transform(dataset)
    outliers = estimator.find_outliers(dataset)
    result = Result(z, found.clusters, found.confidence, record.n_clusters, copies, outliers)
    with locked(folder):
        Checkpoints(folder).remove()
        view = build_view(result, dataset, record)
        view.write(folder)
        return estimator, record, report.write(folder, record, view)


register(Runs(fitted_model))
