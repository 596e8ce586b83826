"""What the experiments run on a data set: the paper's method at a size that suits the data, and the package's default.

Network, epochs and rates come from the recipe of the data set. What makes the method the paper's is set on top, where
the recipe departs from it: no warm-up, constant rates, ζ = 0.6, Γ = 0.1, a frozen head, 20 epochs, nothing that stops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from c3clust import recipes
from c3clust.bench import Job
from c3clust.bench.plan import clusters_of, recipe_params

__all__ = ["PAPER", "Setting"]

PAPER: dict[str, Any] = {
    "zeta": 0.6,
    "gamma": 0.1,
    "head": "frozen",
    "settle": 0,
    "readout": "head",
    "guard": False,
    "epochs": 20,
}
EPOCHS = 60  # of CC, where no recipe says


@dataclass(frozen=True)
class Setting:
    """A data set and the seeds, with the jobs that the experiments share."""

    data: str = "digits"
    seeds: Sequence[int] = (0, 1, 2)

    @property
    def n_clusters(self) -> int:
        return clusters_of(self.data)

    @property
    def recipe_name(self) -> str | None:
        """The recipe c3-DATA, where there is one."""
        name = f"c3-{self.data}".replace("imagenet-10", "imagenet10")
        return name if name in recipes.names() else None

    @property
    def recipe(self) -> dict[str, Any]:
        """That recipe, or an empty one."""
        return recipes.load(self.recipe_name) if self.recipe_name else {"method": "c3", "params": {}}

    @property
    def is_paper_size(self) -> bool:
        """Whether the recipe is the paper's own: then there is no default of the package to set beside it."""
        return self.recipe["params"].get("head") == "frozen"

    @property
    def batch_size(self) -> int:
        """Samples in a batch of stage 2."""
        return int(self.recipe["params"].get("batch_size", 128))

    def start(self, seed: int, extra: int = 0, name: str = "CC") -> Job:
        """CC as published; `extra` epochs more go on from where it would have ended, since its rate is constant."""
        params = self.base("cc") | {"warmup": 0, "schedule": "constant"}
        params["epochs"] = params.get("epochs", EPOCHS) + extra
        return Job(self.data, "cc", params, seed, name, options=self._options())

    def c3(self, seed: int, name: str = "C3", **changes: Any) -> Job:
        """C3 as published, from `start`; `changes` are parameters of stage 2."""
        given = self.base("c3")
        stage_1 = {key for key in given if key.startswith("cc_")} - {"cc_warmup"}
        kept = {key: value for key, value in given.items() if key not in stage_1 and key not in PAPER}
        zeta = {"zeta": given["zeta"]} if "zeta" in given else {}  # Tiny-ImageNet has its own
        return Job(self.data, "c3", kept | PAPER | zeta | changes, seed, name, self.start(seed), self._options())

    def default_start(self, seed: int, extra: int = 0, name: str = "CC (default)") -> Job:
        """CC as the package has it, with the recipe's budget; `extra` epochs more, within one schedule."""
        params = self.base("cc")
        if extra:
            params["epochs"] = params.get("epochs", EPOCHS) + extra
        return Job(self.data, "cc", params, seed, name, options=self._options())

    def default_c3(self, seed: int, name: str = "C3 (default)", **changes: Any) -> Job:
        """C3 as the package has it, from `default_start`; `changes` are parameters of stage 2."""
        stage_2 = {key: value for key, value in self.base("c3").items() if not key.startswith("cc_")}
        return Job(self.data, "c3", stage_2 | changes, seed, name, self.default_start(seed), self._options())

    def base(self, method: str) -> dict[str, Any]:
        """What the recipe means for the method, and the number of clusters."""
        return recipe_params(method, self.recipe) | {"n_clusters": self.n_clusters}

    def _options(self) -> dict[str, Any]:
        size = self.recipe["params"].get("image_size")
        return {"image_size": size} if size else {}
