"""Consensus: clusterings of the same features that vote, and an estimate of how many samples they place correctly.

The package's own method, and its default for feature vectors (embeddings, encoded photographs, texts, tables) and for
handwriting. What it takes from others:

- Feature vectors (consensus/partition.py): clusterings of different kinds vote, among them k-means in the diffusion
  embedding (Coifman, Lafon 2006) of UMAP's graph of neighbours (McInnes, Healy, Melville 2018), and a Gaussian
  mixture of columns. A softmax regression on the votes assigns new samples.
- Images without an encoder (consensus/graph.py): features are learned with the instance loss of CC (Li et al., AAAI
  2021); members cut the graph of nearest neighbours at the least normalised cut (Shi, Malik, PAMI 2000) of random parts
  of them, and vote. As in C3 (Sadeghi et al., BMVC 2023), what is alike across instances then guides a second stage:
  the clusters that were found train the features, weighted by their confidence.

The agreement of the members gives the confidence of each sample and the estimate of the accuracy.
Shapes: N images per batch, M clusters.
"""

import logging
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.consensus.fit import MOST, PRIORS, fit_vectors
from c3clust.consensus.learned import assign_neighbours, calibration
from c3clust.consensus.partition import NARROW
from c3clust.errors import InputError
from c3clust.features.preprocess import InputOptions
from c3clust.methods._base import Clusterer, ContrastiveFields, parameters
from c3clust.methods.cc import InstanceObjective, instance_loss
from c3clust.networks import ClusterNet, backbone
from c3clust.networks.vector_head import VectorHead
from c3clust.training import Batch, Stage, TrainingContext
from c3clust.training.head import fit_head

__all__ = ["Consensus"]

log = logging.getLogger(__name__)


# 1. Loss


