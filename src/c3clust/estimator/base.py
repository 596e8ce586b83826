"""The scikit-learn surface of all methods: `fit`, `predict`, `predict_proba`, `transform`, `save`.

A method defines `_check_params()`, `_build_network(shape)` and `_fit(context) -> network`, where the network maps the
samples that it is given to (z, c). estimator/saving.py reads what `save` writes.
"""

import logging
from collections.abc import Iterator
from contextlib import nullcontext
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from c3clust import augment, checks, data, dist
from c3clust.data import duplicates
from c3clust.data.io.subset import subset
from c3clust.data.samples import Dataset, Table
from c3clust.encoders import Encoder
from c3clust.errors import InputError, RunError
from c3clust.estimator.cluster_count import ClusterCount
from c3clust.estimator.editing import Changeable
from c3clust.estimator.prediction import Prediction
from c3clust.estimator.splits import write_steps
from c3clust.features.outliers import OutlierRule
from c3clust.features.preprocess import InputOptions, Prepared, Preprocessor
from c3clust.files import model_io
from c3clust.networks.readouts import Centres
from c3clust.records.changes import current
from c3clust.records.duplicates import Duplicates
from c3clust.records.outliers import by_position
from c3clust.runs import Run, RunConfig
from c3clust.runs.config import method_name, plain
from c3clust.training import Stage, TrainingContext, embed
from c3clust.training.context import TrainingOptions, find_device
from c3clust.training.embed import Projections, device_of, gather, rows_per_batch
from c3clust.training.forecast import Forecast

__all__ = ["Estimator", "TrainingOptions", "method_name"]
log = logging.getLogger(__name__)


