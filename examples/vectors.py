"""Cluster feature vectors, such as the embeddings of another model, and compare with k-means.

python examples/vectors.py --epochs 10
"""

import argparse

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from c3clust import C3, acc

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--epochs", type=int, help="epochs per stage; by default chosen from the number of vectors")
parser.add_argument("--clusters", type=int, default=10)
chosen = parser.parse_args()

digits = load_digits()
features = PCA(32, random_state=0).fit_transform(digits.data / 16).astype(np.float32)  # [n, 32]: put your own here

budget = {"cc_epochs": chosen.epochs, "epochs": chosen.epochs} if chosen.epochs else {}
c3 = C3(n_clusters=chosen.clusters, random_state=0, **budget).fit(features)
kmeans = KMeans(chosen.clusters, n_init=10, random_state=0).fit(features)

print(f"k-means: accuracy {acc(digits.target, kmeans.labels_):.3f}")
print(f"C3:      accuracy {acc(digits.target, c3.labels_):.3f}, mean confidence {c3.confidence_.mean():.2f}")
print(f"the first five vectors again: {c3.predict(features[:5])}")
