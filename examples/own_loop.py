"""The losses of C3 in your own training loop: any network, any augmentation, plain PyTorch.

python examples/own_loop.py --steps 200
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn

from c3clust import acc
from c3clust.methods.c3 import c3_loss
from c3clust.methods.cc import cluster_loss, instance_loss

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=400, help="steps of stage 1; stage 2 has a quarter of them")
chosen = parser.parse_args()

torch.manual_seed(0)
digits = load_digits()
x = torch.tensor(digits.data / 16, dtype=torch.float32)  # [n, 64]

f = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
g_i = nn.Linear(256, 64)
g_c = nn.Sequential(nn.Linear(256, 10), nn.Softmax(dim=1))
networks = nn.ModuleList([f, g_i, g_c])


def view(batch: torch.Tensor) -> torch.Tensor:
    """One random view: some values dropped, some noise."""
    return batch * (torch.rand_like(batch) > 0.2) + 0.1 * torch.randn_like(batch)


def project(batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit vectors z [N, 64] and soft assignments c [N, 10] of a view."""
    h = f(view(batch))
    return nn.functional.normalize(g_i(h), dim=1), g_c(h)


def train(steps: int, lr: float, parameters, loss_of) -> float:
    optimizer = torch.optim.Adam(parameters, lr=lr)
    for _ in range(steps):
        batch = x[torch.randint(len(x), (256,))]
        loss = loss_of(*project(batch), *project(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def labels() -> torch.Tensor:
    with torch.no_grad():
        return g_c(f(x)).argmax(dim=1)


# Stage 1, contrastive clustering: views of an image agree, and so do the columns of the assignments.
loss = train(
    chosen.steps,
    1e-3,
    networks.parameters(),
    lambda z_a, c_a, z_b, c_b: instance_loss(z_a, z_b) + cluster_loss(c_a, c_b),
)
print(f"stage 1: loss {loss:.3f}, accuracy {acc(digits.target, labels().numpy()):.3f}")

# Stage 2, C3: all pairs of views that are already close are pulled together. Only f and g_I are trained.
loss = train(
    max(1, chosen.steps // 4),
    1e-5,
    [*f.parameters(), *g_i.parameters()],
    lambda z_a, c_a, z_b, c_b: c3_loss(z_a, z_b, zeta=0.6, gamma=0.1),
)
print(f"stage 2: loss {loss:.3f}, accuracy {acc(digits.target, labels().numpy()):.3f}")
