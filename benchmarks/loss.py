"""Time and memory of the one-pass losses against the plain formulas, as Markdown.

    python -m benchmarks.loss [--quick]

Times are forward + backward on one thread, float32, D = 128: the best of several rounds in which all take turns.
"Bare products" is z zᵀ and G z and nothing else. Memory is the growth of a fresh process's peak resident size (VmHWM of
Linux; ru_maxrss would count the parent's) by one forward + backward, after a tiny one has loaded the libraries.
"""

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks import harness
from c3clust.losses.onepass import instance_loss
from c3clust.methods.c3.loss import one_pass_c3_loss

ZETA, GAMMA, TAU_I, D = 0.6, 0.1, 0.5, 128


def plain_c3_loss(z_a: Tensor, z_b: Tensor) -> Tensor:
    z = torch.cat([z_a, z_b])
    s = z @ z.T
    index = torch.arange(len(z)) % len(z_a)
    positive = (s >= ZETA) | (index[:, None] == index)
    log_positive = s.masked_fill(~positive, -torch.inf).logsumexp(dim=1)
    log_all = (s + torch.log_softmax(GAMMA * (1 - s.detach().abs()), dim=1)).logsumexp(dim=1)
    return (log_all - log_positive).mean()


def plain_instance_loss(z_a: Tensor, z_b: Tensor) -> Tensor:
    z = torch.cat([z_a, z_b])
    s = (z @ z.T / TAU_I).fill_diagonal_(-torch.inf)
    return F.cross_entropy(s, torch.arange(len(z)).roll(len(z_a)))


def onepass_c3_loss(z_a: Tensor, z_b: Tensor) -> Tensor:
    return one_pass_c3_loss(z_a, z_b, ZETA, GAMMA)


def onepass_instance_loss(z_a: Tensor, z_b: Tensor) -> Tensor:
    return instance_loss(z_a, z_b, TAU_I)


LOSSES = {f.__name__: f for f in (plain_c3_loss, onepass_c3_loss, plain_instance_loss, onepass_instance_loss)}


def embeddings(views: int) -> tuple[Tensor, Tensor]:
    """Two views of ten blobs on the sphere."""
    torch.manual_seed(0)
    x = 0.8 * torch.randn(10, D)[torch.randint(0, 10, (views // 2,))] + torch.randn(views // 2, D)
    z_a, z_b = (F.normalize(x + 0.3 * torch.randn_like(x), dim=1) for _ in range(2))
    return z_a.requires_grad_(), z_b.requires_grad_()


def times(views: int, rounds: int) -> dict[str, float]:
    """Milliseconds of each loss, and of the bare products."""
    z_a, z_b = embeddings(views)
    z = torch.cat([z_a, z_b]).detach()

    def forward_backward(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        torch.autograd.grad(loss(z_a, z_b), [z_a, z_b])

    candidates: dict[str, Callable[[], object]] = {
        name: lambda loss=loss: forward_backward(loss) for name, loss in LOSSES.items()
    }
    candidates["bare"] = lambda: (z @ z.T) @ z
    return harness.best_times(candidates, rounds)


def child(name: str, views: str) -> None:
    z_a, z_b = embeddings(int(views))
    torch.autograd.grad(LOSSES[name](z_a[:64], z_b[:64]), [z_a, z_b])
    before = harness.peak_resident()
    torch.autograd.grad(LOSSES[name](z_a, z_b), [z_a, z_b])
    print(json.dumps((harness.peak_resident() - before) / 1024))


def rows(quick: bool) -> list[harness.Row]:
    found = []
    for kind, title in (("c3_loss", "C3 loss"), ("instance_loss", "instance loss")):
        for views in (1024, 4096):
            t = times(views, 3 if quick else 10)
            plain, ours, bare = t[f"plain_{kind}"], t[f"onepass_{kind}"], t["bare"]
            note = f"{plain:.1f} ms against {ours:.1f} ms"
            figure = f"{title} against the plain formula, 2N = {views}"
            if kind == "c3_loss":
                found.append(harness.at_least(figure, plain / ours, 2.5, note))
            else:
                found.append(harness.Row(figure, "reported", f"{plain / ours:.1f}×", None, note))
            if kind == "c3_loss" and views == 4096:
                note = f"{ours:.1f} ms against {bare:.1f} ms"
                found.append(harness.at_most("C3 loss / bare matrix products, 2N = 4096", ours / bare, 2.5, note))
    return [*found, memory_row(4096 if quick else 16384)]


def memory_row(views: int) -> harness.Row:
    figure = f"peak memory of the C3 loss / plain formula, 2N = {views}"
    if not Path("/proc/self/status").exists():
        return harness.skipped(figure, "≤ 10 %", "only Linux reports the peak")
    plain, ours = (harness.in_process("loss", f"{kind}_c3_loss", views) for kind in ("plain", "onepass"))
    share = 100 * ours / plain
    return harness.Row(figure, "≤ 10 %", f"{share:.1f} %", share <= 10, f"{ours:.0f} MB against {plain:.0f} MB")


if __name__ == "__main__":
    harness.run(rows, __doc__, child)
