"""ClusterCount: the number of clusters of an estimator, given or found."""

from typing import Any, ClassVar

import numpy as np

from c3clust import checks, dist
from c3clust.errors import InputError
from c3clust.features.n_clusters import Choice, Tree, choose_k, cluster_tree
from c3clust.networks import ClusterNet
from c3clust.training import TrainingContext

__all__ = ["ClusterCount"]

WHY = 'it is the number of clusters. Give at least 1, or "auto", which estimates it.'


class ClusterCount:
    """What an estimator knows about its number of clusters. The methods that can find it set `chooses_k`."""

    chooses_k: ClassVar[bool] = False

    n_clusters: int | str
    preprocessor_: Any
    choice_: Choice | None
    tree_: Tree | None

    @property
    def n_clusters_(self) -> int:
        """The number of clusters: the parameter, or the number that `fit` has estimated; 1 before that."""
        if not isinstance(self.n_clusters, str):
            return int(self.n_clusters)
        choice = getattr(self, "choice_", None)
        return 1 if choice is None else choice.chosen

    @property
    def _common_scale(self) -> bool:
        """Whether the features have a common scale, so that their lengths matter."""
        encoder = self.preprocessor_.encoder
        return self.preprocessor_.standardised or (encoder is not None and encoder.scaled)

    def _check_n_clusters(self, name: str) -> None:
        """Check the parameter of the method `name`, and forget an earlier choice."""
        self.choice_, self.tree_ = None, None
        if self.n_clusters != "auto":
            checks.whole("n_clusters", self.n_clusters, why=WHY)
        elif not self.chooses_k:
            raise InputError(
                f'n_clusters="auto" is not possible with {name}: give a number (-k), or use consensus, c3, '
                "c3_adaptive, cc, kmeans, ac, sc or nmf, which can estimate it."
            )

    def _choose_clusters(self, x: np.ndarray, context: TrainingContext) -> None:
        """n_clusters="auto": estimate the number of clusters of the features x [n, F], unless it is known."""
        if self.n_clusters == "auto" and self.choice_ is None:
            self.choice_ = dist.of_first(lambda: choose_k(x, scaled=self._common_scale, seed=context.seed))
            context.notes.append(self.choice_.reason)

    def _choose_head(self, network: ClusterNet, context: TrainingContext) -> None:
        """n_clusters="auto": find the number of clusters of the features learned so far, and give g_C that many."""
        if self.n_clusters == "auto" and self.choice_ is None:
            self._choose_clusters(context.features(network)[1].numpy(), context)
            network.set_clusters(self.n_clusters_, context.seed)

    def _build_tree(self, z: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Where the number was found: which of the clusters `labels` [n] of z [n, D] are next to merge and to split."""
        if self.choice_ is not None:
            self.tree_ = dist.of_first(lambda: cluster_tree(z, labels, seed=seed))

    def _choice_plain(self) -> dict[str, Any] | None:
        """How the number of clusters was found, and the tree of the clusters."""
        if self.choice_ is None or self.tree_ is None:
            return None
        return self.choice_.plain() | self.tree_.plain()
