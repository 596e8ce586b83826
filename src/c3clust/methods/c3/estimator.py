"""The C3 estimator: what one step minimises, and the stages of a fit."""

import copy
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.data.samples import ArrayLike, Dataset
from c3clust.encoders import Encoder
from c3clust.errors import InputError
from c3clust.estimator import Bench, EstimatorMixin, read_model, restore, standard_scaling
from c3clust.methods.c3.guard import Guard, effective_clusters
from c3clust.methods.c3.loss import c3_loss, positives_per_view
from c3clust.methods.c3.zeta import SAMPLES, choose_zeta
from c3clust.methods.cc import CC, cluster_loss, clusters_in_z, leads, teach_head
from c3clust.metrics import acc
from c3clust.networks import ClusterNet
from c3clust.networks.readouts import spherical_kmeans
from c3clust.training.loop import Stage, auto_epochs, encode_views

__all__ = ["C3"]


LOST = 0.05  # share of samples
EVEN = 0.95  # of the effective clusters that k-means finds in z before stage 2: clusters have not flowed together


# Objective

HEADS = ("follow", "frozen", "joint")


@dataclass(frozen=True)
class C3Objective:
    """What one step of stage 2 minimises over the batch of all processes.

    head = "frozen": f and g_I get L_C3, g_C nothing.
    head = "follow": the same, and g_C gets CC's cluster loss on detached h, which touches nothing else.
    head = "joint": CC's cluster loss reaches f too.
    """

    zeta: float
    gamma: float
    tau_c: float
    head: str

    def __call__(self, network: ClusterNet, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]:
        h_a, h_b = network.encode(x_a), network.encode(x_b)
        z_a, z_b = dist.gather(network.project(h_a)), dist.gather(network.project(h_b))
        c3 = c3_loss(z_a, z_b, self.zeta, self.gamma)
        terms = {"loss": c3, "c3_loss": c3, "positives_per_view": positives_per_view(z_a, z_b, self.zeta)}
        if self.head != "frozen":
            follow = self.head == "follow"
            c_a, c_b = (dist.gather(network.assign(h.detach() if follow else h)) for h in (h_a, h_b))
            cluster = cluster_loss(c_a, c_b, self.tau_c)
            terms |= {"loss": c3 + cluster, "cluster_loss": cluster}
        return terms


# Estimator


