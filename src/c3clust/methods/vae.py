"""VAE: a variational autoencoder, then k-means on the means of its codes.

Kingma, Welling, ICLR 2014, https://arxiv.org/abs/1312.6114
The encoder gives a normal distribution of codes q(z|x) = N(μ, σ²), the decoder the mean of p(x|z) = N(x̂, v), one
likelihood for pixels and for feature vectors. k-means runs on μ.
Shapes: N samples per batch, d input entries, D code width, M clusters.

A departure from the paper: its decoder gives v too; here v has the value of the largest likelihood of the batch, which
is the mean squared error (Rybkin, Daniilidis, Levine, ICML 2021, https://arxiv.org/abs/2006.13202). With v = 1 the
divergence would empty most of the code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from c3clust import dist
from c3clust.losses.terms import full_precision
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods.ae import ReconstructionFields, fit_autoencoder, reconstruction_errors
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext

__all__ = ["VAE"]


# 1. Loss


def kl_to_standard_normal(mu: Tensor, log_var: Tensor) -> Tensor:
    """KL(N(μ, σ²) ‖ N(0, I)) = -½ Σ (1 + log σ² - μ² - σ²) of each sample: [N, D], [N, D] -> [N]."""
    return -0.5 * (1 + log_var - mu.square() - log_var.exp()).sum(dim=1)


def gaussian_nll(errors: Tensor, d: int) -> Tensor:
    """min_v of the mean -log N(x; x̂, v I), without its constant: (d/2) log((1/N) Σ_i e_i), e_i = ‖x_i - x̂_i‖² / d.

    errors: [N] -> scalar. The least error is 1e-6 (inputs have mean square 1), so that it is finite.
    """
    return 0.5 * d * (full_precision(errors).mean() + 1e-6).log()


# 2. Objective


class VariationalAutoencoder(Autoencoder):
    """An autoencoder whose encoder gives μ and log σ² of the code; `forward` is μ."""

    def __init__(self, shape: tuple[int, ...], hidden: Sequence[int], code_dim: int) -> None:
        super().__init__(shape, hidden, code_dim, code_outputs=2 * code_dim)
        self.code_dim = code_dim

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """μ and log σ² of q(z|x): [N, D] each; the variance stays within e^±10."""
        mu, log_var = self.f(self.scaled(x)).split(self.code_dim, dim=1)
        return mu, log_var.clamp(-10, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.posterior(x)[0]


@dataclass(frozen=True)
class VAEObjective:
    """What one step minimises: minus the evidence lower bound, with one draw of z, over the batch of all processes."""

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        body = network.body
        mu, log_var = body.posterior(batch.x_a)
        z = mu + dist.random_rows(torch.randn_like, mu) * (0.5 * log_var).exp()
        x = body.scaled(batch.x_a)
        nll = gaussian_nll(dist.gather(reconstruction_errors(x, body.decode(z))), x.shape[1])
        kl = dist.gather(kl_to_standard_normal(mu, log_var)).mean()
        return {"loss": nll + kl, "reconstruction_loss": nll, "kl_loss": kl}


# 3. Estimator


@final
@parameters
class VAE(ReconstructionFields, Clusterer):
    """Cluster with k-means on the mean codes of a variational autoencoder.

    Parameters
    ----------
    batch_size : int, default=128
        In short runs on a few hundred samples, smaller batches let the divergence empty the codes.

    References
    ----------
    Kingma, Welling. Auto-encoding variational Bayes. ICLR 2014. https://arxiv.org/abs/1312.6114
    """

    autoencoder: ClassVar[type[Autoencoder]] = VariationalAutoencoder

    batch_size: int = 128

    def _fit(self, context: TrainingContext) -> Centred:
        return fit_autoencoder(self, VAEObjective(), context)
