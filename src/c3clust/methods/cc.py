"""CC: contrastive clustering.

Li, Hu, Liu, Peng, Zhou, Peng, AAAI 2021, https://arxiv.org/abs/2009.09687
Two views of each image are contrasted in the rows of z (instances) and in the columns of c (clusters).
Shapes: N images per batch, D projection width, M clusters.

Loss, heads and schedule are those of the paper. Only budgets are chosen by a rule: the epochs, and the learning rate of
small networks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses import onepass
from c3clust.losses.terms import entropy, full_precision, nt_xent
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._start import StartFields, learning_rate, started_network
from c3clust.networks import ClusterNet
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["CC"]


ONE_PASS_FROM = 512  # images per batch, or clusters


# 1. Loss


def instance_loss(z_a: Tensor, z_b: Tensor, tau_i: float = 0.5, shared: bool = False) -> Tensor:
    """The instance loss (CC, equation 3): NT-Xent over the 2N views, the anchor itself left out of the denominator.

    z_a, z_b: [N, D], compared by cosine. From N = 512 on in one pass over row blocks (losses/onepass.py).
    shared: z_a and z_b are this process's part of the batch; the loss is that of the whole batch, of which each process
    computes its own rows.
    """
    if len(z_a) >= ONE_PASS_FROM or (shared and dist.world_size() > 1):
        return onepass.instance_loss(F.normalize(z_a, dim=1), F.normalize(z_b, dim=1), tau_i, shared=shared)
    return nt_xent(z_a, z_b, tau_i)


def cluster_contrast_loss(c_a: Tensor, c_b: Tensor, tau_c: float = 1.0) -> Tensor:
    """The first term of the cluster loss (CC, equation 6): NT-Xent over the 2M columns.

    c_a, c_b: [N, M], rows sum to 1. From M = 512 on in one pass, as the instance loss: memory is linear in M.
    """
    if c_a.shape[1] < ONE_PASS_FROM:
        return nt_xent(c_a.T, c_b.T, tau_c)
    a, b = (F.normalize(full_precision(c).T, dim=1, eps=1e-8) for c in (c_a, c_b))
    return onepass.instance_loss(a, b, tau_c)


def balance_loss(c_a: Tensor, c_b: Tensor) -> Tensor:
    """The second term of the cluster loss: log M - H(P) for each view's mean assignment P; 0 for equal clusters."""
    p = torch.stack([full_precision(c).mean(dim=0) for c in (c_a, c_b)])  # [2, M]
    return 2 * torch.log(torch.tensor(float(p.shape[1]), dtype=p.dtype)).item() - entropy(p).sum()


def cluster_loss(c_a: Tensor, c_b: Tensor, tau_c: float = 1.0) -> Tensor:
    """The cluster loss (CC, equation 6): contrast of the columns, minus the entropy of the sizes, plus log M per view.

    c_a, c_b: [N, M], rows sum to 1. Finite, with a finite gradient, when a cluster is empty.
    """
    return cluster_contrast_loss(c_a, c_b, tau_c) + balance_loss(c_a, c_b)


# 2. Objective


@dataclass(frozen=True)
class InstanceObjective:
    """What one step of the instance loss alone minimises, over the batch of all processes."""

    tau_i: float
    assigns = False  # the cluster head is not trained

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        h_a = network.encode(batch.x_a)
        h_b = network.encode(batch.x_b)
        instance = instance_loss(network.project(h_a), network.project(h_b), self.tau_i, shared=True)
        return {"loss": instance, "instance_loss": instance}


@dataclass(frozen=True)
class CCObjective:
    """What one step of CC minimises: L_ins + L_clu over the batch of all processes."""

    tau_i: float
    tau_c: float

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        h_a = network.encode(batch.x_a)
        h_b = network.encode(batch.x_b)
        instance = instance_loss(network.project(h_a), network.project(h_b), self.tau_i, shared=True)
        cluster = cluster_loss(dist.gather(network.assign(h_a)), dist.gather(network.assign(h_b)), self.tau_c)
        return {"loss": instance + cluster, "instance_loss": instance, "cluster_loss": cluster}


# 3. Estimator


@final
@parameters
class CC(StartFields, Clusterer):
    """Cluster images (or feature vectors) with contrastive clustering, as published.

    Parameters
    ----------
    epochs : int or "auto", default="auto"
        "auto" is about 420 steps, in 15 to 200 epochs. The paper: 1000.
    batch_size : int, default=256
        The paper's.
    lr : float or "auto", default="auto"
        Learning rate of Adam. "auto" is the paper's 3e-4 for ResNets and for modules of your own, and 1e-3 for the
        small networks "convnet", "mlp" and "shallow", which are trained for fewer steps.
    schedule : {"constant", "cosine"}, default="constant"
        The paper's.
    start : CC, path or None, default=None
        A network to continue from, with a new optimiser: a fitted CC, the folder of a saved one, with its encoder and
        size of images, or a checkpoint of CC's released code (checkpoint_1000.tar). With `epochs=0` it is used
        unchanged.

    Attributes
    ----------
    network_ : ClusterNet
        The trained f, g_I and g_C.

    References
    ----------
    Li, Hu, Liu, Peng, Zhou, Peng. Contrastive Clustering. AAAI 2021. https://arxiv.org/abs/2009.09687

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust import CC
    >>> cc = CC(n_clusters=10, epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> cc.predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    chooses_k: ClassVar[bool] = True

    lr: float | str = "auto"  # type: ignore[assignment]
    schedule: str = "constant"

    def _start_kinds(self) -> Mapping[str, type]:
        return {"cc": CC}

    def _check_params(self) -> None:
        self._check_network()
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule, auto_lr=True)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 420, 15, 200)
        lr = learning_rate(self.lr, self, context.shape, paper=3e-4, small=1e-3)
        return [Stage("cc", epochs, self.batch_size, lr, self.schedule)]

    def _fit(self, context: TrainingContext) -> ClusterNet:
        if self.start is not None:
            network = started_network(self, self._fitted_start(), context)
        else:
            if self.n_clusters == "auto":
                self._choose_clusters(context.pixels(), context)
            network = context.build(self._build_network)
        [stage] = self._stages(context)
        context.train(stage, network, CCObjective(self.tau_i, self.tau_c))
        return network
