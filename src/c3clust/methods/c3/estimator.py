"""The C3 estimator: its parameters, and which guidance it uses."""

import copy
import time
from dataclasses import replace
from typing import Any, ClassVar, final

import torch
from torch import nn

from c3clust import checks
from c3clust.consensus.fit import MOST, PRIORS, fit_heads
from c3clust.data.samples import Dataset
from c3clust.features.preprocess import InputOptions, Preprocessor
from c3clust.methods._base import Clusterer, EncoderFields, parameters
from c3clust.methods._start import architecture, fitted_start
from c3clust.methods.c3.images import GuidedObjective, assign_neighbours, calibration
from c3clust.methods.c3.loss import TWINS
from c3clust.methods.c3.views import HEADS, fit_views, stages
from c3clust.methods.cc import CC, CCObjective, fit_head
from c3clust.networks import ClusterNet
from c3clust.networks.voting import VotingHeads
from c3clust.training import Stage, TrainingContext, auto_epochs

__all__ = ["C3"]

# Parameters of guidance by views; with other values, guidance="auto" means views.
STAGE_2 = {
    "zeta": "auto", "gamma": 0.1, "twins": "always", "head": "follow", "settle": "auto", "readout": "head",
    "guard": True,
}  # fmt: skip
INSTANCE = 128, 2e-3  # batch size and learning rate of the instance loss alone, chosen while looking at scores
NARROW = 64  # features; up to here vectors are treated as columns with different units, and are standardised


