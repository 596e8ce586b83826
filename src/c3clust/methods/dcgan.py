"""DCGAN: a deep convolutional generative adversarial network, then k-means on the features of its discriminator.

Radford, Metz, Chintala, ICLR 2016, https://arxiv.org/abs/1511.06434
A generator produces samples from noise, a discriminator distinguishes them from real ones. The maps of the
discriminator are max-pooled to 4 x 4 places each; k-means runs on all of them.
Shapes: N samples per batch, U noise width, M clusters.

Departures from the paper: the generator enlarges maps by interpolation before each convolution, so that any size of
image works; feature vectors have fully connected networks of the same depth.
"""

from collections.abc import Iterator
from typing import final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.methods._base import Clusterer, TrainingFields, parameters
from c3clust.networks.adversarial import Adversaries
from c3clust.networks.readouts import Centred
from c3clust.training import Adam, Batch, Stage, TrainingContext

__all__ = ["DCGAN"]


# 1. Loss


def adversarial_loss(logits: Tensor, real: bool) -> Tensor:
    """-mean log D for real samples, -mean log(1 - D) for made ones, D the sigmoid of the logits [N]."""
    return F.softplus(-logits if real else logits).mean()


# 2. Objective


class DCGANObjective:
    """What one step minimises: the loss of D on real and made samples, then that of G against the new D."""

    def optimisers(self, network: Centred, lr: float) -> dict[str, torch.optim.Optimizer]:
        parts = {"discriminator": network.body.d, "generator": network.body.g}
        return {name: Adam(part.parameters(), lr=lr, betas=(0.5, 0.999)) for name, part in parts.items()}

    def losses(self, network: Centred, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        body, x = network.body, network.body.scaled(batch.x_a)
        u = dist.random_rows(torch.rand_like, x.new_empty(len(x), body.g.noise_dim))
        made = body.g(2 * u - 1)
        real, fake = dist.gather(body.d.logits(x)), dist.gather(body.d.logits(made.detach()))
        yield "discriminator", adversarial_loss(real, True) + adversarial_loss(fake, False)
        yield "generator", adversarial_loss(dist.gather(body.d.logits(made)), True)


# 3. Estimator


@final
@parameters
class DCGAN(TrainingFields, Clusterer):
    """Cluster with k-means on the features of the discriminator of a generative adversarial network.

    Parameters
    ----------
    width : int, default=32
        Channels of the discriminator's first layer, doubled from layer to layer. The paper: 64.
    noise_dim : int, default=100
        U, the width of the generator's noise.
    n_init : int, default=20
        Starts of k-means.
    epochs : int or "auto", default="auto"
        "auto" is about 300 steps, and at least 10 epochs.
    batch_size : int, default=128
    lr : float, default=0.0002
        Learning rate of Adam, with β1 = 0.5.

    Attributes
    ----------
    network_ : Centred
        Discriminator and generator (`body`) and the centres of the features (`readout`).

    References
    ----------
    Radford, Metz, Chintala. Unsupervised representation learning with deep convolutional generative adversarial
    networks. ICLR 2016. https://arxiv.org/abs/1511.06434

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.dcgan import DCGAN
    >>> x = load_digits().images[:100] / 16
    >>> DCGAN(n_clusters=10, epochs=1, random_state=0).fit(x).predict_proba(x[:2]).shape
    (2, 10)
    """

    width: int = 32
    noise_dim: int = 100
    n_init: int = 20
    batch_size: int = 128
    lr: float = 2e-4
    schedule: str = "constant"

    def _check_params(self) -> None:
        checks.whole("width", self.width, why="it is the number of channels. A usual value is 32.")
        checks.whole("noise_dim", self.noise_dim, why="it is the width of the noise. A usual value is 100.")
        checks.whole("n_init", self.n_init, why="it is the number of k-means starts. A usual value is 20.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        body = Adversaries(shape, self.width, self.noise_dim)
        return Centred(body, body.d.width, self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("dcgan", self._epochs(context, 300, 10, 200))]

    def _fit(self, context: TrainingContext) -> Centred:
        network = context.build(self._build_network)
        context.train(self._stages(context)[0], network, DCGANObjective())
        network.readout.place(context.projections(network), self.n_init, context.seed)
        return network
