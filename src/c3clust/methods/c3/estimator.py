"""The C3 estimator and its objective."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from c3clust import checks
from c3clust.features.preprocess import Preprocessor
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._start import StartFields, learning_rate, started_network
from c3clust.methods.c3.loss import TWINS, c3_loss, positives_per_view
from c3clust.methods.cc import CC
from c3clust.networks import ClusterNet
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["C3", "C3Objective"]


@dataclass(frozen=True)
class C3Objective:
    """What one step of stage 2 minimises over the batch of all processes: L_C3, which trains f and g_I, not g_C."""

    zeta: float
    gamma: float
    twins: str = "always"

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        z_a = network.project(network.encode(batch.x_a))
        z_b = network.project(network.encode(batch.x_b))
        loss = c3_loss(z_a, z_b, self.zeta, self.gamma, self.twins, shared=True)
        positives = positives_per_view(z_a, z_b, self.zeta, self.twins, shared=True)
        return {"loss": loss, "c3_loss": loss, "positives_per_view": positives}


@final
@parameters
class C3(StartFields, Clusterer):
    """Cluster images (or feature vectors) with C3 as published: CC, then cross-instance guidance.

    Stage 2 trains the encoder and the instance head with the C3 loss; labels come from the cluster head of stage 1.

    Parameters
    ----------
    zeta : float, default=0.6
        Cosine from which two views count as positives. The paper: 0.6, and 0.95 for 200 clusters. Too small a value
        merges clusters: then positives per view converge above 2N / n_clusters.
    gamma : float, default=0.1
        Sharpness of the pair weights; 0 weights all pairs equally, as the paper's released code does.
    twins : {"always", "threshold"}, default="always"
        Whether the other view of the same image is always a positive, as in the released code, or only if its cosine
        reaches `zeta`, as in the paper's equation.
    start : CC, C3, path or None, default=None
        Where stage 2 starts: a fitted estimator, the folder of a saved one, with its network, encoder and size of
        images, or a checkpoint of CC's released code (checkpoint_1000.tar). None trains CC first.
    cc_epochs, cc_batch_size, cc_lr, cc_schedule
        Stage 1: `epochs`, `batch_size`, `lr` and `schedule` of :class:`CC`.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 56 steps, in 3 to 20 epochs. The paper: 20.
    batch_size : int, default=128
        Of stage 2; the paper's.
    lr : float or "auto", default="auto"
        Of stage 2. "auto" is the paper's 1e-5 for ResNets and for modules of your own, and 1e-4 for the small networks
        "convnet", "mlp" and "shallow".
    schedule : {"constant", "cosine"}, default="constant"
        Of stage 2; the paper's.

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters before stage 2, CC's.
    network_ : ClusterNet
        The trained f, g_I and g_C.

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

    zeta: float = 0.6
    gamma: float = 0.1
    twins: str = "always"
    cc_epochs: int | str = "auto"
    cc_batch_size: int = 256
    cc_lr: float | str = "auto"
    cc_schedule: str = "constant"
    epochs: int | str = "auto"
    batch_size: int = 128
    lr: float | str = "auto"  # type: ignore[assignment]
    schedule: str = "constant"

    chooses_k: ClassVar[bool] = True

    def _start_kinds(self) -> Mapping[str, type]:
        return {"cc": CC, "c3": C3}

    def _check_params(self) -> None:
        checks.number("zeta", self.zeta, -1, 1, why="it is compared with a cosine similarity. A usual value is 0.6.")
        checks.number("gamma", self.gamma, 0, why="it is the sharpness of weights. A usual value is 0.1.")
        checks.choice("twins", self.twins, TWINS)
        self._check_network()
        checks.stage(self.cc_epochs, self.cc_batch_size, self.cc_lr, self.cc_schedule, prefix="cc_", auto_lr=True)
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule, auto_lr=True)

    def _stage_1(self) -> CC:
        shared = CC().get_params().keys() - {"n_clusters", "random_state", "device", "compile", "verbose", "start"}
        stage = {"epochs", "batch_size", "lr", "schedule"}
        params = {name: getattr(self, f"cc_{name}" if name in stage else name) for name in shared}
        first = CC(self.n_clusters, **params)
        first._prefix = "cc_"
        first.choice_ = getattr(self, "choice_", None)
        first.preprocessor_ = getattr(self, "preprocessor_", Preprocessor())
        return first

    def _stages(self, context: TrainingContext) -> list[Stage]:
        first = self._stage_1()._stages(context) if self.start is None else []
        epochs = self._epochs(context, 56, 3, 20)
        lr = learning_rate(self.lr, self, context.shape, paper=1e-5, small=1e-4)
        return [*first, Stage("c3", epochs, self.batch_size, lr, self.schedule)]

    def _fit(self, context: TrainingContext) -> ClusterNet:
        if self.start is None:
            stage_1 = self._stage_1()
            network = stage_1._fit(context)
            self.choice_ = stage_1.choice_
        else:
            network = started_network(self, self._fitted_start(), context)
        self._keep_start(network, context)
        context.train(self._stages(context)[-1], network, C3Objective(self.zeta, self.gamma, self.twins))
        return network