class Estimator(
    ClusterCount, Prediction, Changeable, ClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """What all methods share. Abstract: see the module."""

    random_state: Any
    fold_duplicates: bool
    outliers: bool
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

    def _input_options(self) -> InputOptions:
        raise NotImplementedError

    def _training_options(self) -> TrainingOptions:
        return TrainingOptions()

    def _resolved_params(self) -> dict[str, Any]:
        """Parameters whose value "auto" was replaced in `fit`, with the value that a saved model needs."""
        return {"n_clusters": self.n_clusters_}

    def _choose_preprocessor(self, dataset: Dataset) -> tuple[Preprocessor, str | None]:
        return Preprocessor.choose(dataset, self._input_options())

    # What a user calls.

    def fit(
        self, X: Any, y: Any = None, run_dir: str | Path | Run | None = None, checkpoint_minutes: float = 10.0
    ) -> Any:
        """Cluster X.

        Parameters
        ----------
        X : array, list, data frame, path or Dataset
            Images [n, C, H, W], [n, H, W, C] or [n, H, W], feature vectors [n, F], texts, rows of a data frame, image
            files (paths, bytes or Pillow images), a path, or the result of `data.load`.
        y : ignored
        run_dir : path, optional
            Folder for checkpoints and, at the end, the model, the assignments, the record and the report. If the
            process is killed, the same call continues from the last checkpoint and ends with the same network, bit for
            bit on the CPU.
        checkpoint_minutes : float
            Time between checkpoints within an epoch.

        Returns
        -------
        self : the fitted estimator
        """
        checks.number("checkpoint_minutes", checkpoint_minutes, 0, why="it is a time. A usual value is 10.")
        run = run_dir if isinstance(run_dir, Run | None) else Run(run_dir, checkpoint_minutes=checkpoint_minutes)
        dataset = self._validate(X)
        self.preprocessor_, note = self._choose_preprocessor(dataset)
        options, seed = self._training_options(), self._seed(run)
        auto = isinstance(options.augment, str) and options.augment == "auto"
        policy = augment.policy(augment.default(dataset.content) if auto else options.augment)
        device = find_device(options.device)
        if run is not None:
            run.claim()
        with nullcontext() if run is None else run.open(self._config(dataset, seed, run)):
            prepared = self.preprocessor_.fit(
                dataset,
                self._input_options(),
                policy,
                device=device,
                folder=None if run is None else run.features,
                verbose=options.verbose,
            )
            self.duplicates_ = self._find_duplicates(dataset, prepared.features)
            if note and options.verbose:
                log.warning("%s", note)
            context = self._context(dataset, prepared, options, seed, device)
            context.checkpoints = None if run is None else run.checkpoints
            context.notes += [*([note] if note else []), *prepared.notes]
            self.encoder_note_ = prepared.encoder_note
            self._train(context)
            if run is not None:
                run.finish(self, dataset, prepared.features)
        self._folder_ = None if run is None else run.folder
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The learned representation z of each sample: [n, D]."""
        return gather(*self._embed(X))[0]

    def lazy_transform(self, X: Any) -> Any:
        """`transform`, but of k-means, whose z are the samples, as an object that computes the rows that are read."""
        check_is_fitted(self)
        if not isinstance(self.network_, Centres):
            return self.transform(X)
        x = self.preprocessor_.transform(self._read(X, reset=False), self.device_)
        return Projections(self.network_, x, self.input_shape_[-2:], prod(self.input_shape_))

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

    @property
    def device_(self) -> torch.device:
        """The device of the network."""
        return device_of(self.network_)

    @property
    def input_shape_(self) -> tuple[int, ...]:
        """The shape of one sample, as the network sees it."""
        return self.preprocessor_.shape

    @property
    def encoder_(self) -> Encoder | None:
        """The encoder that was used, if any."""
        return self.preprocessor_.encoder

    # How it is done.

    def _validate(self, X: Any) -> Dataset:
        """Check the parameters, and read and check the samples."""
        self._check_n_clusters(method_name(self))
        self._check_params()
        dataset = self._read(X, reset=True)
        if len(dataset) < max(self.n_clusters_, 2):
            raise InputError(_too_few(dataset, self.n_clusters_))
        return dataset

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
            return int(self.random_state)
        seed = int(dist.agree(check_random_state(self.random_state).randint(2**31 - 1)))
        return seed if run is None else run.seed(seed)

    def _context(
        self, dataset: Dataset, prepared: Prepared, options: TrainingOptions, seed: int, device: torch.device
    ) -> TrainingContext:
        """What the method trains with: the distinct samples."""
        context = TrainingContext(
            subset(prepared.x, self.duplicates_.distinct),
            self.preprocessor_.shape,
            prepared.policy,
            seed,
            device,
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

    def _train(self, context: TrainingContext, trained: nn.Module | None = None) -> None:
        """Train, and set the learned attributes. With a `trained` network: regroup on its features."""
        self.start_stage_, self.quality_, self._steps_, self.start_labels_ = None, None, None, None
        with torch.random.fork_rng(devices=[context.device] if context.device.type == "cuda" else []):
            torch.manual_seed(context.seed)
            self.network_ = (self._fit(context) if trained is None else self._regroup(context, trained)).eval()
        (z, c), copies = context.outputs(self.network_), self.duplicates_.rows
        self.labels_, self.confidence_ = c.argmax(axis=1)[copies], c.max(axis=1)[copies]
        self.outlier_rule_ = OutlierRule.fit(z, c.argmax(axis=1), c.shape[1])
        self.outliers_ = by_position(self._judge(z, c, shared=True), copies)
        if self.outliers:
            self.labels_[list(self.outliers_)] = -1
        self._build_tree(z, c.argmax(axis=1), context.seed)
        if self.start_labels_ is not None:
            self.start_labels_ = self.start_labels_[copies]
        self._n_features_out = z.shape[1]
        self.policy_, self.epochs_ = augment.spec(context.policy), context.epochs
        self.stages_, self.notes_ = context.stages, context.notes

    def _keep_start(self, network: nn.Module, context: TrainingContext) -> None:
        """Keep the labels that the last stage starts from, which are scored with the stage before it."""
        self.start_labels_ = context.assignments(network).argmax(axis=1)
        self.start_stage_ = len(context.stages) - 1 if context.stages else None

    def _read(self, X: Any, reset: bool) -> Dataset:
        """X as a dataset; vectors are checked by scikit-learn's own rules."""
        options = self._input_options().load_options if reset else self.preprocessor_.load_options
        if isinstance(X, str | Path) or data.are_pictures(X):
            return data.load(X, **options())
        if isinstance(X, Dataset) or (isinstance(X, np.ndarray | Tensor) and X.ndim > 2):
            return data.load(X, pixel_max=None if reset else self.preprocessor_.pixel_max)
        if data.are_texts(X) or (data.is_frame(X) and (data.has_gaps_or_words(X) or (not reset and self._takes_rows))):
            return data.load(X, **({} if reset else options()))
        X = X.detach().cpu().numpy() if isinstance(X, Tensor) else X
        if isinstance(X, np.ndarray):
            data.check_whole_numbers(X)
        return data.load(validate_data(self, X, reset=reset, dtype=[np.float64, np.float32]))

    @property
    def _takes_rows(self) -> bool:
        """Whether this fitted model was trained on a table."""
        encoder = self.preprocessor_.frozen_encoder
        return encoder is not None and encoder.takes is Table

    def _embed(self, X: Any, shared: bool = False) -> tuple[Iterator[tuple[Tensor, Tensor]], int]:
        check_is_fitted(self)
        x, size = self.preprocessor_.transform(self._read(X, reset=False), self.device_), self.input_shape_[-2:]
        part = dist.part(len(x), rows_per_batch(size)) if shared else None
        return embed(self.network_, x, size, part=part), len(x)

    def _gather_rows(self, rows: np.ndarray, n: int) -> np.ndarray:
        return dist.gather_arrays(rows, n, rows_per_batch(self.input_shape_[-2:]))


def _too_few(dataset: Dataset, n_clusters: int) -> str:
    """The message for fewer samples than clusters."""
    noun = {"image": "image", "text": "text", "table": "row"}.get(dataset.kind, "sample")
    found = f"{dataset.place}: only {len(dataset):,} {noun}{'' if len(dataset) == 1 else 's'}"
    if n_clusters <= 2:
        return f"{found}, and at least 2 are needed. Add {noun}s."
    return f"{found}, fewer than the {n_clusters:,} requested clusters. Request fewer (-k, n_clusters), or add {noun}s."