def guidance_loss(logits_a: Tensor, logits_b: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """Cross entropy of both views with the cluster of the sample, weighted by its confidence.

    logits_a, logits_b: [N, M]; labels, weight: [N].
    """
    each = sum(F.cross_entropy(logits, labels, reduction="none") for logits in (logits_a, logits_b))
    return (weight * each).sum() / (2 * weight.sum().clamp_min(1e-6))


# 2. Objective


@dataclass(frozen=True)
class GuidedObjective:
    """What one step of stage 2 minimises: the guidance loss and the instance loss over the batch of all processes."""

    labels: Tensor  # [n]
    confidence: Tensor  # [n]
    tau_i: float

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        index = dist.gather(batch.index).cpu()
        h_a, h_b = network.encode(batch.x_a), network.encode(batch.x_b)
        labels, weight = self.labels[index].to(h_a.device), self.confidence[index].to(h_a.device)
        guidance = guidance_loss(dist.gather(network.g_c(h_a)), dist.gather(network.g_c(h_b)), labels, weight)
        instance = instance_loss(network.project(h_a), network.project(h_b), self.tau_i, shared=True)
        return {"loss": guidance + instance, "guidance_loss": guidance, "instance_loss": instance}


# 3. Estimator


@final
@parameters
class Consensus(ContrastiveFields, Clusterer):
    """Cluster feature vectors, or images through features, by clusterings that vote.

    Feature vectors are clustered directly. Images without an encoder are first learned with the instance loss, and the
    parameters of the network and of training apply to them only. docs/METHOD.md describes the method.

    Parameters
    ----------
    encoder : str, torch.nn.Module or None, default="auto"
        A pretrained encoder, whose features are clustered: "efficientnet-lite0", "hf:NAME_OR_FOLDER", "timm:NAME", the
        folder of a run, or a module. "auto" uses the first for photographs of 20 px and more if it is installed,
        unless a backbone is chosen; "none" uses none.
    prior : {"auto", "even", "free"} or float, default="auto"
        Whether clusters of similar sizes are favoured ("even") or not ("free"); "auto" decides by the data. Images:
        also a number from 0 ("free") to 1 ("even").
    members : int or "auto", default="auto"
        Images: the number of members that vote; "auto" is 6.
    scale : {"auto", "standard", "l2", "none"}, default="auto"
        How feature vectors are scaled; see :class:`CC`. "auto" is "standard" up to 64 features, else "none".
    epochs : int or "auto", default="auto"
        Images: of the instance loss. "auto" is about 300 steps, in 4 to 200 epochs.
    guided_epochs : int or "auto", default="auto"
        Images: of the stage that the first clusters guide. "auto" is about 80 steps, in 1 to 40 epochs.
    batch_size : int, default=128
        Images: of both stages.
    lr : float, default=0.002
        Images: of both stages.

    Attributes
    ----------
    quality_ : dict
        The estimated accuracy and its interval, the prior, and a comparison with k-means; no labels are involved. The
        mean confidence is the estimated accuracy.
    start_labels_ : ndarray [n]
        Images: the clusters that guided the second stage.
    network_ : VectorHead or ClusterNet

    References
    ----------
    Fern, Brodley. Solving cluster ensemble problems by bipartite graph partitioning. ICML 2004. Fred, Jain. Combining
    multiple clusterings using evidence accumulation. PAMI 2005. Coifman, Lafon. Diffusion maps. ACHA 2006. McInnes,
    Healy, Melville. UMAP. arXiv 1802.03426. Shi, Malik. Normalized cuts and image segmentation. PAMI 2000. Sadeghi,
    Hojjati, Armanfard. C3: Cross-instance guided contrastive clustering. BMVC 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from c3clust import Consensus
    >>> consensus = Consensus(n_clusters=3, random_state=0).fit(load_wine().data)
    >>> consensus.labels_.shape, sorted(consensus.quality_)[:2]
    ((178,), ['agreement', 'comparison'])
    """

    encoder: Any = "auto"
    prior: float | str = "auto"
    members: int | str = "auto"
    epochs: int | str = "auto"
    guided_epochs: int | str = "auto"
    batch_size: int = 128
    lr: float = 2e-3

    chooses_k: ClassVar[bool] = True

    def _check_params(self) -> None:
        if self.prior not in PRIORS:
            checks.number(
                "prior", self.prior, 0, 1, why='it is an exponent. Usual values are "auto", "even" and "free".'
            )
        if self.members != "auto":
            checks.whole("members", self.members, why='it is the number of members that vote. "auto" is 6.')
        if self.guided_epochs != "auto":
            checks.whole("guided_epochs", self.guided_epochs, 0, why='it is the number of passes. "auto" sets it.')
        self._check_network()
        self._check_stage()

    def _input_options(self) -> InputOptions:
        """Columns with different units are standardised; embeddings are not, which would distort distances."""
        return replace(super()._input_options(), standardise=NARROW)

    def _build_network(self, shape: tuple[int, ...]) -> nn.Module:
        if len(shape) == 1:
            return VectorHead(self.n_clusters_, shape[0])
        return self._cluster_net(shape)

    def _cluster_net(self, shape: tuple[int, ...]) -> ClusterNet:
        f, width = backbone(self.backbone, shape, self.stem)
        network = ClusterNet(f, width, self.projection_dim, self.n_clusters_)
        network.temperature = torch.ones(())
        return network

    def _stages(self, context: TrainingContext) -> list[Stage]:
        if len(context.shape) == 1:
            return []
        first = self._epochs(context, 300, 4, 200)
        second = self._epochs(context, 80, 1, 40, "guided_epochs")
        return [self._stage("instance", first), self._stage("guided", second)]

    def _fit(self, context: TrainingContext) -> nn.Module:
        return self._fit_vectors(context) if len(context.shape) == 1 else self._fit_images(context)

    def _regroup(self, context: TrainingContext, network: nn.Module) -> nn.Module:
        """Another partition of the same vectors; or another head on the features that were learned from images."""
        if len(context.shape) == 1:
            return self._fit_vectors(context)
        new = context.build(self._cluster_net)
        learned = {name: t for name, t in network.state_dict().items() if not name.startswith(("g_c.", "temperature"))}
        new.load_state_dict(learned, strict=False)
        found = assign_neighbours(new, context, self.prior, self.members)
        fit_head(new, found.h, found.labels, context, steps=1000)  # f does not follow here, as it does in stage 2
        new.temperature = calibration(new, found, context)
        self.quality_ = found.quality.plain()
        return new

    def _fit_vectors(self, context: TrainingContext) -> VectorHead:
        """A partition of the feature vectors."""
        if self.prior not in PRIORS:
            raise InputError(
                f'prior={self.prior!r}: a number is for images without an encoder. Feature vectors take "auto", "even" '
                'or "free".'
            )
        started = time.perf_counter()
        log.info("Stage partition: %d of %d samples.", min(len(context.x), MOST), len(context.x))
        x = context.pixels() if len(context.x) <= MOST else context.lazy_pixels()
        self._choose_clusters(x, context)
        network, quality = fit_vectors(
            x,
            self.n_clusters_,
            scaled=self._common_scale,
            prior=str(self.prior),
            seed=context.seed,
            doubt=0.0 if self.choice_ is None else self.choice_.log_error,
        )
        self.quality_ = quality.plain()
        context.stages.append(
            {"name": "partition", "epochs": 0, "seconds": time.perf_counter() - started, "curves": {}}
        )
        return network.to(context.device)

    def _fit_images(self, context: TrainingContext) -> ClusterNet:
        """The instance loss, then the clusters of the graph of neighbours, which guide the features."""
        first, second = self._stages(context)
        network = context.build(self._cluster_net)
        context.train(first, network, InstanceObjective(self.tau_i))
        self._choose_head(network, context)
        found = assign_neighbours(network, context, self.prior, self.members)
        self.start_labels_ = found.labels.numpy()
        self.start_stage_ = len(context.stages) - 1
        context.train(second, network, GuidedObjective(found.labels, found.confidence, self.tau_i))
        found = assign_neighbours(network, context, self.prior, self.members)
        network.temperature = calibration(network, found, context)
        self.quality_ = found.quality.plain()
        return network
