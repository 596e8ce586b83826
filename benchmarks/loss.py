"""Time and memory of the one-pass losses against the plain formulas, as Markdown.

    python benchmarks/loss.py [--quick] [--threads 1 2]

Times are forward + backward on the CPU, float32, D = 128: the best of several rounds in which all take turns.
"Bare products" is z zᵀ and G z and nothing else. Memory is the growth of a fresh process's peak resident size (VmHWM of
Linux; ru_maxrss would count the parent's) by one forward + backward, after a tiny one has loaded the libraries.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from c3clust import onepass

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
    return onepass.c3_loss(z_a, z_b, ZETA, GAMMA)


def onepass_instance_loss(z_a: Tensor, z_b: Tensor) -> Tensor:
    return onepass.instance_loss(z_a, z_b, TAU_I)


LOSSES = {f.__name__: f for f in (plain_c3_loss, onepass_c3_loss, plain_instance_loss, onepass_instance_loss)}


def embeddings(views: int) -> tuple[Tensor, Tensor]:
    """Two views of ten blobs on the sphere."""
    torch.manual_seed(0)
    x = 0.8 * torch.randn(10, D)[torch.randint(0, 10, (views // 2,))] + torch.randn(views // 2, D)
    z_a, z_b = (F.normalize(x + 0.3 * torch.randn_like(x), dim=1) for _ in range(2))
    return z_a.requires_grad_(), z_b.requires_grad_()


def best_times(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each, in milliseconds; all take turns, so that a busy moment hits them alike."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds + 1):  # the first round warms up
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def time_table(threads: int, rounds: int) -> None:
    torch.set_num_threads(threads)
    for views in (256, 1024, 4096):
        z_a, z_b = embeddings(views)
        z = torch.cat([z_a, z_b]).detach()

        def forward_backward(loss: Callable[[Tensor, Tensor], Tensor], a: Tensor = z_a, b: Tensor = z_b) -> None:
            torch.autograd.grad(loss(a, b), [a, b])

        candidates = {name: lambda f=f, go=forward_backward: go(f) for name, f in LOSSES.items()}
        candidates["bare"] = lambda z=z: (z @ z.T) @ z
        t = best_times(candidates, rounds if views < 4096 else max(3, rounds // 3))
        for kind in ("c3_loss", "instance_loss"):
            plain, ours, bare = t[f"plain_{kind}"], t[f"onepass_{kind}"], t["bare"]
            print(
                f"| {kind} | {views} | {threads} | {plain:.1f} | {ours:.1f} | {bare:.1f} "
                f"| {plain / ours:.1f}× | {ours / bare:.2f}× |"
            )


def peak_memory(name: str, views: int) -> float:
    """Growth of the peak resident size in MB, in a process of its own."""
    command = [sys.executable, __file__, "--child", name, str(views)]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def peak_resident() -> int:
    """Peak resident size of this process in kB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def child(name: str, views: int) -> None:
    z_a, z_b = embeddings(views)
    torch.autograd.grad(LOSSES[name](z_a[:64], z_b[:64]), [z_a, z_b])
    before = peak_resident()
    torch.autograd.grad(LOSSES[name](z_a, z_b), [z_a, z_b])
    print(json.dumps((peak_resident() - before) / 1024))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, memory at 4096 views instead of 16384")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child[0], int(arguments.child[1]))
    print("| loss | views 2N | threads | plain ms | one-pass ms | bare products ms | faster | of bare products |")
    print("|---|---|---|---|---|---|---|---|")
    for threads in arguments.threads:
        time_table(threads, rounds=5 if arguments.quick else 20)
    views = 4096 if arguments.quick else 16384
    print(f"\n| loss | peak memory at 2N = {views}: plain MB | one-pass MB | share |\n|---|---|---|---|")
    for kind in ("c3_loss", "instance_loss"):
        plain, ours = peak_memory(f"plain_{kind}", views), peak_memory(f"onepass_{kind}", views)
        print(f"| {kind} | {plain:.0f} | {ours:.0f} | {100 * ours / plain:.1f} % |")


if __name__ == "__main__":
    main()