@final
class C3(EstimatorMixin, BaseEstimator):
    """Cluster images (or feature vectors) with C3: contrastive clustering, then cross-instance guidance.

    Parameters
    ----------
    n_clusters : int, default=10
        M, the number of clusters.
    zeta : float or "auto", default="auto"
        Cosine from which two views count as positives. The paper: 0.6, and 0.95 for 200 clusters. Too small a value
        merges clusters: then positives per view settle above 2N / n_clusters. "auto" looks for the value at which they
        settle there, without labels, by probes of the instance head (zeta.py); `zeta_` is what was taken.
    gamma : float, default=0.1
        Sharpness of the pair weights; 0 weighs all pairs equally.
    head : {"follow", "frozen", "joint"}, default="follow"
        "follow": the cluster head g_C is trained with CC's cluster loss on detached features, so that it follows them.
        "frozen": the paper; g_C stays as stage 1 left it. "joint": the cluster loss trains f too.
    settle : int or "auto", default="auto"
        Epochs after stage 2, at its rate, in which the cluster loss trains f too, now that the clusters are found (a
        head that disagrees with k-means in z on more than 5 % of the samples is first taught those clusters, if they
        are still as even as before stage 2);
        "auto" is as many as `epochs`. 0, or a frozen head, leaves them out: the paper.
    readout : {"head", "z"}, default="head"
        "head": labels by argmax g_C, the paper. "z": labels by spherical k-means in the z-space after stage 2.
    guard : bool, default=True
        Stop stage 2 when it goes wrong (collapse, dying clusters, a loss that is not finite), seen without labels, and
        give back the network of its last healthy epoch. `stages_` says why.
    start : CC, C3, path or None, default=None
        Where stage 2 starts: a fitted estimator, or the folder of a saved one. None trains CC first.
    encoder, scale, views, finetune, backbone, stem, image_size, augment, projection_dim, tau_i, tau_c
        As in :class:`CC`; of a given `start`, its own network, encoder and size of images are taken.
    cc_epochs, cc_batch_size, cc_lr, cc_schedule, cc_warmup
        Stage 1: `epochs`, `batch_size`, `lr`, `schedule` and `warmup` of :class:`CC`.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" comes to about 56 steps, in 3 to 20 passes. The paper: 20.
    batch_size : int, default=128
    lr : float, default=1e-4
        The paper: 1e-5, for ResNet-34 after 1000 epochs of CC.
    schedule : {"constant", "cosine"}, default="constant"
    random_state : int, RandomState or None, default=None
    device : str, default="auto"
    compile : bool, default=False
        Compile the encoder with torch.compile: about half a minute more at the start. On a CPU it gains nothing.
    verbose : bool, default=False

    Attributes
    ----------
    labels_, confidence_ : ndarray [n]
        Cluster of each sample, and how sure it is.
    zeta_ : float
        The threshold that stage 2 used.
    start_labels_ : ndarray [n]
        The clusters before stage 2: CC's.
    network_ : ClusterNet
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
    >>> c3 = C3(n_clusters=10, cc_epochs=1, epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> c3.labels_.shape, c3.transform(load_digits().images[:2] / 16).shape
    ((1797,), (2, 128))
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        zeta: float | str = "auto",
        gamma: float = 0.1,
        head: str = "follow",
        settle: int | str = "auto",
        readout: str = "head",
        guard: bool = True,
        start: Any = None,
        encoder: Any = "auto",
        scale: str = "auto",
        views: int = 4,
        finetune: bool = False,
        backbone: str | nn.Module = "auto",
        stem: str = "auto",
        image_size: int | None = None,
        augment: Any = "auto",
        projection_dim: int = 128,
        tau_i: float = 0.5,
        tau_c: float = 1.0,
        cc_epochs: int | str = "auto",
        cc_batch_size: int = 256,
        cc_lr: float = 1e-3,
        cc_schedule: str = "cosine",
        cc_warmup: float = 0.3,
        epochs: int | str = "auto",
        batch_size: int = 128,
        lr: float = 1e-4,
        schedule: str = "constant",
        random_state: Any = None,
        device: str = "auto",
        compile: bool = False,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.zeta = zeta
        self.gamma = gamma
        self.head = head
        self.settle = settle
        self.readout = readout
        self.guard = guard
        self.start = start
        self.encoder = encoder
        self.scale = scale
        self.views = views
        self.finetune = finetune
        self.backbone = backbone
        self.stem = stem
        self.image_size = image_size
        self.augment = augment
        self.projection_dim = projection_dim
        self.tau_i = tau_i
        self.tau_c = tau_c
        self.cc_epochs = cc_epochs
        self.cc_batch_size = cc_batch_size
        self.cc_lr = cc_lr
        self.cc_schedule = cc_schedule
        self.cc_warmup = cc_warmup
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.schedule = schedule
        self.random_state = random_state
        self.device = device
        self.compile = compile
        self.verbose = verbose

    def _check_params(self) -> None:
        if self.zeta != "auto":
            checks.number(
                "zeta", self.zeta, -1, 1, why="it is compared with a cosine similarity. A usual value is 0.6."
            )
        checks.number("gamma", self.gamma, 0, why="it is the sharpness of weights. A usual value is 0.1.")
        checks.choice("head", self.head, HEADS)
        checks.choice("readout", self.readout, ("head", "z"))
        checks.flag("guard", self.guard)
        checks.stage(self.cc_epochs, self.cc_batch_size, self.cc_lr, self.cc_schedule, prefix="cc_")
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)
        self._stage_1()._check_params()

    def _stage_1(self) -> CC:
        shared = (
            "scale",
            "views",
            "finetune",
            "backbone",
            "stem",
            "image_size",
            "augment",
            "projection_dim",
            "tau_i",
            "tau_c",
        )
        stage = ("epochs", "batch_size", "lr", "schedule", "warmup")
        params = {name: getattr(self, name) for name in shared} | {name: getattr(self, f"cc_{name}") for name in stage}
        first = CC(self.n_clusters, **params)
        first.encoder_ = getattr(self, "encoder_", None)
        return first

    def _chosen_encoder(self, images: Dataset) -> tuple[Encoder | None, str | None]:
        """That of the start, where there is one."""
        return super()._chosen_encoder(images) if self.start is None else (_fitted(self.start).encoder_, None)

    def _scaling(self, x: ArrayLike) -> tuple[Tensor, Tensor]:
        """Features are scaled as they were for the start."""
        scale = None if self.start is None else _fitted(self.start)._scale
        return scale or standard_scaling(x)

    def _shape(self, images: Dataset) -> tuple[int, ...]:
        """Samples have the size they had for the start, unless another is asked for."""
        shape = super()._shape(images)
        if self.start is None or self.image_size is not None or len(shape) != 3:
            return shape
        return (shape[0], *_fitted(self.start).input_shape_[1:])

    def _build_network(self, shape: tuple[int, ...]) -> ClusterNet:
        network = self._stage_1()._build_network(shape)
        if self.readout == "z":
            network.centres = torch.zeros(self.n_clusters, self.projection_dim)
        return network

    def _fit(self, bench: Bench) -> ClusterNet:
        network = self._stage_1()._fit(bench) if self.start is None else self._started(bench)
        self.start_labels_ = bench.assignments(network).argmax(axis=1)
        epochs = self.epochs if isinstance(self.epochs, int) else auto_epochs(len(bench.x), self.batch_size, 56, 3, 20)
        stage = Stage("c3", epochs, self.batch_size, self.lr, self.schedule)
        settle = 0 if self.head == "frozen" else self.settle if isinstance(self.settle, int) else epochs
        before = clusters_in_z(network, bench)[1] if settle else torch.empty(0)
        self.zeta_, account = self._choose_zeta(network, bench)
        objective = C3Objective(self.zeta_, self.gamma, self.tau_c, self.head)
        note = bench.train(stage, network, objective, self._new_guard())
        note["zeta"] = account
        stopped = self.guard and note["guard"]["decision"]
        if settle and not stopped:
            if not leads(self.encoder_):
                _find_lost_head(network, before, bench)
            stage, objective = replace(stage, name="settle", epochs=settle), replace(objective, head="joint")
            bench.train(stage, network, objective, self._new_guard())
        if self.readout == "z":
            centres = spherical_kmeans(bench.codes(network), self.n_clusters, bench.seed)
            network.centres = torch.from_numpy(centres).to(bench.device)
        return network

    def _choose_zeta(self, network: ClusterNet, bench: Bench) -> tuple[float, dict[str, Any]]:
        """The threshold, and how it was found."""
        if not isinstance(self.zeta, str):
            return float(self.zeta), {"chosen": float(self.zeta)}
        started = time.perf_counter()
        h = encode_views(network, bench.x, bench.policy, bench.size, self.batch_size, SAMPLES, bench.seed)
        zeta, account = choose_zeta(network.g_i, h, self.n_clusters, self.batch_size, self._probe_loss, bench.seed)
        bench.notes.append(account["why"])
        return dist.agree(zeta), account | {"seconds": time.perf_counter() - started}

    def _probe_loss(self, z_a: Tensor, z_b: Tensor, zeta: float) -> tuple[Tensor, Tensor]:
        return c3_loss(z_a, z_b, zeta, self.gamma), positives_per_view(z_a, z_b, zeta)

    def _new_guard(self) -> Guard | None:
        return Guard() if self.guard else None

    def _started(self, bench: Bench) -> ClusterNet:
        """A copy of the network that `start` names."""
        start = _fitted(self.start)
        if start.input_shape_ != bench.shape or start.n_clusters != self.n_clusters:
            raise InputError(
                f"start was fitted for {start.n_clusters} clusters of samples {start.input_shape_}; "
                f"asked for are {self.n_clusters} clusters of {bench.shape}. Give a start that fits, or none."
            )
        network = copy.deepcopy(start.network_).to(bench.device)
        network.centres = None
        return network


def _find_lost_head(network: ClusterNet, before: Tensor, bench: Bench) -> None:
    """Teach g_C the clusters of z anew if it has lost them: if it disagrees on more than LOST of the samples.

    Only where z has kept its clusters: where they are far less even than `before` stage 2, they have flowed together,
    and the head knows better (Fashion-MNIST-10k, seed 0: head .52, k-means in z .47; MNIST-10k: .83 and .95).
    """
    h, labels = clusters_in_z(network, bench)
    with torch.no_grad():
        own = network.g_c(h.to(bench.device)).argmax(dim=1).cpu()
    disagreement = 1 - acc(labels.numpy(), own.numpy())
    if disagreement <= LOST:
        return
    told = f"After stage c3 the cluster head disagreed with k-means in z on {disagreement:.0%} of the samples"
    now, then = (effective_clusters(torch.bincount(found).tolist()) for found in (labels, before))
    if now < EVEN * then:
        bench.notes.append(
            f"{told}. It was left as it is, since the clusters of z have become uneven: their effective number fell "
            f"from {then:.1f} to {now:.1f}."
        )
        return
    teach_head(network, h, labels, bench)
    bench.notes.append(f"{told}, so it was taught the clusters of z before the stage settle.")


def _fitted(start: Any) -> Any:
    """`start` as a fitted CC or C3."""
    if isinstance(start, str | Path):
        meta, state = read_model(start)
        kinds = {"cc": CC, "c3": C3}
        if meta["method"] not in kinds:
            raise InputError(f"start={str(start)!r} is a {meta['method']} model: a CC or C3 model is needed.")
        return restore(kinds[meta["method"]], start, {}, meta, state)
    if not isinstance(start, CC | C3):
        raise InputError(f"start is a {type(start).__name__}: a fitted CC or C3, or the folder of one, is needed.")
    check_is_fitted(start)
    return start
