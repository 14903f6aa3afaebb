"""The compared methods, each in a small function, set up as their documentation recommends.

A selector takes the points, the number of landmarks and a seed, and returns landmarks. An embedder
takes the points and a seed, and returns two coordinates for every row; a mapper also takes a
metric. Each function imports its peer, so that no process loads a peer that it does not measure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans, kmeans_plusplus
from sklearn.decomposition import PCA
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

import trigpoint as tp


@dataclass(frozen=True)
class Method:
    """A method: its color in plots, the description of its settings, and the function to run."""

    color: str
    setup: str
    run: Callable[..., Any]
    # Number of rows of the call before the measured one, which imports and compiles.
    warm_up_rows: int = 500
    # Maximum number of rows; with more, the method would exceed a limit.
    most_rows: float = np.inf


# Number of warm-up rows for methods that use numba. Which functions are compiled also depends on
# the size of the data: from 4,096 points, umap-learn uses an approximate neighbor search.
COMPILED = 5000


def warm_up(method: Method, X: np.ndarray, *k: int, **options: Any) -> Any:
    """Call a method on a few rows, so that imports and compilation are not measured."""
    rows = X[: method.warm_up_rows]
    return method.run(rows, *(min(count, len(rows) // 10) for count in k), 0, **options)


def setups(table: dict[str, Method]) -> list[str]:
    """Describe the settings of each method, and the number of rows up to which it was run."""
    limits = {
        name: f"; run on up to {method.most_rows:,} rows"
        for name, method in table.items()
        if method.most_rows < np.inf
    }
    return [f"{name}: {method.setup}{limits.get(name, '')}." for name, method in table.items()]


# Landmarks ------------------------------------------------------------------------------------


def _faiss(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    import faiss

    clustering = faiss.Kmeans(X.shape[1], k, seed=seed + 1)
    clustering.train(X)
    return clustering.centroids


def _geosketch(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from fbpca import pca
    from geosketch import gs

    reduced = X
    if X.shape[1] > 100:
        U, s, _ = pca(X, k=100)
        reduced = U * s
    return X[gs(reduced, k, seed=seed, replace=False)]


def _exact_k_dpp(X: np.ndarray, k: int, seed: int, *, bandwidth: float) -> np.ndarray:
    from dppy.finite_dpps import FiniteDPP

    kernel = rbf_kernel(X.astype(np.float64), gamma=1 / (2 * bandwidth**2))
    process = FiniteDPP("likelihood", L=kernel)
    return X[process.sample_exact_k_dpp(size=k, random_state=seed)]


# A star marks methods whose landmarks are means of points, not data points.
SELECTORS = {
    "trigpoint EfficientDPP": Method(
        "#1f77b4",
        "defaults, neighborhoods of m = 4 n/k points unless another m is stated",
        lambda X, k, seed: tp.EfficientDPP(k, random_state=seed).fit(X).landmarks_,
        COMPILED,
    ),
    "trigpoint EfficientDPP, refined": Method(
        "#17becf",
        "`refine=True`, otherwise defaults; the bandwidth of the trace error is not passed",
        lambda X, k, seed: tp.EfficientDPP(k, refine=True, random_state=seed).fit(X).landmarks_,
        COMPILED,
    ),
    "uniform": Method(
        "#7f7f7f",
        "`trigpoint.Uniform`, without replacement",
        lambda X, k, seed: tp.Uniform(k, random_state=seed).fit(X).landmarks_,
    ),
    "scikit-learn KMeans\\*": Method(
        "#d62728",
        "`n_init=1`, otherwise defaults",
        lambda X, k, seed: KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_,
    ),
    "scikit-learn MiniBatchKMeans\\*": Method(
        "#ff9896",
        "defaults",
        lambda X, k, seed: MiniBatchKMeans(k, random_state=seed).fit(X).cluster_centers_,
    ),
    "scikit-learn kmeans++": Method(
        "#2ca02c",
        "`kmeans_plusplus`, defaults",
        lambda X, k, seed: kmeans_plusplus(X, k, random_state=seed)[0],
    ),
    "faiss Kmeans\\*": Method(
        "#9467bd", "defaults, that is 25 iterations on at most 256 points per center", _faiss
    ),
    "geosketch": Method(
        "#8c564b",
        "`gs(replace=False)`; on MNIST after 100 principal components (timed), as in its guide",
        _geosketch,
    ),
    "DPPy exact k-DPP": Method(
        "#e377c2",
        "`FiniteDPP('likelihood').sample_exact_k_dpp`, Gaussian kernel as in the trace error",
        _exact_k_dpp,
        most_rows=60_000,
    ),
}

# Embeddings -----------------------------------------------------------------------------------


def _eigenmaps(X: np.ndarray, seed: int, **options: Any) -> np.ndarray:
    return tp.LaplacianEigenmaps(landmarks=1000, random_state=seed, **options).fit_transform(X)


def _umap(X: np.ndarray, seed: int, metric: str = "euclidean") -> np.ndarray:
    from umap import UMAP

    # A seed would make UMAP single-threaded.
    return UMAP(metric=metric).fit_transform(X)


def _phate(X: np.ndarray, seed: int) -> np.ndarray:
    from phate import PHATE

    return PHATE(random_state=seed, verbose=0).fit_transform(X)


UNSEEDED = "defaults, on all cores and without a seed"

EMBEDDERS = {
    "trigpoint, leading": Method(
        "#08306b",
        '`LaplacianEigenmaps(landmarks=1000, eigenvectors="leading")`, as in the paper',
        lambda X, seed: _eigenmaps(X, seed, eigenvectors="leading"),
        COMPILED,
    ),
    "trigpoint, independent": Method(
        "#17becf",
        "`LaplacianEigenmaps(landmarks=1000)`: its defaults, with independent eigenvectors",
        _eigenmaps,
        COMPILED,
    ),
    "scikit-learn SpectralEmbedding": Method(
        "#7b4173",
        "defaults, that is n/10 neighbors and ARPACK",
        lambda X, seed: SpectralEmbedding(random_state=seed).fit_transform(X),
        most_rows=10_000,
    ),
    "scikit-learn SpectralEmbedding, 15 neighbors": Method(
        "#ce6dbd",
        "`n_neighbors=15`, the default of umap-learn, otherwise defaults",
        lambda X, seed: SpectralEmbedding(n_neighbors=15, random_state=seed).fit_transform(X),
    ),
    "umap-learn": Method("#637939", UNSEEDED, _umap, COMPILED, most_rows=100_000),
    "PHATE": Method("#ff7f0e", "defaults, that is 5 neighbors and 2,000 landmarks", _phate),
}

# Maps -----------------------------------------------------------------------------------------

# Names of the metrics in PaCMAP and TriMap.
_ANGULAR = {"euclidean": "euclidean", "cosine": "angular"}


def _landmark_map(X: np.ndarray, seed: int, metric: str, **options: Any) -> np.ndarray:
    return tp.LandmarkMap(metric=metric, random_state=seed, **options).fit_transform(X)


def _opentsne(X: np.ndarray, seed: int, metric: str) -> np.ndarray:
    from openTSNE import TSNE

    return np.asarray(TSNE(n_jobs=-1, metric=metric, random_state=seed).fit(X))


def _pacmap(X: np.ndarray, seed: int, metric: str) -> np.ndarray:
    from pacmap import PaCMAP

    return PaCMAP(distance=_ANGULAR[metric]).fit_transform(X)


def _trimap(X: np.ndarray, seed: int, metric: str) -> np.ndarray:
    from trimap import TRIMAP

    return TRIMAP(distance=_ANGULAR[metric], verbose=False).fit_transform(X)


def _pca(X: np.ndarray, seed: int, metric: str) -> np.ndarray:
    return PCA(2, random_state=seed).fit_transform(normalize(X) if metric == "cosine" else X)


def _random(X: np.ndarray, seed: int, metric: str) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(len(X), 2))


# Mappers that are run with only one seed.
DETERMINISTIC = ("PCA", "random")

MAPPERS = {
    "LandmarkMap": Method("#1f77b4", "defaults", _landmark_map, COMPILED),
    "umap-learn": Method("#637939", UNSEEDED, _umap, COMPILED),
    "openTSNE": Method("#d62728", "defaults, on all cores", _opentsne, most_rows=100_000),
    "PaCMAP": Method("#ff7f0e", UNSEEDED, _pacmap, COMPILED),
    "TriMap": Method("#9467bd", UNSEEDED, _trimap, COMPILED),
    "PCA": Method("#8c564b", "scikit-learn's, two components", _pca),
    "random": Method("#7f7f7f", "random coordinates, for comparison", _random),
}
# Fewer and more steps than by default, for the curve of preserved neighbors against time.
VARIED = {
    f"LandmarkMap, {n_iter:,} steps": Method(
        "#1f77b4", f"`n_iter={n_iter}`", partial(_landmark_map, n_iter=n_iter), COMPILED, 20_000
    )
    for n_iter in (100, 1000)
}
MAPPERS |= VARIED
