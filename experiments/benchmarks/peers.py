"""The compared methods, each behind one small function.

A selector takes ``(X, k, seed, **options)`` and returns k landmark points; an embedder takes
``(X, seed, **options)`` and returns two coordinates for every row; a mapper does the same, and
returns a function too that places new points in its map. Peers are set up as their
documentation recommends; the docstring says how, and is printed with the results. They are
imported inside their function: no process loads a peer that it does not measure.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import trigpoint as tp

Function = Callable[..., Any]
# Coordinates of the points, and what gives those of new points.
Mapped = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Method:
    """A method and how it is drawn."""

    run: Function
    colour: str
    # Rows of the call before the measured one, which imports and compiles.
    warm_up_rows: int = 500
    # Its landmarks are means of points, and need not be data points.
    centres: bool = False

    @property
    def settings(self) -> str:
        """How it was set up."""
        text = " ".join((self.run.__doc__ or "").split()).rstrip(".")
        return text[:1].lower() + text[1:]


# What numba compiles depends on the size of the data too: umap-learn searches neighbors
# approximately, with other functions, from 4,096 points.
COMPILED = {"warm_up_rows": 5000}

SELECTORS: dict[str, Method] = {}
EMBEDDERS: dict[str, Method] = {}
MAPPERS: dict[str, Method] = {}


def _registrar(table: dict[str, Method]) -> Callable[..., Callable[[Function], Function]]:
    def register(name: str, colour: str, **more: Any) -> Callable[[Function], Function]:
        def add(run: Function) -> Function:
            table[name] = Method(run, colour, **more)
            return run

        return add

    return register


selector, embedder = _registrar(SELECTORS), _registrar(EMBEDDERS)
mapper = _registrar(MAPPERS)


def warm_up(method: Method, X: np.ndarray, *k: int, **options: Any) -> None:
    """Call a method on a few rows, so that imports and compilation are not measured."""
    rows = X[: method.warm_up_rows]
    fewer = [min(count, len(rows) // 10) for count in k]
    # Neighborhoods cannot be larger than the data.
    smaller = {
        name: min(value, len(rows) // 2) if isinstance(value, int) else value
        for name, value in options.items()
    }
    method.run(rows, *fewer, 0, **smaller)


def setups(table: dict[str, Method]) -> list[str]:
    """How each method of a table was set up."""
    return [f"{name}: {method.settings}." for name, method in table.items()]


# Landmarks ----------------------------------------------------------------------------------


@selector("trigpoint EfficientDPP", "#1f77b4", **COMPILED)
def efficient_dpp(X: np.ndarray, k: int, seed: int, **options: Any) -> np.ndarray:
    """Defaults, neighborhoods of m = 4 n/k points unless another m is stated."""
    return tp.EfficientDPP(k, random_state=seed, **options).fit(X).landmarks_


@selector("trigpoint EfficientDPP, refined", "#17becf", **COMPILED)
def refined_dpp(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """`refine=True`, otherwise defaults: it is not told the bandwidth of the error."""
    return tp.EfficientDPP(k, refine=True, random_state=seed).fit(X).landmarks_


@selector("uniform", "#7f7f7f")
def uniform(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """`trigpoint.Uniform`, without replacement."""
    return tp.Uniform(k, random_state=seed).fit(X).landmarks_


@selector("scikit-learn KMeans", "#d62728", centres=True)
def kmeans(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """`n_init=1`, otherwise defaults."""
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_


@selector("scikit-learn MiniBatchKMeans", "#ff9896", centres=True)
def mini_batch_kmeans(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Defaults."""
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, random_state=seed).fit(X).cluster_centers_


@selector("scikit-learn kmeans++", "#2ca02c")
def kmeans_plusplus(X: np.ndarray, k: int, seed: int, **options: Any) -> np.ndarray:
    """`kmeans_plusplus`, defaults."""
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, k, random_state=seed, **options)[0]


