"""IDECF: improved deep embedded clustering with fuzzy supervision.

Sadeghi, Armanfard, ICIP 2021
A small network on the code of an autoencoder gives fuzzy memberships u; it minimises the cost of fuzzy c-means. The
autoencoder is trained so that the Student-t assignments q of its codes approach u.
Shapes: N samples per batch, D code width, M clusters.

Departures from the released code (Armanfard-Lab/IDECF, Code/IDECF.py): both networks take a step in turn with every
batch, where they alternate there by epochs, ten of the membership network to one of the autoencoder; Adam replaces SGD;
q uses the distance ‖z - c‖², as in the paper and in DEC, where the released code adds up one kernel per dimension; the
autoencoder is not selected by its accuracy against labels, as it is there. As there: the divergence is averaged over
the N M entries of q, so that it weighs γ / M relative to the mean over samples, and u moves the codes too.
"""

from collections.abc import Iterator
from typing import Any, final

import torch
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.losses.terms import fuzzy_centres, kl_rows
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.dae import PretrainFields
from c3clust.networks.autoencoder import layers
from c3clust.networks.readouts import Centred, student_t
from c3clust.training import Adam, Batch, Stage, TrainingContext

__all__ = ["IDECF"]

HIDDEN = (100, 200)  # widths of the membership network


# 1. Loss


def fuzzy_cost(z: Tensor, centres: Tensor, u: Tensor, m: float = 1.5) -> Tensor:
    """(1/N) Σ_i Σ_k u_ik^m ‖z_i - c_k‖²: z: [N, D]; centres: [M, D]; u: [N, M], rows sum to 1."""
    return (u**m * torch.cdist(z, centres).square()).sum(dim=1).mean()


def supervision_loss(z: Tensor, centres: Tensor, u: Tensor) -> Tensor:
    """(1/NM) Σ_i KL(u_i ‖ q_i), q_ik ~ 1 / (1 + ‖z_i - c_k‖²): z: [N, D]; centres: [M, D]; u: [N, M]."""
    q = student_t(torch.cdist(z, centres).square(), z.new_ones(()))
    return kl_rows(u, q).mean() / len(centres)


# 2. Objective


class MembershipNet(nn.Module):
    """An autoencoder with centres (`base`) and a membership network on its code: x -> (code, memberships)."""

    def __init__(self, base: Centred, code_dim: int, n_clusters: int) -> None:
        super().__init__()
        self.base, self.g = base, layers([code_dim, *HIDDEN, n_clusters])

    @property
    def body(self) -> Any:
        return self.base.body

    def memberships(self, z: Tensor) -> Tensor:
        """u: [N, D] -> [N, M], rows sum to 1."""
        return torch.softmax(self.g(z), dim=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.body(x)
        return z, self.memberships(z)


class IDECFObjective:
    """What one step minimises: the fuzzy cost by the membership network; then, if `joint`, the autoencoder's loss.

    The centres are the fuzzy means of all codes, computed anew before each epoch.
    """

    def __init__(self, gamma: float, m: float, joint: bool) -> None:
        self.gamma, self.m, self.joint = gamma, m, joint

    def optimisers(self, network: MembershipNet, lr: float) -> dict[str, torch.optim.Optimizer]:
        fast = Adam(network.g.parameters(), lr=10 * lr)
        return {"member": fast, "autoencoder": Adam(network.body.parameters(), lr=lr)}

    def refresh(self, network: MembershipNet, context: TrainingContext) -> None:
        if self.joint:
            z, u = (torch.from_numpy(rows) for rows in context.outputs(network))
            network.base.readout.centres.copy_(fuzzy_centres(z, u, self.m))

    def losses(self, network: MembershipNet, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        z, centres = network.body(batch.x_a), network.base.readout.centres
        codes = dist.gather(z.detach())
        yield "member", fuzzy_cost(codes, centres, dist.gather(network.memberships(z.detach())), self.m)
        if self.joint:
            errors = reconstruction_errors(network.body.scaled(batch.x_a), network.body.decode(z))
            cluster = supervision_loss(dist.gather(z), centres, dist.gather(network.memberships(z)))
            yield "autoencoder", dist.gather(errors).mean() + self.gamma * cluster


# 3. Estimator


@final
@parameters
class IDECF(PretrainFields, Clusterer):
    """Cluster with fuzzy supervision: a membership network that minimises the cost of fuzzy c-means.

    Parameters
    ----------
    gamma : float, default=0.1
        Weight of the clustering loss relative to the reconstruction.
    fuzziness : float, default=1.5
        m, the exponent of the memberships; towards 1 they become certain.
    epochs : int or "auto", default="auto"
        Stages 2 and 3. "auto" is about 200 steps, and at least 5 epochs. The paper: 60 rounds, with 10 of the
        membership network.
    lr : float, default=0.001
        Learning rate of Adam for the autoencoder; the membership network has ten times as much.

    Attributes
    ----------
    network_ : MembershipNet
        The autoencoder with its centres (`base`) and the membership network (`g`).

    References
    ----------
    Sadeghi, Armanfard. IDECF: improved deep embedding clustering with deep fuzzy supervision. ICIP 2021.
    https://github.com/Armanfard-Lab/IDECF
    """

    gamma: float = 0.1
    fuzziness: float = 1.5
    schedule: str = "constant"

    def _check_params(self) -> None:
        checks.number("gamma", self.gamma, 0, why="it is the weight of the clustering loss. A usual value is 0.1.")
        checks.number("fuzziness", self.fuzziness, 1.01, why="it is an exponent above 1. A usual value is 1.5.")
        super()._check_params()

    def _build_network(self, shape: tuple[int, ...]) -> MembershipNet:  # type: ignore[override]
        return MembershipNet(super()._build_network(shape), self.code_dim, self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 200, 5, 200)
        later = [self._stage(name, epochs) for name in ("membership", "idecf")]
        return [*self._stage_1()._stages(context), *later]

    def _fit(self, context: TrainingContext) -> MembershipNet:
        base = self._stage_1()._fit(context)
        network = context.build(lambda shape: MembershipNet(base, self.code_dim, self.n_clusters_))
        self._keep_start(base, context)
        *_, membership, both = self._stages(context)
        context.train(membership, network, IDECFObjective(self.gamma, self.fuzziness, False))
        context.train(both, network, IDECFObjective(self.gamma, self.fuzziness, True))
        return network
