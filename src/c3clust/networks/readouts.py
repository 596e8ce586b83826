"""From a learned space to clusters: spherical k-means for unit vectors, centres or neighbours for everything else."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans, MiniBatchKMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

from c3clust import dist

BLOCK = 4096  # stored samples that are compared at a time, in float64
ITERATIONS = 100  # of spherical k-means, at most
PASSES = 10  # of mini-batch k-means over the samples, at most
COMPARED, PER_CLUSTER = 50_000, 50  # samples on which starts of k-means are compared: at least, and per cluster


def spherical_kmeans(z: np.ndarray, n_clusters: int, seed: int, starts: int = 20, shared: bool = False) -> np.ndarray:
    """Unit centres [M, D] of the unit rows z [n, D], from the best of many starts (largest sum of cosines).

    shared: all processes make this call with the same z, share the starts, and get the same centres.
    """
    random = np.random.RandomState(seed)
    z = np.asarray(z, dtype=np.float64)
    best, best_total = None, -np.inf
    for number in range(starts):
        centres, _ = kmeans_plusplus(z, n_clusters, random_state=random)
        if shared and number % dist.world_size() != dist.rank():
            continue
        total = -np.inf
        for _ in range(ITERATIONS):
            s = z @ centres.T  # [n, M] cosines
            labels, before = s.argmax(axis=1), total
            total = s.max(axis=1).sum()
            if total <= before + 1e-9 * len(z):
                break
            centres = _means(z, labels, s, n_clusters)
        if total > best_total:
            best, best_total = centres, total
    if shared:
        best, _ = max(dist.gather_objects((best, best_total)), key=lambda found: found[1])
    assert best is not None
    return best.astype(np.float32)


def shared_kmeans(z: np.ndarray, n_clusters: int, starts: int, seed: int, copy: bool) -> tuple[np.ndarray, float]:
    """Centres [M, D] and inertia of k-means in z [n, D], the best of many starts.

    Above 100,000 samples and 100 per cluster, starts are compared on 50,000 or 50 per cluster; the best continues on
    all samples.
    Several processes, which all have z, share the starts: each draws its own, so other clusters than those of one
    process may be found.
    """
    some, compared = max(COMPARED, PER_CLUSTER * n_clusters), z
    if len(z) > 2 * some:
        compared = z[np.sort(np.random.RandomState(seed).permutation(len(z))[:some])]
    mine = len(range(dist.rank(), starts, dist.world_size()))
    best: tuple[np.ndarray, float] = (np.empty(0), np.inf)
    if mine:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct rows than clusters: `fit` says so
            found = KMeans(n_clusters, n_init=mine, random_state=seed + dist.rank(), copy_x=copy).fit(compared)
        best = found.cluster_centers_, float(found.inertia_)
    best = min(dist.gather_objects(best), key=lambda each: each[1])
    if compared is z:
        return best
    found = KMeans(n_clusters, init=best[0], n_init=1, copy_x=copy).fit(z)
    return found.cluster_centers_, float(found.inertia_)


def nearest(z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The centre with the largest cosine for each unit row: [n]."""
    return (z @ centres.T).argmax(axis=1)


def _means(z: np.ndarray, labels: np.ndarray, s: np.ndarray, n_clusters: int) -> np.ndarray:
    """Unit mean of each cluster; an empty one takes the sample that fits its own cluster least."""
    members = (labels == np.arange(n_clusters)[:, None]).astype(z.dtype)  # [M, n]
    sums = members @ z  # five times faster than np.add.at
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    sums[empty] = z[np.argsort(s.max(axis=1))[: len(empty)]]
    return sums / np.linalg.norm(sums, axis=1, keepdims=True).clip(1e-12)


