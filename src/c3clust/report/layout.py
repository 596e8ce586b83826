"""The map of z: two coordinates per sample, by t-SNE."""

import warnings

import numpy as np

__all__ = ["layout"]

MIN_TSNE = 12  # points; PCA is as good below
DIMENSIONS = 50
PERPLEXITY = 30.0
MANY = 1500  # points from which fewer steps are enough


def layout(z: np.ndarray, seed: int = 0) -> tuple[np.ndarray, str]:
    """Coordinates [m, 2] in [-1, 1] of z [m, D], and the method: openTSNE if installed, else scikit-learn."""
    z = np.asarray(z, dtype=np.float64)
    z = z - z.mean(axis=0, keepdims=True)
    scale = np.abs(z).max(initial=0.0)
    if len(z) < 3 or scale < 1e-9:
        return _spiral(len(z)), "a spiral: all points are equal"
    flat = _pca(z / scale, seed)
    if len(z) < MIN_TSNE or flat.shape[1] < 2:
        return _fit_square(flat[:, :2]), "PCA"
    points, method = _tsne(flat, seed)
    return _fit_square(points), method


def _pca(z: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.decomposition import PCA

    width = min(DIMENSIONS, *z.shape)
    return PCA(width, random_state=seed, svd_solver="randomized" if min(z.shape) > 500 else "full").fit_transform(z)


def _tsne(z: np.ndarray, seed: int) -> tuple[np.ndarray, str]:
    perplexity = min(PERPLEXITY, (len(z) - 1) / 3)
    start = z[:, :2] / max(z[:, 0].std(), 1e-12) * 1e-4
    try:
        import openTSNE
    except ImportError:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits

        steps = 500 if len(z) > MANY else 750
        tsne = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=seed, max_iter=steps)
        # One thread: its threads wait in busy loops, which is far slower on a machine that does other work too.
        with threadpool_limits(1), warnings.catch_warnings():  # about duplicate points
            warnings.simplefilter("ignore")
            return tsne.fit_transform(z.astype(np.float32)), "t-SNE (scikit-learn)"
    tsne = openTSNE.TSNE(perplexity=perplexity, initialization=start, random_state=seed)
    return np.asarray(tsne.fit(z)), "t-SNE (openTSNE)"


def _fit_square(points: np.ndarray) -> np.ndarray:
    """Centre, and scale both axes equally into [-1, 1]."""
    points = np.nan_to_num(np.asarray(points, dtype=np.float64))
    points = np.pad(points, [(0, 0), (0, 2 - points.shape[1])])
    points = points - (points.max(axis=0) + points.min(axis=0)) / 2
    return (points / max(np.abs(points).max(), 1e-12)).astype(np.float32)


def _spiral(n: int) -> np.ndarray:
    """Distinct positions for points that are all the same."""
    i = np.arange(n)
    radius, angle = np.sqrt((i + 0.5) / max(n, 1)), i * np.pi * (3 - np.sqrt(5))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
