"""AC: agglomerative clustering of raw pixels or features, scikit-learn's.

Gowda, Krishna, Pattern Recognition 10(2), 1978, merge by the ranks of mutual neighbours. A departure, usual in tables
that cite them: Ward's criterion (or average linkage), which does not chain; among neighbours only if samples are many.
"""

import warnings
from typing import ClassVar, final

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.neighbors import kneighbors_graph

from c3clust import checks
from c3clust.methods._base import Clusterer, parameters
from c3clust.networks.readouts import Neighbours
from c3clust.training import TrainingContext

__all__ = ["AC"]

ALL_PAIRS = 10_000  # samples; up to here "auto" compares all pairs: 8 n² / 2 bytes, 400 MB
USUAL_NEIGHBOURS = 20


@final
@parameters
class AC(Clusterer):
    """Cluster raw pixels or features by merging the two nearest groups until `n_clusters` are left.

    The method only labels the samples that it is fitted on: a new sample gets the label of the nearest of them.
    They are therefore part of a saved model, and are all held in memory. The method is deterministic.

    Parameters
    ----------
    linkage : {"ward", "average", "complete", "single"}, default="ward"
        How far apart two groups are.
    n_neighbors : int, None or "auto", default="auto"
        Merge only groups that the graph of this many nearest neighbours connects, which bounds memory; None compares
        all pairs. "auto" is None up to 10,000 samples and 20 above.
    random_state : int, RandomState or None, default=None
        Part of the common interface; it has no effect.

    References
    ----------
    Gowda, Krishna. Agglomerative clustering using the concept of mutual nearest neighbourhood. Pattern Recognition
    10(2), 1978.

    Ward. Hierarchical grouping to optimize an objective function. Journal of the American Statistical Association
    58(301), 1963.

    Examples
    --------
    >>> import numpy as np
    >>> from c3clust.methods.ac import AC
    >>> a, b, c = AC(n_clusters=2).fit_predict(np.array([[0.0], [0.1], [5.0]]))
    >>> bool(a == b != c)
    True
    """

    standardise: ClassVar[float] = 0
    chooses_k: ClassVar[bool] = True

    linkage: str = "ward"
    n_neighbors: int | str | None = "auto"

    def _check_params(self) -> None:
        checks.choice("linkage", self.linkage, ("ward", "average", "complete", "single"))
        if self.n_neighbors not in (None, "auto"):
            checks.whole("n_neighbors", self.n_neighbors, why="it is the number of neighbours. A usual value is 20.")

    def _build_network(self, shape: tuple[int, ...]) -> Neighbours:
        return Neighbours(self.n_clusters_, int(np.prod(shape)))

    def _fit(self, context: TrainingContext) -> Neighbours:
        pixels, k = context.pixels(), self.n_neighbors
        self._choose_clusters(pixels, context)
        if k == "auto":
            k = None if len(pixels) <= ALL_PAIRS else USUAL_NEIGHBOURS
        graph = None if k is None else kneighbors_graph(pixels, min(int(k), len(pixels) - 1))
        merger = AgglomerativeClustering(self.n_clusters_, linkage=self.linkage, connectivity=graph)
        with warnings.catch_warnings():  # a graph in parts is joined where the parts are nearest, as is wanted here
            warnings.filterwarnings("ignore", message="the number of connected components", category=UserWarning)
            labels = merger.fit_predict(pixels)
        network = self._build_network(context.shape)
        network.store(pixels, labels)
        return network
