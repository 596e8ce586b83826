"""Cluster feature vectors, such as the embeddings of another model, and compare with k-means.

python examples/vectors.py --clusters 10
"""

import argparse

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from c3clust import Consensus, acc

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--clusters", type=int, default=10)
chosen = parser.parse_args()

digits = load_digits()
features = PCA(32, random_state=0).fit_transform(digits.data / 16).astype(np.float32)  # [n, 32]: put your own here

consensus = Consensus(n_clusters=chosen.clusters, random_state=0).fit(features)
kmeans = KMeans(chosen.clusters, n_init=10, random_state=0).fit(features)
estimate = consensus.quality_["estimated_accuracy"]

print(f"k-means:   accuracy {acc(digits.target, kmeans.labels_):.3f}")
print(f"Consensus: accuracy {acc(digits.target, consensus.labels_):.3f}, estimated without labels {estimate:.3f}")
print(f"the first five vectors again: {consensus.predict(features[:5])}")
