"""The clusters on which clusterings of different kinds agree.

Two candidates: the vote of clusterings of all kinds, and the clusters of samples that those put together which let
clusters differ much in size. The second is taken if its silhouette in the features is clearly higher. Columns with
units of their own may follow a Gaussian mixture, and have it as a member; embeddings do not. docs/FOLDERS.md has what
both, and the choice, are worth on data that were left out.

Shapes: n samples, K clusters, M members, L clusters of all members together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_score

from c3clust import dist
from c3clust.consensus.members import average, embeddings, graph_labels, kmeans, merged_labels, mixture
from c3clust.consensus.votes import matched_agreement
from c3clust.features.graph import sorted_neighbours
from c3clust.features.neighbours import nearest_neighbours
from c3clust.features.vectors import smoothed, unit_rows

__all__ = ["Partition", "linked", "partition", "spectral_vote"]

NEIGHBOURS = 25  # of a sample at most
CLEARER = 0.1  # of the silhouette: how much higher it is where clusters of uneven sizes are taken
NARROW = 64  # features that may be columns with units of their own
COMPARED = 2000  # samples of the silhouette
ANCHORS = 3000  # samples whose tree is computed
MANY = 100  # clusters, above which the clearest of few clusterings is taken, since a vote takes long


@dataclass(frozen=True)
class Partition:
    """The clusters, and the clusterings that voted."""

    labels: np.ndarray  # [n]
    members: dict[str, np.ndarray]  # name -> [n]
    even: bool  # whether the vote of all kinds was taken
    near: np.ndarray  # [n, k] neighbours, the nearest first
    n_clusters: int

    def with_labels(self, labels: np.ndarray) -> "Partition":
        """The same members, and other clusters."""
        return replace(self, labels=labels)

    def agreements(self) -> dict[str, float]:
        """For each member the fraction of samples in the same cluster, after matching."""
        return {name: matched_agreement(each, self.labels, self.n_clusters) for name, each in self.members.items()}

    def votes(self) -> np.ndarray:
        """[n, K]: mean over the members of the shares that each cluster of the result has of the member's cluster."""
        one = np.eye(self.n_clusters, dtype=np.float32)[self.labels]
        total = np.zeros_like(one)
        for member in self.members.values():
            inside = np.eye(member.max() + 1, dtype=np.float32)[member]  # [n, k]
            shares = inside.T @ one  # [k, K]
            total += (shares / np.maximum(shares.sum(1, keepdims=True), 1))[member]
        return total / len(self.members)


def partition(x: np.ndarray, z: np.ndarray, K: int, prior: str, seed: int) -> Partition:
    """Cluster the rows z [n, F], which are the features x on the scale of distances.

    prior: "even" takes the vote of all kinds, "free" the clusters of uneven sizes, "auto" chooses.
    """
    near, far = sorted_neighbours(z, nearest_neighbours(z, min(NEIGHBOURS, len(z) - 1)))
    return dist.of_first(lambda: _partition(x, z, near, far, K, prior, seed))


def _partition(
    x: np.ndarray, z: np.ndarray, near: np.ndarray, far: np.ndarray, K: int, prior: str, seed: int
) -> Partition:
    """`partition` with the neighbours near [n, k], at the distances far [n, k]."""
    n, rng = len(z), np.random.default_rng(seed)
    found = embeddings(near, far, K, seed)
    graphs = {f"graph {i}": graph_labels(rows, K, seed) for i, (_, rows) in enumerate(found)}
    if K > MANY:
        own = graphs | {"k-means": kmeans(x, K, seed, n_init=3).labels_}
        some = rng.permutation(n)[:COMPARED]
        return Partition(max(own.values(), key=lambda each: silhouette(z[some], each[some])), own, True, near, K)
    smooth = smoothed(z, near[:, : min(max(n // (2 * K), 3), near.shape[1])])
    merges = [merged_labels(graph, rows, K, seed) for graph, rows in found]
    uneven = linked([each[0] for each in merges], K, rng)
    own = {
        "graph": spectral_vote(list(graphs.values()), K, seed),
        "uneven": uneven,
        "merged": linked([each[1] for each in merges], K, rng),
        "k-means": kmeans(x, K, seed, n_init=10).labels_,
        "smooth k-means": kmeans(smooth, K, seed, n_init=10).labels_,
    }
    if x.shape[1] <= NARROW:
        own["mixture"] = mixture(x, K, seed)
        uneven = linked([uneven, average(smooth, K, rng), own["mixture"]], K, rng)
    voted = spectral_vote(list(own.values()), K, seed)
    clear = prior == "free"
    if prior == "auto":
        some = rng.permutation(n)[:COMPARED]
        least = silhouette(z[some], voted[some])
        clear = silhouette(z[some], uneven[some]) > least + CLEARER * abs(least)
    return Partition(uneven if clear else voted, own, not clear, near, K)


def spectral_vote(labels: Sequence[np.ndarray], K: int, seed: int) -> np.ndarray:
    """[n]: k-means in the spectral embedding of the bipartite graph of samples and clusters.

    Fern, Brodley, Solving cluster ensemble problems by bipartite graph partitioning, ICML 2004. Linear in n.
    """
    one = np.concatenate([np.eye(each.max() + 1, dtype=np.float32)[each] for each in labels], axis=1)  # [n, L]
    one = one[:, one.any(axis=0)]
    one = one / np.sqrt(one.sum(axis=0))
    vectors = np.linalg.eigh((one.T @ one).astype(np.float64))[1][:, -K:]
    return kmeans(unit_rows(one @ vectors.astype(np.float32)), K, seed, n_init=5).labels_


def linked(labels: Sequence[np.ndarray], K: int, rng: np.random.Generator) -> np.ndarray:
    """[n]: average linkage of the fraction of clusterings that put two samples together (Fred, Jain, PAMI 2005).

    Of many samples, some are linked; the others join the cluster whose samples they are together with most often.
    """
    anchors = np.sort(rng.permutation(len(labels[0]))[:ANCHORS])
    together = sum((each[anchors][:, None] == each[anchors]).astype(np.float32) for each in labels) / len(labels)
    own = cut_tree(linkage(squareform(1 - together, checks=False), "average"), K)[:, 0]
    if len(anchors) == len(labels[0]):
        return own
    one, total = np.eye(own.max() + 1, dtype=np.float32)[own], np.zeros((len(labels[0]), own.max() + 1), np.float32)
    for each in labels:
        inside = np.eye(each.max() + 1, dtype=np.float32)[each[anchors]]  # [n', k]
        total += ((inside.T @ one) / one.sum(axis=0))[each]
    found = total.argmax(axis=1)
    found[anchors] = own
    return found


def silhouette(z: np.ndarray, labels: np.ndarray) -> float:
    """Mean silhouette (Rousseeuw 1987); -1 for fewer than two clusters."""
    return float(silhouette_score(z, labels)) if 1 < len(np.unique(labels)) < len(z) else -1.0
