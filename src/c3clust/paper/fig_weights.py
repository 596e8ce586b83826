"""What Γ does: the weight of a pair against its similarity. No runs are needed."""

import torch

from c3clust.bench import Job
from c3clust.methods.c3 import pair_weights
from c3clust.paper.findings import Finding
from c3clust.paper.setting import Setting
from c3clust.paper.style import COLOURS, COLUMN, footer, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, select

ORDER = 11
GAMMAS = (0.1, 1.0, 5.0, 10.0)


def jobs(setting: Setting) -> list[Job]:
    return []


def rows(setting: Setting, results: Results) -> Rows:
    s = torch.linspace(-1, 1, 201, dtype=torch.float64)
    return [
        {"gamma": gamma, "cosine": cosine, "weight": weight}
        for gamma in GAMMAS
        for w in [pair_weights(s[None, :], gamma)[0]]
        for cosine, weight in zip(s.tolist(), (w / w[-1]).tolist(), strict=True)
    ]


def findings(rows: Rows) -> list[Finding]:
    largest = {gamma: max(row["weight"] for row in select(rows, gamma=gamma)) for gamma in distinct(rows, "gamma")}
    ratios = ", ".join(f"Γ = {gamma:g}: {ratio:.3g}" for gamma, ratio in largest.items())
    claim = "pairs near s = 0 weigh more (a formula); at Γ = 0.1 by at most e^0.1 = 1.105"
    return [Finding(claim, f"largest weight / smallest: {ratios}", largest[0.1] < 1.106)]


def draw(rows: Rows) -> Figure:
    figure, (axis,) = panels(1, COLUMN, 2.4)
    for gamma, colour in zip(distinct(rows, "gamma"), COLOURS, strict=False):
        x, y = ([row[name] for row in select(rows, gamma=gamma)] for name in ("cosine", "weight"))
        axis.plot(x, y, color=colour, label=f"Γ = {gamma:g}")
    axis.set(yscale="log", xlabel="cosine of the pair, s", ylabel="weight, relative to s = ±1", xlim=(-1, 1))
    axis.legend(loc="upper right")
    footer(figure, "w = exp(Γ (1 − |s|)), up to its sum")
    return figure
