"""K-means on raw pixels or features (Lloyd 1982): scikit-learn's, with the interface of the other methods.

S. Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory 28(2), 1982.
"""

from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator

from c3clust import checks
from c3clust.estimator import SCALES, Bench, EstimatorMixin
from c3clust.networks.readouts import Centres

__all__ = ["KMeans"]


@final
class KMeans(EstimatorMixin, BaseEstimator):
    """Cluster raw pixels or features with k-means: the first baseline.

    Parameters
    ----------
    n_clusters : int, default=10
    encoder : str, torch.nn.Module or None, default=None
        A pretrained encoder, whose features take the place of the images: as in :class:`CC`.
    scale : {"auto", "standard", "l2", "none"}, default="auto"
        How feature vectors are scaled, as in :class:`CC`; "auto" does not.
    image_size : int, default=None
        Side in pixels at which images are clustered; None keeps their own.
    n_init : int, default=10
        Starts, of which the best is kept.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_, confidence_ : ndarray [n]

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

    standardises = False

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        encoder: Any = None,
        scale: str = "auto",
        image_size: int | None = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.encoder = encoder
        self.scale = scale
        self.image_size = image_size
        self.n_init = n_init
        self.random_state = random_state

    def _check_params(self) -> None:
        checks.choice("scale", self.scale, SCALES)
        checks.whole("n_init", self.n_init, why="it counts starts. A usual value is 10.")

    def _build_network(self, shape: tuple[int, ...]) -> Centres:
        return Centres(self.n_clusters, int(np.prod(shape)))

    def _fit(self, bench: Bench) -> Centres:
        network = self._build_network(bench.shape)
        network.place(bench.pixels(), self.n_init, bench.seed)
        return network
