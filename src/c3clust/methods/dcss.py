"""DCSS: deep clustering with self-supervision using pairwise similarities.

Sadeghi, Armanfard, 2021, https://arxiv.org/abs/2405.03590
Phase 1 trains an autoencoder whose codes approach the centres of fuzzy c-means. Phase 2 trains a small network on the
codes: pairs that are clearly similar become more similar, clearly dissimilar ones less; the others wait.
Shapes: N samples per batch, D code width, M clusters.

Departures from the released code (Armanfard-Lab/DCSS, Codes/DCSS.py): the losses of all clusters are added up, where
the released code takes a step for each in turn; pairs are averaged over their number, not weighed by 1e-3; Adam
replaces SGD; centres move every epoch; assignments near 0 and 1 are not rounded; the pair network starts from the fuzzy
memberships, where it starts at random there; the autoencoder is not selected by its accuracy against labels.
"""

from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.estimator.base import method_name
from c3clust.losses.terms import full_precision, fuzzy_centres, fuzzy_memberships
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods.dae import PretrainFields
from c3clust.networks.readouts import Centred
from c3clust.training import Adam, Batch, Stage, TrainingContext

__all__ = ["DCSS"]

HIDDEN = 128  # width of the pair network
OWN = 0.25  # fraction of phase 2 after which pairs are chosen by the pair network itself


# 1. Loss


def squared_errors(x: Tensor, x_hat: Tensor) -> Tensor:
    """‖x_i - x̂_i‖² of each sample, the sum over its entries: [N, d], [N, d] -> [N].

    With the mean over d entries, the distances to centres weigh d times as much, and all codes move to one point.
    """
    return (x - x_hat).square().sum(dim=1)


def fuzzy_errors(errors: Tensor, d2: Tensor, p: Tensor, m: float = 1.5) -> Tensor:
    """Σ_k p_ik^m (‖x_i - x̂_i‖² + 0.1 ‖u_i - μ_k‖²) of each sample: errors: [N]; d2, p: [N, M] -> [N]."""
    return (p**m * (errors[:, None] + 0.1 * d2)).sum(dim=1)


def similarity_loss(q: Tensor, s: Tensor, upper: float = 0.8, lower: float = 0.2) -> Tensor:
    """The mean of 1 - q_iᵀq_j over pairs with s_ij > ζ and of q_iᵀq_j over pairs with s_ij < γ.

    q: [N, M], rows sum to 1; s: [N, N], the similarities that choose the pairs, without gradient.
    """
    q = full_precision(q)
    g, similar, dissimilar = q @ q.T, s > upper, s < lower
    chosen = (similar | dissimilar).sum().clamp_min(1)
    return ((1 - g) * similar + g * dissimilar).sum() / chosen


# 2. Objective


