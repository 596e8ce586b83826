"""The runs that the experiments share on a dataset: CC, C3 from that CC, and C3Adaptive from that CC.

Network, views and epochs are those of the dataset's recipe: for the paper's datasets they are the paper's, for small
ones they are budgets for a CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from c3clust import recipes
from c3clust.bench import Job
from c3clust.bench.plan import given_network
from c3clust.bench.rehearsal import Rehearsal
from c3clust.methods.c3 import C3
from c3clust.recipes.resolve import Resolved, resolve

OFF: dict[str, Any] = {"zeta": C3.zeta, "head": "frozen", "settle": 0, "guard": False}
"""C3Adaptive without its changes of stage 2: C3."""
CC_EPOCHS = 60  # of a dataset without a recipe


@dataclass(frozen=True)
class Setting:
    """A dataset and the seeds, with the jobs that the experiments share.

    out: the folder of runs and results. rehearsal: how the jobs are shortened, if they are only tried out.
    methods: those of the table; all if empty. c3_epochs: of stage 2; the paper's.
    """

    data: str = "digits"
    seeds: Sequence[int] = (0, 1, 2)
    out: Path = Path("runs/paper")
    rehearsal: Rehearsal | None = None
    methods: Sequence[str] = ()
    network: str | None = None  # replaces the CC that is trained; "{seed}" in its path is the seed
    c3_epochs: int = 20

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
        """Whether the recipe has the paper's own network and budget."""
        return self.resolved("c3").params.get("backbone") == "resnet34"

    @property
    def batch_size(self) -> int:
        size = int(self.resolved("c3").params.get("batch_size", C3.batch_size))
        return min(size, (self.rehearsal and self.rehearsal.batch) or size)

    def start(self, seed: int, extra: int = 0, name: str = "CC") -> Job:
        """CC; since its rate is constant, `extra` epochs continue the run without them."""
        run = self.resolved("cc")
        params = dict(run.params)
        if self.network is not None:
            params |= given_network(self.network, seed, extra)
        else:
            params["epochs"] = params.get("epochs", CC_EPOCHS) + extra
        after = self.start(seed) if extra else None
        job = Job(run.source, "cc", params, seed, name, options=run.options, after=after)
        return self.shortened(job, 2 if extra else 1)

    def c3(self, seed: int, name: str = "C3", **changes: Any) -> Job:
        """C3 from `start`; `changes` are parameters of stage 2."""
        return self._from_start("c3", seed, name, {"epochs": self.c3_epochs} | changes)

    def adaptive(self, seed: int, name: str = "C3Adaptive", **changes: Any) -> Job:
        """C3Adaptive from `start`, as many epochs as C3 with its last stage; `changes` are parameters of stage 2."""
        return self._from_start("c3_adaptive", seed, name, {"epochs": self.c3_epochs // 2} | changes)

    def _from_start(self, method: str, seed: int, name: str, changes: dict[str, Any]) -> Job:
        run = self.resolved(method)
        stage_2 = {key: value for key, value in run.params.items() if not key.startswith("cc_")}
        return self.shortened(Job(run.source, method, stage_2 | changes, seed, name, self.start(seed), run.options))

    def resolved(self, method: str) -> Resolved:
        """What the recipe means for the method."""
        return resolve(method, self.recipe_name, source=self.data, count_classes=True)

    def shortened(self, job: Job, epochs: int = 1) -> Job:
        """The job, or what is rehearsed of it."""
        return job if self.rehearsal is None else self.rehearsal.shorten(job, epochs)