@selector("scikit-learn kmeans++, 1 trial", "#98df8a")
def kmeans_plusplus_once(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """`kmeans_plusplus(n_local_trials=1)`."""
    return kmeans_plusplus(X, k, seed, n_local_trials=1)


@selector("faiss Kmeans", "#9467bd", centres=True)
def faiss_kmeans(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Defaults, that is 25 iterations on at most 256 points per centre."""
    import faiss

    clustering = faiss.Kmeans(X.shape[1], k, seed=seed + 1)
    clustering.train(X)
    return clustering.centroids


@selector("geosketch", "#8c564b")
def geosketch(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """`gs(replace=False)`, on MNIST after 100 principal components (timed), as its guide says."""
    from fbpca import pca
    from geosketch import gs

    reduced = X
    if X.shape[1] > 100:
        U, s, _ = pca(X, k=100)
        reduced = U * s
    return X[gs(reduced, k, seed=seed, replace=False)]


@selector("DPPy exact k-DPP", "#e377c2")
def exact_k_dpp(X: np.ndarray, k: int, seed: int, *, bandwidth: float) -> np.ndarray:
    """`FiniteDPP('likelihood').sample_exact_k_dpp`, Gaussian kernel as in the trace error."""
    from dppy.finite_dpps import FiniteDPP
    from sklearn.metrics.pairwise import rbf_kernel

    kernel = rbf_kernel(X.astype(np.float64), gamma=1 / (2 * bandwidth**2))
    process = FiniteDPP("likelihood", L=kernel)
    return X[process.sample_exact_k_dpp(size=k, random_state=seed)]


# Embeddings ---------------------------------------------------------------------------------


@embedder("trigpoint, leading", "#08306b", **COMPILED)
def eigenmaps_leading(X: np.ndarray, seed: int) -> np.ndarray:
    """`LaplacianEigenmaps(landmarks=1000, eigenvectors="leading")`, as in the paper."""
    with warnings.catch_warnings():
        # That the second is a function of the first is what the table shows.
        warnings.simplefilter("ignore", tp.ParameterWarning)
        return eigenmaps(X, seed, eigenvectors="leading")


@embedder("trigpoint, independent", "#17becf", **COMPILED)
def eigenmaps(X: np.ndarray, seed: int, **options: Any) -> np.ndarray:
    """`LaplacianEigenmaps(landmarks=1000)`: its defaults, with independent eigenvectors."""
    return tp.LaplacianEigenmaps(landmarks=1000, random_state=seed, **options).fit_transform(X)


@embedder("scikit-learn SpectralEmbedding", "#7b4173")
def spectral_embedding(X: np.ndarray, seed: int, **options: Any) -> np.ndarray:
    """Defaults, that is n/10 neighbors and ARPACK."""
    from sklearn.manifold import SpectralEmbedding

    return SpectralEmbedding(random_state=seed, **options).fit_transform(X)


@embedder("scikit-learn SpectralEmbedding, 15 neighbors", "#ce6dbd")
def spectral_embedding_sparse(X: np.ndarray, seed: int) -> np.ndarray:
    """`n_neighbors=15`, the number umap-learn takes, otherwise defaults."""
    return spectral_embedding(X, seed, n_neighbors=15)


@embedder("umap-learn", "#637939", **COMPILED)
def umap(X: np.ndarray, seed: int, **options: Any) -> np.ndarray:
    """Defaults, on all cores and without a seed."""
    from umap import UMAP

    return UMAP(**options).fit_transform(X)


@embedder("umap-learn, seeded", "#b5cf6b", **COMPILED)
def umap_seeded(X: np.ndarray, seed: int) -> np.ndarray:
    """`random_state` fixed, which makes it repeatable and single-threaded."""
    return umap(X, seed, random_state=seed, n_jobs=1)


@embedder("PHATE", "#ff7f0e")
def phate(X: np.ndarray, seed: int) -> np.ndarray:
    """Defaults, that is 5 neighbors and 2,000 landmarks."""
    from phate import PHATE

    return PHATE(random_state=seed, verbose=0).fit_transform(X)


# Maps ---------------------------------------------------------------------------------------


@mapper("LandmarkMap", "#1f77b4", **COMPILED)
def landmark_map(X: np.ndarray, seed: int, **options: Any) -> Mapped:
    """Defaults."""
    emb = tp.LandmarkMap(random_state=seed, **options).fit(X)
    return emb.transform(X), emb.transform


@mapper("LandmarkMap, refined", "#17becf", **COMPILED)
def refined_map(X: np.ndarray, seed: int) -> Mapped:
    """`refine=200`."""
    return landmark_map(X, seed, refine=200)


@mapper("umap-learn", "#637939", **COMPILED)
def umap_map(X: np.ndarray, seed: int) -> Mapped:
    """Defaults, on all cores and without a seed."""
    from umap import UMAP

    emb = UMAP()
    return emb.fit_transform(X), emb.transform


@mapper("openTSNE", "#d62728")
def opentsne_map(X: np.ndarray, seed: int) -> Mapped:
    """Defaults, on all cores."""
    from openTSNE import TSNE

    emb = TSNE(n_jobs=-1, random_state=seed).fit(X)
    return np.asarray(emb), lambda new: np.asarray(emb.transform(new))


@mapper("PaCMAP", "#ff7f0e", **COMPILED)
def pacmap_map(X: np.ndarray, seed: int) -> Mapped:
    """Defaults, on all cores and without a seed."""
    from pacmap import PaCMAP

    emb = PaCMAP()
    return emb.fit_transform(X), lambda new: emb.transform(new, basis=X)