@final
@parameters
class C3(EncoderFields, Clusterer):
    """Cluster images (or feature vectors) with C3: contrastive clustering, then cross-instance guidance.

    Samples are guided by their nearest neighbours: feature vectors (of an encoder, embeddings, texts, tables) by those
    in their own space, images by those in the learned space. docs/METHOD.md describes the method.

    Parameters
    ----------
    guidance : {"auto", "neighbours", "views"}, default="auto"
        Which pairs of samples are positives. "neighbours": nearest neighbours in the space of the feature vectors, or
        of the features that the instance loss has learned from images. "views": views whose projections z are close
        after CC; the paper. "auto": neighbours for feature vectors and for handwriting; views for other images that are
        learned from scratch, for a `backbone` on feature vectors and `finetune`, and where `start`, `zeta`, `gamma`,
        `twins`, `head`, `settle`, `readout` or `guard` is given, which belong to views.
    prior : {"auto", "even", "free"} or float, default="auto"
        With neighbours: how strongly equal cluster sizes are favoured. "even" is 1, "free" the smallest value that
        is tried (.25 for feature vectors, 0 for images), "auto" selects the value at which independent members agree.
    members : int or "auto", default="auto"
        With neighbours: the number of members that vote; "auto" is 8 for feature vectors, 6 for images.
    zeta : float or "auto", default="auto"
        Cosine from which two views count as positives. The paper: 0.6, and 0.95 for 200 clusters. Too small a value
        merges clusters: then positives per view converge above 2N / n_clusters. "auto" searches the value for which
        they converge to it, without labels, by probes of the instance head (c3/zeta.py); `zeta_` is the value used.
    gamma : float, default=0.1
        Sharpness of the pair weights; 0 weights all pairs equally, as the paper's released code does.
    twins : {"always", "threshold"}, default="always"
        Whether the other view of the same image is always a positive, as in the released code, or only if its cosine
        reaches `zeta`, as in the paper's equation.
    head : {"follow", "frozen", "joint"}, default="follow"
        "follow": the cluster head g_C is trained with CC's cluster loss on detached features, so that it follows them.
        "frozen": the paper; g_C is that of stage 1. "joint": the cluster loss trains f too.
    settle : int or "auto", default="auto"
        Epochs after stage 2, at its learning rate, in which the cluster loss trains f too. A head that disagrees with
        k-means in z on more than 5 % of the samples is first fitted to those clusters, if they are still as even as
        before stage 2. "auto" is as many as `epochs`. 0, or a frozen head, leaves this stage out: the paper.
    readout : {"head", "z"}, default="head"
        "head": labels by argmax g_C, the paper. "z": labels by spherical k-means in the z-space after stage 2.
    guard : bool, default=True
        Stop stage 2 if it fails (collapse, vanishing clusters, a loss that is not finite), detected without labels, and
        restore the network of its last healthy epoch. `stages_` contains the reason.
    start : CC, C3, path or None, default=None
        Where stage 2 starts: a fitted estimator, the folder of a saved one, with its network, encoder and size of
        images, or a checkpoint of CC's released code (checkpoint_1000.tar). None trains CC first.
    cc_epochs, cc_batch_size, cc_lr, cc_schedule, cc_warmup
        Stage 1: `epochs`, `batch_size`, `lr`, `schedule` and `warmup` of :class:`CC`. With neighbours, "auto" comes to
        about 300 steps of 128 samples at 2e-3, and all but `cc_warmup` hold for stage 2 of images too.
    epochs : int or "auto", default="auto"
        Stage 2 of images. "auto" is about 80 steps with neighbours, and about 56 with views. The paper: 20.
    batch_size : int, default=128
        Of stage 2 with views.
    lr : float, default=0.0001
        Of stage 2 with views. The paper: 1e-5, for ResNet-34 after 1000 epochs of CC.
    schedule : {"constant", "cosine"}, default="constant"

    Attributes
    ----------
    labels_, confidence_ : ndarray [n]
        Cluster of each sample, and the largest entry of its soft assignment.
    quality_ : dict or None
        With neighbours: the estimated accuracy and its interval, the prior, and a comparison with k-means; no labels
        are involved. Mean confidence is the estimated accuracy.
    guidance_ : {"neighbours", "views"}
        The guidance that was used.
    zeta_ : float
        With views: the threshold that stage 2 used.
    start_labels_ : ndarray [n]
        With views: the clusters before stage 2, CC's.
    network_ : VotingHeads or ClusterNet
    stages_ : list of dict
        Name, epochs, seconds and curves of each stage trained.

    References
    ----------
    Sadeghi, Hojjati, Armanfard. C3: Cross-instance Guided Contrastive Clustering. BMVC 2023.
    https://arxiv.org/abs/2211.07136

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust import C3
    >>> c3 = C3(n_clusters=10, cc_epochs=1, epochs=1, random_state=0).fit(load_digits().images[:300] / 16)
    >>> c3.labels_.shape, c3.transform(load_digits().images[:2] / 16).shape
    ((300,), (2, 128))
    """

    guidance: str = "auto"
    prior: float | str = "auto"
    members: int | str = "auto"
    zeta: float | str = "auto"
    gamma: float = 0.1
    twins: str = "always"
    head: str = "follow"
    settle: int | str = "auto"
    readout: str = "head"
    guard: bool = True
    start: Any = None
    cc_epochs: int | str = "auto"
    cc_batch_size: int | str = "auto"
    cc_lr: float | str = "auto"
    cc_schedule: str = "cosine"
    cc_warmup: float = 0.3
    epochs: int | str = "auto"
    batch_size: int = 128
    lr: float = 1e-4
    schedule: str = "constant"

    chooses_k: ClassVar[bool] = True
    older_models: ClassVar[dict[str, Any]] = {"guidance": "views"}

    def _check_params(self) -> None:
        checks.choice("guidance", self.guidance, ("auto", "neighbours", "views"))
        if self.prior not in PRIORS:
            checks.number(
                "prior", self.prior, 0, 1, why='it is an exponent. Usual values are "auto", "even" and "free".'
            )
        if self.members != "auto":
            checks.whole("members", self.members, why='it is the number of heads that vote. "auto" is 8.')
        if self.zeta != "auto":
            checks.number(
                "zeta", self.zeta, -1, 1, why="it is compared with a cosine similarity. A usual value is 0.6."
            )
        checks.number("gamma", self.gamma, 0, why="it is the sharpness of weights. A usual value is 0.1.")
        checks.choice("twins", self.twins, TWINS)
        checks.choice("head", self.head, HEADS)
        checks.choice("readout", self.readout, ("head", "z"))
        checks.flag("guard", self.guard)
        checks.stage(self.cc_epochs, *self._batch_and_rate(), self.cc_schedule, prefix="cc_")
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)
        self._stage_1()._check_params()

    def _batch_and_rate(self) -> tuple[Any, Any]:
        """Of stage 1; "auto" is CC's own, or with neighbours that of the instance loss alone."""
        batch, lr = INSTANCE if self._uses_neighbours else (CC.batch_size, CC.lr)
        return batch if self.cc_batch_size == "auto" else self.cc_batch_size, lr if self.cc_lr == "auto" else self.cc_lr

    def _stage_1(self) -> CC:
        shared = CC().get_params().keys() - {"n_clusters", "random_state", "device", "compile", "verbose", "start"}
        stage = {"epochs", "batch_size", "lr", "schedule", "warmup"}
        params = {name: getattr(self, f"cc_{name}" if name in stage else name) for name in shared}
        params["batch_size"], params["lr"] = self._batch_and_rate()
        first = CC(self.n_clusters, **params)
        first._prefix, first.choice_ = "cc_", getattr(self, "choice_", None)
        first.preprocessor_ = getattr(self, "preprocessor_", Preprocessor())
        return first

    def _fitted_start(self) -> Any:
        return fitted_start(self, {"cc": CC, "c3": C3})

    def _choose_preprocessor(self, dataset: Any) -> tuple[Preprocessor, str | None]:
        """That of the start, if there is one: its encoder, scaling and size. Also chooses the guidance."""
        if self.start is None:
            chosen, note = super()._choose_preprocessor(dataset)
        else:
            chosen, note = copy.copy(self._fitted_start().preprocessor_), None
        self.guidance_ = self._choose_guidance(dataset, chosen)
        return chosen, note

    def _choose_guidance(self, dataset: Dataset, preprocessor: Preprocessor) -> str:
        """guidance="auto": neighbours where they are known to help, and nothing that was given belongs to views."""
        if self.guidance != "auto":
            return self.guidance
        from_scratch = dataset.kind == "image" and preprocessor.encoder is None
        other = dataset.content != "handwriting" if from_scratch else self.backbone != "auto" or self.finetune
        return "views" if other or self._sets_views() else "neighbours"

    def _sets_views(self) -> bool:
        """Whether a parameter of guidance by views is given."""
        return self.start is not None or any(getattr(self, name) != value for name, value in STAGE_2.items())

    @property
    def _uses_neighbours(self) -> bool:
        """Whether the positives are nearest neighbours. Saved models name their guidance, but for the first of them."""
        guidance = getattr(self, "guidance_", self.guidance)
        return not self._sets_views() if guidance == "auto" else guidance == "neighbours"

    def _resolved_params(self) -> dict[str, Any]:
        own = {"guidance": getattr(self, "guidance_", self.guidance)}
        own |= dict(zip(("cc_batch_size", "cc_lr"), self._batch_and_rate(), strict=True))
        return super()._resolved_params() | own | architecture(self)

    def _input_options(self) -> InputOptions:
        """Neighbours need no views of features, and no standardisation, which would distort distances."""
        options = super()._input_options()
        return replace(options, views=0, standardise=NARROW) if self._uses_neighbours else options

    def _build_network(self, shape: tuple[int, ...]) -> nn.Module:
        neighbours = self._uses_neighbours
        if neighbours and len(shape) == 1:
            return VotingHeads(self.n_clusters_, shape[0])
        network: ClusterNet = self._stage_1()._build_network(shape)
        if neighbours:
            network.temperature = torch.ones(())
        elif self.readout == "z":
            network.centres = torch.zeros(self.n_clusters_, self.projection_dim)
        return network

    def _stages(self, context: TrainingContext) -> list[Stage]:
        if self._uses_neighbours and len(context.shape) == 1:
            return []
        if not self._uses_neighbours:
            return [*(self._stage_1()._stages(context) if self.start is None else []), *stages(self, context)]
        stage_1 = self._stage_1()
        first, auto = stage_1._epochs(context, 300, 4, 200), auto_epochs(len(context.x), stage_1.batch_size, 80, 1, 40)
        context.epochs["epochs"] = second = auto if isinstance(self.epochs, str) else self.epochs
        return [stage_1._stage("instance", first), stage_1._stage("guided", second)]

    def _fit(self, context: TrainingContext) -> nn.Module:
        if not self._uses_neighbours:
            return fit_views(self, None if self.start is None else self._fitted_start(), context)
        return self._fit_heads(context) if len(context.shape) == 1 else self._fit_images(context)

    def _fit_heads(self, context: TrainingContext) -> VotingHeads:
        """Neighbours of feature vectors: heads on these vectors."""
        started = time.perf_counter()
        x = context.pixels() if len(context.x) <= MOST else context.lazy_pixels()
        self._choose_clusters(x, context)
        network, quality = fit_heads(
            x,
            self.n_clusters_,
            scaled=self._common_scale,
            prior=self.prior,
            members=None if isinstance(self.members, str) else self.members,
            seed=context.seed,
        )
        self.quality_ = quality.plain()
        context.stages.append({"name": "heads", "epochs": 0, "seconds": time.perf_counter() - started, "curves": {}})
        return network.to(context.device)

    def _regroup(self, context: TrainingContext, network: nn.Module) -> nn.Module:
        """Other heads on the same vectors; or another cluster head on the features that were learned from images."""
        if not self._uses_neighbours:
            return super()._regroup(context, network)
        if len(context.shape) == 1:
            return self._fit_heads(context)
        new: ClusterNet = context.build(self._stage_1()._build_network)
        learned = {name: t for name, t in network.state_dict().items() if not name.startswith(("g_c.", "temperature"))}
        new.load_state_dict(learned, strict=False)
        found = assign_neighbours(new, context, self.prior, self.members)
        fit_head(new, found.h, found.labels, context, steps=1000)  # f does not follow here, as it does in stage 2
        new.temperature = calibration(new, found, context)
        self.quality_ = found.quality.plain()
        return new

    def _fit_images(self, context: TrainingContext) -> ClusterNet:
        """Neighbours of learned features: the instance loss, then the clusters of the graph of neighbours."""
        first, second = self._stages(context)
        network: ClusterNet = context.build(self._stage_1()._build_network)
        instance = CCObjective(self.tau_i, self.tau_c, warming_up=True)
        context.train(first, network, instance)
        stage_1 = self._stage_1()
        stage_1._choose_head(network, context)
        self.choice_ = stage_1.choice_
        found = assign_neighbours(network, context, self.prior, self.members)
        self.start_labels_, self.start_stage_ = found.labels.numpy(), len(context.stages) - 1
        guided = GuidedObjective(found.labels, found.confidence, self.tau_i)
        context.train(second, network, guided)
        found = assign_neighbours(network, context, self.prior, self.members)
        network.temperature = calibration(network, found, context)
        self.quality_ = found.quality.plain()
        return network
