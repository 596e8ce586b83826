"""Estimator: `fit` and `save` of all methods; what a fitted one does is in prediction.py and editing.py.

A method defines `_check_params()`, `_build_network(shape)` and `_fit(context) -> network`, where the network maps the
samples that it is given to (z, c). estimator/saving.py reads what `save` writes.
"""

import logging
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from c3clust import augment, checks, data, dist
from c3clust.data import duplicates
from c3clust.data.io.subset import subset
from c3clust.data.samples import ArrayLike, Dataset
from c3clust.errors import InputError, RunError
from c3clust.estimator.cores import on_requested_cores
from c3clust.estimator.correcting import Correctable
from c3clust.estimator.splits import write_steps
from c3clust.features.outliers import OutlierRule
from c3clust.features.preprocess import Prepared, Preprocessor
from c3clust.files import model_io
from c3clust.records.changes import current
from c3clust.records.duplicates import Duplicates
from c3clust.records.outliers import by_position
from c3clust.runs import Result, Run, RunConfig
from c3clust.runs.config import method_name, plain
from c3clust.training import Stage, TrainingContext
from c3clust.training.context import TrainingOptions, find_device
from c3clust.training.embed import device_of
from c3clust.training.forecast import Forecast
from c3clust.training.log import Log, log_to
from c3clust.training.plan import Plan

__all__ = ["Estimator", "TrainingOptions", "method_name"]
log = logging.getLogger(__name__)


