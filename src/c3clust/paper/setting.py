"""The runs that the experiments share on a dataset: C3 as published, and C3 with the package's defaults.

"As published" is `recipes.AS_PUBLISHED` with two differences. The learning rates, the batch sizes and the epochs of
stage 1 are those of the dataset's recipe: for the paper's datasets they are the paper's, for small ones they are
budgets for a CPU. The recipe's zeta is used where it has one (Tiny-ImageNet).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from c3clust import recipes
from c3clust.bench import Job
from c3clust.bench.plan import given_network
from c3clust.bench.rehearsal import Rehearsal
from c3clust.recipes import AS_PUBLISHED
from c3clust.recipes.resolve import Resolved, resolve

STAGE_1: dict[str, Any] = {name: AS_PUBLISHED[f"cc_{name}"] for name in ("warmup", "schedule")}
STAGE_2: dict[str, Any] = {
    name: AS_PUBLISHED[name] for name in ("zeta", "gamma", "head", "settle", "readout", "guard", "schedule", "epochs")
}
CC_EPOCHS = 60  # of a dataset without a recipe


@dataclass(frozen=True)
class Setting:
    """A dataset and the seeds, with the jobs that the experiments share.

    out: the folder of runs and results. rehearsal: how the jobs are shortened, if they are only tried out.
    methods: those of the table; all if empty.
    """

    data: str = "digits"
    seeds: Sequence[int] = (0, 1, 2)
    out: Path = Path("runs/paper")
    rehearsal: Rehearsal | None = None
    methods: Sequence[str] = ()
    network: str | None = None  # the start of all, instead of a CC that is trained; "{seed}" in its path is the seed

    @property
    def n_clusters(self) -> int:
        return self.resolved("c3").params["n_clusters"]

    @property
    def recipe_name(self) -> str | None:
        """The recipe c3-DATA, if it exists."""
        name = f"c3-{self.data}".replace("imagenet-10", "imagenet10")
        return name if name in recipes.names() else None

    @property
    def is_paper_size(self) -> bool:
        """Whether the recipe is the paper's own, so that there are no package defaults to compare with."""
        return self.resolved("c3").params.get("head") == AS_PUBLISHED["head"]

    @property
    def batch_size(self) -> int:
        size = int(self.resolved("c3").params.get("batch_size", AS_PUBLISHED["batch_size"]))
        return min(size, (self.rehearsal and self.rehearsal.batch) or size)

    def start(self, seed: int, extra: int = 0, name: str = "CC") -> Job:
        """CC as published; since its rate is constant, `extra` epochs continue the run without them."""
        return self._cc(seed, extra, name, STAGE_1)

    def c3(self, seed: int, name: str = "C3", **changes: Any) -> Job:
        """C3 as published, from `start`; `changes` are parameters of stage 2."""
        given = self.resolved("c3").params
        zeta = {"zeta": given["zeta"]} if "zeta" in given else {}
        return self._c3(seed, name, STAGE_2 | zeta | changes, self.start(seed))

    def default_start(self, seed: int, extra: int = 0, name: str = "CC (default)") -> Job:
        """CC with the package's defaults and the recipe's budget; `extra` epochs more, within one schedule."""
        return self._cc(seed, extra, name, {})

    def default_c3(self, seed: int, name: str = "C3 (default)", **changes: Any) -> Job:
        """C3 with the package's defaults, from `default_start`; `changes` are parameters of stage 2."""
        return self._c3(seed, name, changes, self.default_start(seed))

    def resolved(self, method: str) -> Resolved:
        """What the recipe means for the method."""
        return resolve(method, self.recipe_name, source=self.data, count_classes=True)

    def _cc(self, seed: int, extra: int, name: str, changes: dict[str, Any]) -> Job:
        run = self.resolved("cc")
        params = run.params | changes
        if self.network is not None:
            params |= given_network(self.network, seed, extra)
        elif extra or changes:
            params["epochs"] = params.get("epochs", CC_EPOCHS) + extra
        constant = params.get("schedule") == "constant" and params.get("warmup") == 0
        after = self._cc(seed, 0, name, changes) if extra and constant else None
        job = Job(run.source, "cc", params, seed, name, options=run.options, after=after)
        return self.shortened(job, 2 if extra else 1)

    def _c3(self, seed: int, name: str, changes: dict[str, Any], start: Job) -> Job:
        run = self.resolved("c3")
        stage_2 = {key: value for key, value in run.params.items() if not key.startswith("cc_")}
        return self.shortened(Job(run.source, "c3", stage_2 | changes, seed, name, start, run.options))

    def shortened(self, job: Job, epochs: int = 1) -> Job:
        """The job, or what is rehearsed of it."""
        return job if self.rehearsal is None else self.rehearsal.shorten(job, epochs)
