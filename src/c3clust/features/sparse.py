"""Sparse matrices as dense vectors: a truncated SVD (latent semantic analysis) where there are many features."""

import logging
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import TruncatedSVD

__all__ = ["fit_svd", "reduced"]

WIDTH = 100  # features; a sparse matrix with more is reduced to this many
log = logging.getLogger(__name__)


def fit_svd(x: Any) -> tuple[np.ndarray | None, str | None]:
    """The components [D, F] of a sparse matrix [n, F], and a note; none up to WIDTH features."""
    n, features = x.shape
    width = min(WIDTH, n)
    if features <= WIDTH:
        return None, None
    svd = TruncatedSVD(width, random_state=0).fit(x)
    kept = float(svd.explained_variance_ratio_.sum())
    note = (
        f"The sparse matrix with {features:,} features was reduced to {width} by a truncated SVD, which keeps "
        f"{kept:.0%} of its variance."
    )
    log.info("%s", note)
    return svd.components_, note


def reduced(x: Any, components: np.ndarray | None) -> np.ndarray:
    """Rows [n, F], sparse or dense, as dense vectors [n, D]."""
    if components is not None:
        return np.asarray(x @ components.T.astype(np.float64))
    return x.toarray() if issparse(x) else x