class PairNet(nn.Module):
    """An autoencoder with centres (`base`) and the pair network on its code: x -> (code, assignment).

    The logits are those of the fuzzy memberships, -log ‖u - μ_k‖² / (m - 1), plus what `g` adds: 0 at the start.
    """

    def __init__(self, base: Centred, code_dim: int, n_clusters: int, m: float) -> None:
        super().__init__()
        self.base, self.m = base, m
        parts: list[nn.Module] = []
        for inputs in (code_dim, HIDDEN):
            parts += [nn.Linear(inputs, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU()]
        last = nn.Linear(HIDDEN, n_clusters)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.g = nn.Sequential(*parts, last)

    @property
    def body(self) -> Any:
        return self.base.body

    def memberships(self, z: Tensor) -> Tensor:
        """p of fuzzy c-means: [N, D] -> [N, M], rows sum to 1."""
        return fuzzy_memberships(torch.cdist(z, self.base.readout.centres).square(), self.m)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.body(x)
        start = self.memberships(z).clamp_min(1e-12).log()
        return z, torch.softmax(start + self.g(z), dim=1)


class FuzzyObjective:
    """What one step of phase 1 minimises: the mean fuzzy error. The centres move before each epoch."""

    def __init__(self, m: float) -> None:
        self.m = m

    def refresh(self, network: Centred, context: TrainingContext) -> None:
        z, centres = torch.from_numpy(context.projections(network)), network.readout.centres
        p = fuzzy_memberships(torch.cdist(z, centres.cpu()).square(), self.m)
        centres.copy_(fuzzy_centres(z, p, self.m))

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        z = network.body(batch.x_a)
        d2 = torch.cdist(z, network.readout.centres).square()
        errors = squared_errors(network.body.scaled(batch.x_a), network.body.decode(z))
        return {"loss": dist.gather(fuzzy_errors(errors, d2, fuzzy_memberships(d2.detach(), self.m), self.m)).mean()}


class PairObjective:
    """What one step of phase 2 minimises: the loss of clear pairs. Its state is the number of epochs done."""

    def __init__(self, upper: float, lower: float, epochs: int) -> None:
        self.upper, self.lower, self.own_from, self.epoch = upper, lower, round(OWN * epochs), 0

    def refresh(self, network: PairNet, context: TrainingContext) -> None:
        self.epoch += 1

    def state_dict(self) -> dict[str, Tensor]:
        return {"epoch": torch.tensor(self.epoch)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.epoch = int(state["epoch"])

    def optimisers(self, network: PairNet, lr: float) -> dict[str, torch.optim.Optimizer]:
        parts = [{"params": network.g.parameters()}, {"params": network.body.f.parameters(), "lr": 0.01 * lr}]
        return {"loss": Adam(parts, lr=lr)}

    def __call__(self, network: PairNet, batch: Batch) -> dict[str, Tensor]:
        z, q = network(batch.x_a)
        q = dist.gather(q)
        with torch.no_grad():
            chosen = q if self.epoch > self.own_from else network.memberships(dist.gather(z))
            s = chosen @ chosen.T
        clear = ((s > self.upper) | (s < self.lower)).float().mean()
        return {"loss": similarity_loss(q, s, self.upper, self.lower), "clear_pairs": clear}


# 3. Estimator


@final
@parameters
class DCSS(PretrainFields, Clusterer):
    """Cluster with DCSS: fuzzy centres in the code of an autoencoder, then pairs that are clearly alike or not.

    Parameters
    ----------
    upper, lower : float, default=0.8 and 0.2
        Similarity above which a pair is similar (ζ), and below which it is dissimilar (γ).
    fuzziness : float, default=1.5
        m, the exponent of the memberships.
    fuzzy_epochs : int or "auto", default="auto"
        Phase 1, after the autoencoder. "auto" is as many as phase 2 has. The paper: up to 200.
    epochs : int or "auto", default="auto"
        Phase 2. "auto" is about 200 steps, and at least 5 epochs. The paper: 20.

    Attributes
    ----------
    network_ : PairNet
        The autoencoder with its centres (`base`) and the pair network (`g`).

    References
    ----------
    Sadeghi, Armanfard. Deep clustering with self-supervision using pairwise similarities. 2021.
    https://arxiv.org/abs/2405.03590
    """

    upper: float = 0.8
    lower: float = 0.2
    fuzziness: float = 1.5
    fuzzy_epochs: int | str = "auto"
    schedule: str = "constant"

    def _check_params(self) -> None:
        checks.number("upper", self.upper, 0, 1, why="it is compared with a similarity. A usual value is 0.8.")
        checks.number("lower", self.lower, 0, self.upper, why="it is a similarity below `upper`. A usual value is 0.2.")
        checks.number("fuzziness", self.fuzziness, 1.01, why="it is an exponent above 1. A usual value is 1.5.")
        checks.stage(self.fuzzy_epochs, self.batch_size, self.lr, self.schedule, "fuzzy_")
        super()._check_params()

    def _build_network(self, shape: tuple[int, ...]) -> PairNet:  # type: ignore[override]
        return PairNet(super()._build_network(shape), self.code_dim, self.n_clusters_, self.fuzziness)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return fuzzy_stages(self, context)

    def _fit(self, context: TrainingContext) -> PairNet:
        base = fit_fuzzy(self, context)
        network = context.build(lambda shape: PairNet(base, self.code_dim, self.n_clusters_, self.fuzziness))
        last = self._stages(context)[-1]
        objective = PairObjective(self.upper, self.lower, last.epochs)
        context.train(last, network, objective)
        return network


# What DML shares.


def fuzzy_stages(method: Any, context: TrainingContext) -> list[Stage]:
    """The stages of the autoencoder, of its fuzzy centres, and the one named after the method."""
    epochs = method._epochs(context, 200, 5, 100)
    first = epochs if method.fuzzy_epochs == "auto" else method.fuzzy_epochs
    later = [method._stage("fuzzy", first), method._stage(method_name(method), epochs)]
    return [*method._stage_1()._stages(context), *later]


def fit_fuzzy(method: Any, context: TrainingContext) -> Centred:
    """Train the autoencoder, then with its fuzzy centres; keep the clusters that these give."""
    network: Centred = method._stage_1()._fit(context)
    context.train(method._stages(context)[-2], network, FuzzyObjective(method.fuzziness))
    method._keep_start(network, context)
    return network
