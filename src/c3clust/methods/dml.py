"""DML: deep multi-representation learning, with an autoencoder of its own for each cluster that is hard to separate.

Sadeghi, Armanfard, 2022, https://github.com/Armanfard-Lab/DML
An autoencoder with fuzzy centres (phase 1 of methods/dcss.py) is trained for all clusters. Clusters whose centres are
close to another one are hard: each of them gets a copy of the autoencoder; the others share one. Each is then trained
on its clusters alone, with fuzzy weights.
Shapes: N samples per batch, D code width, M clusters, A autoencoders.

Departures from the released code (Armanfard-Lab/DML, DML.py): the losses of all clusters are added up, where the
released code takes a step for each in turn. The start is trained here; the released code reads it from a file that was
not released.
"""

import copy
from typing import Any, final

import torch
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.losses.terms import fuzzy_centres, fuzzy_memberships
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods.dae import PretrainFields
from c3clust.methods.dcss import fit_fuzzy, fuzzy_stages, squared_errors
from c3clust.training import Batch, Stage, TrainingContext
from c3clust.training.embed import embed_together

__all__ = ["DML"]


# 1. Loss


def hard_clusters(centres: Tensor) -> Tensor:
    """Whether a cluster has another centre within (d_min + d_max) / 4, of all distances d: [M, D] -> [M] bool."""
    if len(centres) < 2:
        return torch.zeros(len(centres), dtype=torch.bool)
    d = torch.cdist(centres, centres)
    off = d[~torch.eye(len(d), dtype=torch.bool)].view(len(d), -1)
    return off.min(dim=1).values < (off.min() + off.max()) / 4


def weighted_errors(errors: Tensor, d2: Tensor, p: Tensor, m: float = 1.5) -> Tensor:
    """Σ_k p_ik^m (‖x_i - x̂_ik‖² + ‖u_ik - μ_k‖²) of each sample, each cluster with its autoencoder.

    errors, d2, p: [N, M] -> [N].
    """
    return (p**m * (errors + d2)).sum(dim=1)


# 2. Objective


class ManyCodes(nn.Module):
    """Autoencoders, the one that each cluster has, and centres: x -> (code of its cluster, memberships)."""

    owner: Tensor  # [M]
    centres: Tensor  # [M, D]

    def __init__(self, body: nn.Module, n_clusters: int, code_dim: int, m: float) -> None:
        super().__init__()
        self.bodies, self.m = nn.ModuleList([body]), m
        self.register_buffer("owner", torch.zeros(n_clusters, dtype=torch.int64))
        self.register_buffer("centres", torch.zeros(n_clusters, code_dim))

    def divide(self, centres: Tensor) -> None:
        """Give each hard cluster a copy of the first autoencoder."""
        self.centres.copy_(centres)
        for k in hard_clusters(centres.detach().cpu()).nonzero().squeeze(1).tolist():
            self.owner[k] = len(self.bodies)
            self.bodies.append(copy.deepcopy(self.bodies[0]))

    def codes(self, x: Tensor) -> Tensor:
        """The codes of all autoencoders: [N, A, D]."""
        return torch.stack([body(x) for body in self.bodies], dim=1)

    def distances(self, u: Tensor) -> Tensor:
        """‖u_i - μ_k‖² with the code of the autoencoder of each cluster: [N, A, D] -> [N, M]."""
        return (u[:, self.owner] - self.centres).square().sum(dim=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        u = self.codes(x)
        p = fuzzy_memberships(self.distances(u), self.m)
        return u[torch.arange(len(u), device=u.device), self.owner[p.argmax(dim=1)]], p

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        """Create as many autoencoders as the file contains, at most one more than clusters."""
        names = {name.removeprefix(prefix + "bodies.").split(".")[0] for name in state if "bodies." in name}
        owner = state.get(prefix + "owner")
        known = owner is None or bool(((owner >= 0) & (owner < len(names))).all())
        if len(names) > len(self.owner) + 1 or not known:
            raise ValueError("the autoencoders and their clusters do not fit together")
        while len(self.bodies) < len(names):
            self.bodies.append(copy.deepcopy(self.bodies[0]))
        super()._load_from_state_dict(state, prefix, *args)


class DMLObjective:
    """What one step minimises: 0.1 times the mean weighted error. The centres move before each epoch."""

    def refresh(self, network: ManyCodes, context: TrainingContext) -> None:
        def outputs(x: Tensor) -> tuple[Tensor, Tensor]:
            u = network.codes(x)
            return u, fuzzy_memberships(network.distances(u), network.m)

        u, p = map(torch.from_numpy, embed_together(network, context.x, context.size, outputs))
        owner = network.owner.tolist()
        means = [fuzzy_centres(u[:, a], p[:, k : k + 1], network.m)[0] for k, a in enumerate(owner)]
        network.centres.copy_(torch.stack(means))

    def __call__(self, network: ManyCodes, batch: Batch) -> dict[str, Tensor]:
        x, u = batch.x_a, network.codes(batch.x_a)
        each = [squared_errors(b.scaled(x), b.decode(u[:, a])) for a, b in enumerate(network.bodies)]  # type: ignore[operator]
        d2 = network.distances(u)
        p = fuzzy_memberships(d2.detach(), network.m)
        errors = torch.stack(each, dim=1)[:, network.owner]  # [N, M]
        return {"loss": 0.1 * dist.gather(weighted_errors(errors, d2, p, network.m)).mean()}


# 3. Estimator


@final
@parameters
class DML(PretrainFields, Clusterer):
    """Cluster with deep multi-representation learning: autoencoders of their own for clusters that are hard.

    Parameters
    ----------
    fuzziness : float, default=1.5
        m, the exponent of the memberships.
    fuzzy_epochs : int or "auto", default="auto"
        Stage 2, one autoencoder with fuzzy centres. "auto" is as many as stage 3 has.
    epochs : int or "auto", default="auto"
        Stage 3, the divided ones. "auto" is about 200 steps, and at least 5 epochs. The paper: 10.
    lr : float, default=0.00001
        Learning rate of Adam in stages 2 and 3, as in the paper. A copy of the autoencoder that learns fast moves all
        samples to the centre of its own cluster.

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters of the one autoencoder.
    network_ : ManyCodes
        The autoencoders (`bodies`), which of them each cluster has (`owner`), and the centres.

    References
    ----------
    Sadeghi, Armanfard. Deep multi-representation learning for data clustering. 2022.
    https://github.com/Armanfard-Lab/DML
    """

    fuzziness: float = 1.5
    fuzzy_epochs: int | str = "auto"
    lr: float = 1e-5
    schedule: str = "constant"

    def _check_params(self) -> None:
        checks.number("fuzziness", self.fuzziness, 1.01, why="it is an exponent above 1. A usual value is 1.5.")
        checks.stage(self.fuzzy_epochs, self.batch_size, self.lr, self.schedule, "fuzzy_")
        super()._check_params()

    def _build_network(self, shape: tuple[int, ...]) -> ManyCodes:  # type: ignore[override]
        body = self.autoencoder(shape, self.hidden, self.code_dim)
        return ManyCodes(body, self.n_clusters_, self.code_dim, self.fuzziness)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return fuzzy_stages(self, context)

    def _fit(self, context: TrainingContext) -> ManyCodes:
        base = fit_fuzzy(self, context)
        network = ManyCodes(base.body, self.n_clusters_, self.code_dim, self.fuzziness).to(context.device)
        network.divide(base.readout.centres.detach())
        context.train(self._stages(context)[-1], network, DMLObjective())
        return network