class Centres(nn.Module):
    """Cluster centres as a network: x -> (flattened x, soft assignment).

    The assignment is DEC's Student-t kernel q_m ~ 1 / (1 + d_m^2 / spread), spread = mean squared distance of the
    training samples to their centre; its argmax is the nearest centre. The centres take part in no training, unless a
    method changes that.
    """

    spread: Tensor

    def __init__(self, n_clusters: int, width: int) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.zeros(n_clusters, width), requires_grad=False)
        self.register_buffer("spread", torch.ones(()))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = x.flatten(1)
        return z, student_t(torch.cdist(z, self.centres).square(), self.spread)  # [N, D], [N, M]

    @torch.no_grad()
    def place(self, z: np.ndarray, starts: int, seed: int, copy: bool = True) -> None:
        """Put the centres where k-means (the best of `starts`) finds them in z [n, D], and set the spread.

        copy: False saves the memory of z, which is then changed by rounding errors.
        """
        centres, inertia = shared_kmeans(z, len(self.centres), starts, seed, copy)
        self.centres.copy_(torch.from_numpy(centres))
        self.spread.fill_(max(inertia / len(z), 1e-12))

    @torch.no_grad()
    def place_in_batches(
        self, read: Callable[[np.ndarray], np.ndarray], n: int, batch: int, starts: int, seed: int
    ) -> int:
        """`place` for n samples of which `read(positions)` gives some, at most `batch` at a time; the passes made.

        Mini-batch k-means (Sculley, WWW 2010) from the centres of a batch, until a pass gains less than 1 in 1,000.
        """
        random, clusters = np.random.RandomState(seed), len(self.centres)
        batch = min(max(batch, 4 * clusters, 1024), n)
        first = read(np.sort(random.permutation(n)[:batch]))
        start = KMeans(clusters, n_init=starts, random_state=seed, copy_x=False).fit(first).cluster_centers_
        found = MiniBatchKMeans(clusters, init=start, n_init=1, batch_size=batch, random_state=seed)
        before, passes = np.inf, 0
        while passes < PASSES:
            order, total = random.permutation(n), 0.0
            for part in np.array_split(order, -(-n // batch)):
                found.partial_fit(read(part))
                total += float(found.inertia_)
            passes += 1
            if total > 0.999 * before:
                break
            before = total
        centres = found.cluster_centers_
        square = 0.0
        for part in np.array_split(np.arange(n), -(-n // batch)):
            rows = read(part)
            square += float(np.square(rows - centres[found.predict(rows)], dtype=np.float64).sum())
        self.centres.copy_(torch.from_numpy(centres))
        self.spread.fill_(max(square / n, 1e-12))
        return passes


def student_t(d2: Tensor, spread: Tensor) -> Tensor:
    """q_m ~ 1 / (1 + d_m^2 / spread), rows sum to 1. d2: [N, M]."""
    q = 1 / (1 + d2 / spread)
    return q / q.sum(dim=1, keepdim=True)


class Centred(nn.Module):
    """A body x -> z of width D with Centres on top: x -> (z, c)."""

    body: Any  # a module; what else it can do is known to the method that made it

    def __init__(self, body: nn.Module, width: int, n_clusters: int) -> None:
        super().__init__()
        self.body = body
        self.readout = Centres(n_clusters, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.readout(self.body(x))


class Neighbours(nn.Module):
    """Labelled samples as a network: x -> (flattened x, soft assignment), for methods that label samples and no more.

    The argmax is the label of the nearest stored sample, so each of them keeps its own label (of equal samples all
    get the same one). The assignment is `student_t` of the squared distance to each cluster's nearest sample.
    float64, since a sample must find itself.
    """

    samples: Tensor
    labels: Tensor
    spread: Tensor

    def __init__(self, n_clusters: int, width: int, n: int = 0) -> None:
        super().__init__()
        self.n_clusters = n_clusters
        self.register_buffer("samples", torch.zeros(n, width))
        self.register_buffer("labels", torch.zeros(n, dtype=torch.int64))
        self.register_buffer("spread", torch.ones((), dtype=torch.float64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = x.flatten(1)
        nearest = z.new_full((len(z), self.n_clusters), torch.inf, dtype=torch.float64)
        for rows, labels in zip(self.samples.split(BLOCK), self.labels.split(BLOCK), strict=True):
            d2 = torch.cdist(z.double(), rows.double()).square()  # [N, BLOCK]
            nearest.scatter_reduce_(1, labels.expand(len(z), -1), d2, "amin")  # [N, M]
        return z, student_t(nearest, self.spread)

    @torch.no_grad()
    def store(self, samples: np.ndarray, labels: np.ndarray) -> None:
        """Keep samples [n, D] and their labels [n]; the spread becomes the mean squared distance to a neighbour."""
        self.samples, self.labels = torch.from_numpy(samples), torch.from_numpy(labels.astype(np.int64))
        distance, _ = NearestNeighbors(n_neighbors=1).fit(samples).kneighbors()
        self.spread.fill_(max(float(np.square(distance).mean()), 1e-12))

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        """Take as many samples as the file holds, once they fit together."""
        samples, labels = state.get(prefix + "samples"), state.get(prefix + "labels")
        if samples is not None and labels is not None:
            known = ((labels >= 0) & (labels < self.n_clusters)).all()
            if samples.ndim != 2 or labels.shape != samples.shape[:1] or not known:
                raise ValueError("the stored samples and their labels do not fit together")
            self.samples = torch.empty(len(samples), self.samples.shape[1], device=self.samples.device)
            self.labels = torch.empty(len(samples), dtype=torch.int64, device=self.labels.device)
        super()._load_from_state_dict(state, prefix, *args)