class Estimator(Correctable):
    """What all methods share. Abstract: see the module."""

    random_state: Any
    fold_duplicates: bool
    start_stage_: int | None
    start_labels_: np.ndarray | None
    quality_: dict[str, Any] | None

    # What a method defines.

    def _check_params(self) -> None:
        raise NotImplementedError

    def _build_network(self, shape: tuple[int, ...]) -> nn.Module:
        raise NotImplementedError

    def _fit(self, context: TrainingContext) -> nn.Module:
        raise NotImplementedError

    def _regroup(self, context: TrainingContext, network: nn.Module) -> nn.Module:
        """A network with n_clusters clusters on the features of one that was trained with another number."""
        raise InputError(
            f"{type(self).__name__} learns its features for one number of clusters and cannot be regrouped: fit it "
            "again with another -k, or merge and split single clusters."
        )

    def _stages(self, context: TrainingContext) -> list[Stage]:
        """The stages that `_fit` will train, as far as they are known in advance."""
        return []

    def _training_options(self) -> TrainingOptions:
        return TrainingOptions()

    def _policy(self, dataset: Dataset) -> str | dict[str, Any]:
        """The augmentation of augment="auto": that of the data, unless the paper of a method has its own."""
        return augment.default(dataset.content)

    def _resolved_params(self) -> dict[str, Any]:
        """Parameters whose value "auto" was replaced in `fit`, with the value that a saved model needs."""
        return {"n_clusters": self.n_clusters_}

    def _choose_preprocessor(self, dataset: Dataset) -> tuple[Preprocessor, str | None]:
        return Preprocessor.choose(dataset, self._input_options())

    # What a user calls.

    @on_requested_cores
    def fit(
        self,
        X: Any,
        y: Any = None,
        run_dir: str | Path | Run | None = None,
        checkpoint_minutes: float = 10.0,
        *,
        embeddings: bool = False,
        log: Log | None = None,
    ) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array, list, data frame, path or Dataset
            Images [n, C, H, W], [n, H, W, C] or [n, H, W], feature vectors [n, F], texts, rows of a data frame, image
            files (paths, bytes or Pillow images), a path, or the result of `data.load`. Arrays may be those of any
            library that has `__dlpack__`. Masked values of feature vectors are gaps, as in a table. Sparse matrices of
            more than 100 features are reduced by a truncated SVD.
        y : ignored
        run_dir : path, optional
            Folder for checkpoints and, at the end, the model, the assignments, the record and the report. If the
            process is killed, the same call continues from the last checkpoint and ends with the same network, bit for
            bit on the CPU.
        checkpoint_minutes : float
            Time between checkpoints within an epoch.
        embeddings : bool
            Read an array [n, V, F] as V views of n samples, the first of which is the sample itself, not as images.
        log : callable, optional
            Called after each epoch with a dict: the name of the stage, the number of the epoch and the last entry of
            each curve, as with `c3clust.training.log_to`.

        Returns
        -------
        self : the fitted estimator
        """
        checks.number("checkpoint_minutes", checkpoint_minutes, 0, why="it is a time. A usual value is 10.")
        run = run_dir if isinstance(run_dir, Run | None) else Run(run_dir, checkpoint_minutes=checkpoint_minutes)
        dataset = self._validate(X, embeddings)
        plan = self.plan(dataset, run)
        logs = nullcontext() if log is None else log_to(log)
        with logs, nullcontext() if run is None else run.open(self._config(dataset, plan.seed, run)):
            result = self._fit_as_planned(plan, dataset, run)
            if run is not None:
                run.finish(result, dataset, self.save)
        self._folder_ = None if run is None else run.folder
        if not isinstance(run_dir, Run):
            self._warn_of_empty_clusters()
        return self

    def plan(self, dataset: Dataset, run: Run | None = None) -> Plan:
        """What `fit` decides before anything runs."""
        preprocessor, note = self._choose_preprocessor(dataset)
        options = self._training_options()
        auto = isinstance(options.augment, str) and options.augment == "auto"
        policy = augment.policy(self._policy(dataset) if auto else options.augment)
        return Plan(preprocessor, policy, find_device(options.device), self._seed(run), note)

    def _fit_as_planned(self, plan: Plan, dataset: Dataset, run: Run | None) -> Result:
        """Compute the features, leave out the copies, train."""
        options = self._training_options()
        self.preprocessor_ = plan.preprocessor
        self.preprocessor_.components = self._components_
        prepared = self.preprocessor_.fit(
            dataset,
            self._input_options(),
            plan.policy,
            device=plan.device,
            folder=None if run is None else run.features,
            verbose=options.verbose,
        )
        self.encoder_note_ = prepared.encoder_note
        self.duplicates_ = self._find_duplicates(dataset, prepared.features)
        log.info("%d samples are read, %d of them distinct.", len(dataset), len(self.duplicates_.distinct))
        if plan.note and options.verbose:
            log.warning("%s", plan.note)
        context = self._context(dataset, prepared, options, plan)
        context.checkpoints = None if run is None else run.checkpoints
        context.notes += [*([plan.note] if plan.note else []), *prepared.notes]
        return self._train(context, prepared=prepared)

    def save(self, folder: str | Path) -> Path:
        """Write model.safetensors and model.json, which `predict` needs, into `folder`, which is created if missing."""
        check_is_fitted(self)
        folder = Path(folder)
        if current(folder) != folder:
            raise RunError(f"{folder} contains a model that was split or regrouped: choose another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        encoder, tensors = self.preprocessor_.state()
        content = {
            "method": method_name(self),
            "params": plain(self.get_params(deep=False) | self._resolved_params()),
            "input_shape": list(self.input_shape_),
            "policy": self.policy_,
            "encoder": encoder,
        }
        rule = {} if self.outlier_rule_ is None else self.outlier_rule_.tensors()
        model_io.write(folder / "model", content, {**self.network_.state_dict(), **tensors, **rule})
        write_steps(folder, self._steps())
        return folder

    def regrouped(self, n_clusters: int, samples: Dataset, duplicates: Duplicates, seed: int) -> tuple[Self, Result]:
        """A new estimator with this number of clusters, fitted to the features that this one has of the samples.

        And its result.
        """
        new = clone(self).set_params(n_clusters=n_clusters)
        new.choice_, new.tree_ = None, None
        new.preprocessor_, new.duplicates_ = self.preprocessor_, duplicates
        device = device_of(self.network_)
        x = subset(self.preprocessor_.transform(samples, device), duplicates.distinct)
        policy = augment.policy(self.policy_ if "policy" in self.policy_ else "none")
        context = TrainingContext(x, self.preprocessor_.shape, policy, seed, device, memory=samples.memory)
        return new, new._train(context, trained=self.network_)

    # How it is done.

    def _validate(self, X: Any, embeddings: bool = False) -> Dataset:
        """Check the parameters, and read and check the samples."""
        self._check_n_clusters(method_name(self))
        self._check_params()
        dataset = self._read(X, reset=True, embeddings=embeddings)
        if len(dataset) < max(self.n_clusters_, 2):
            raise InputError(_too_few(dataset, self.n_clusters_))
        return dataset

    def _warn_of_empty_clusters(self) -> None:
        """The report of a run says so too."""
        found = len(np.unique(self.labels_[self.labels_ >= 0]))
        if found < self.n_clusters_:
            longer = ", or train longer" if any(stage["epochs"] for stage in self.stages_) else ""
            warnings.warn(
                f"{found} of the {self.n_clusters_} requested clusters have samples: ask for fewer "
                f"(n_clusters){longer}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _find_duplicates(self, dataset: Dataset, features: Any) -> Duplicates:
        """The copies, which are left out of training: a copy gets the cluster of its original."""
        if not self.fold_duplicates:
            return Duplicates.none(len(dataset))
        found = duplicates.find(dataset, None if features is None else features.x)
        enough = len(found.distinct) >= max(self.n_clusters_, 2)
        return found if enough else Duplicates.none(len(dataset))

    def _seed(self, run: Run | None) -> int:
        """The seed; if none is given, that of the unfinished run."""
        if isinstance(self.random_state, int | np.integer):
            return checks.seed(self.random_state)
        seed = int(dist.agree(check_random_state(self.random_state).randint(2**31 - 1)))
        return seed if run is None else run.seed(seed)

    def _context(self, dataset: Dataset, prepared: Prepared, options: TrainingOptions, plan: Plan) -> TrainingContext:
        """What the method trains with: the distinct samples."""
        context = TrainingContext(
            subset(prepared.x, self.duplicates_.distinct),
            self.preprocessor_.shape,
            prepared.policy,
            plan.seed,
            plan.device,
            options.verbose,
            options.compile,
            memory=dataset.memory,
        )
        context.forecast = Forecast.of(self._stages(context), context, dataset.content)
        return context

    def _config(self, dataset: Dataset, seed: int, run: Run) -> RunConfig:
        described = {
            "n": len(dataset),
            "shape": [int(k) for k in dataset.x.shape[1:]],
            "fingerprint": dist.of_first(lambda: data.fingerprint(dataset)),
        }
        asked = {name: getattr(run, name) for name in ("source", "options", "checkpoint_minutes", "command", "created")}
        return RunConfig(method_name(self), plain(self.get_params(deep=False)), seed, described, **asked)

    def _train(
        self, context: TrainingContext, *, prepared: Prepared | None = None, trained: nn.Module | None = None
    ) -> Result:
        """Train, and set the learned attributes. With a `trained` network: regroup on its features."""
        self.start_stage_ = None
        self.start_labels_ = None
        self.quality_ = None
        self._steps_ = None
        with torch.random.fork_rng(devices=[context.device] if context.device.type == "cuda" else []):
            torch.manual_seed(context.seed)
            self.network_ = (self._fit(context) if trained is None else self._regroup(context, trained)).eval()
        z, c = context.outputs(self.network_)
        copies = self.duplicates_.rows
        self.labels_ = c.argmax(axis=1)[copies]
        self.confidence_ = c.max(axis=1)[copies]
        self.outlier_rule_ = OutlierRule.fit(z, c.argmax(axis=1), c.shape[1])
        self.outliers_ = by_position(self._judge(z, c, shared=True), copies)
        self._outputs_, self._learner_ = (z, c), None
        if self.outliers:
            self.labels_[list(self.outliers_)] = -1
        self._build_tree(z, c.argmax(axis=1), context.seed)
        if self.start_labels_ is not None:
            self.start_labels_ = self.start_labels_[copies]
        log.info("%d samples are assigned to %d clusters.", len(copies), self.n_clusters_)
        self._n_features_out = z.shape[1]
        self.policy_ = augment.spec(context.policy)
        self.epochs_ = context.epochs
        self.stages_ = context.stages
        self.notes_ = context.notes
        return self._result(_repeated(z, copies), prepared)

    def _result(self, z: ArrayLike, prepared: Prepared | None = None) -> Result:
        """What is known about the samples of the fit, whose representation is z."""
        start = None
        if self.start_stage_ is not None and self.start_labels_ is not None:
            start = (self.start_stage_, self.start_labels_)
        return Result(
            z,
            self.labels_,
            self.confidence_,
            self.n_clusters_,
            self.duplicates_,
            self.outliers_,
            quality=self.quality_,
            choice=self._choice_plain(),
            stages=self.stages_,
            notes=self.notes_,
            augment=self.policy_,
            start=start,
            encoder=self.encoder_,
            encoder_note=None if prepared is None else prepared.encoder_note,
            features=None if prepared is None else prepared.features,
            device=str(self.device_),
        )

    def _keep_start(self, network: nn.Module, context: TrainingContext) -> None:
        """Keep the labels that the last stage starts from, which are scored with the stage before it."""
        self.start_labels_ = context.assignments(network).argmax(axis=1)
        self.start_stage_ = len(context.stages) - 1 if context.stages else None


def _repeated(z: Any, rows: np.ndarray) -> ArrayLike:
    """z of all samples from that of the distinct ones; what is computed on access stays so."""
    return z[rows] if isinstance(z, np.ndarray) and len(rows) != len(z) else subset(z, rows)


def _too_few(dataset: Dataset, n_clusters: int) -> str:
    """The message for fewer samples than clusters."""
    noun = {"image": "image", "text": "text", "table": "row"}.get(dataset.kind, "sample")
    found = f"{dataset.place}: only {len(dataset):,} {noun}{'' if len(dataset) == 1 else 's'}"
    if n_clusters <= 2:
        return f"{found}, and at least 2 are needed. Add {noun}s."
    return f"{found}, fewer than the {n_clusters:,} requested clusters. Request fewer (-k, n_clusters), or add {noun}s."
