"""K-means on raw pixels or features (Lloyd 1982): scikit-learn's, with the interface of the other methods.

S. Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory 28(2), 1982.
"""

from math import prod
from typing import ClassVar, final

import numpy as np
from torch import nn

from c3clust import checks
from c3clust.features.preprocess import SCALES, InputOptions
from c3clust.methods._base import Clusterer, parameters
from c3clust.networks.readouts import Centres
from c3clust.training import TrainingContext

__all__ = ["KMeans"]


@final
@parameters
class KMeans(Clusterer):
    """Cluster raw pixels or features with k-means: the first baseline.

    All samples are in memory at once, as float32, unless that is above the limit (half of the free memory, or
    `data.load(..., memory=)`): then it is computed in mini-batches (Sculley, WWW 2010), which the record notes.

    Parameters
    ----------
    scale : {"auto", "standard", "l2", "none"}, default="auto"
        How feature vectors are scaled, as in :class:`CC`; "auto" does not scale them.
    n_init : int, default=10
        Starts, of which the best is kept. Above 100,000 samples and 100 per cluster, they are compared on 50,000 of
        them, or 50 per cluster, and the best one continues on all samples.

    References
    ----------
    S. Lloyd. Least squares quantization in PCM. IEEE Transactions on Information Theory 28(2), 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from c3clust.methods.kmeans import KMeans
    >>> a, b, c = KMeans(n_clusters=2, random_state=0).fit_predict(np.array([[0.0], [0.1], [5.0]]))
    >>> bool(a == b != c)
    True
    """

    standardise: ClassVar[float] = 0
    chooses_k: ClassVar[bool] = True

    scale: str = "auto"
    n_init: int = 10

    def _check_params(self) -> None:
        checks.choice("scale", self.scale, SCALES)
        checks.whole("n_init", self.n_init, why="it is the number of starts. A usual value is 10.")

    def _input_options(self) -> InputOptions:
        return InputOptions(self.encoder, self.image_size, self.scale, standardise=self.standardise)

    def _build_network(self, shape: tuple[int, ...]) -> Centres:
        return Centres(self.n_clusters_, int(np.prod(shape)))

    def _fit(self, context: TrainingContext) -> Centres:
        if context.bytes <= context.limit:
            pixels = context.pixels()
            self._choose_clusters(pixels, context)
            network = self._build_network(context.shape)
            network.place(pixels, self.n_init, context.seed, copy=False)
            return network
        n, batch = len(context.x), context.limit // (16 * prod(context.shape))  # a quarter: there is working memory
        some = np.random.default_rng(context.seed).permutation(n)[: max(batch, 1024)]
        self._choose_clusters(context.pixels(np.sort(some)), context)
        network = self._build_network(context.shape)
        passes = network.place_in_batches(context.pixels, n, batch, self.n_init, context.seed)
        context.notes.append(
            f"k-means was computed in mini-batches, in {passes} passes, since all samples as float32 would take "
            f"{context.bytes / 2**20:,.0f} MB, more than the limit of {context.limit / 2**20:,.0f} MB."
        )
        return network

    def _regroup(self, context: TrainingContext, network: nn.Module) -> Centres:
        return self._fit(context)
