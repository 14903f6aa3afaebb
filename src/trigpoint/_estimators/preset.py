"""Pipeline of the paper, exactly as published."""

from typing import Any

from trigpoint._estimators.eigenmaps import LaplacianEigenmaps
from trigpoint._graphs import KNNGraph
from trigpoint._samplers import EfficientDPP


def as_published(
    n_components: int,
    n_landmarks: int,
    m: int,
    sigma: float,
    n_neighbors: int,
    *,
    bhattacharyya: bool = True,
    covariance: str = "full",
    random_state: Any = None,
) -> LaplacianEigenmaps:
    """Configure `LaplacianEigenmaps` as in the paper, with nothing added by this library.

    Landmarks are drawn from all rows by Algorithm 2 with the Welsch function. Each is linked to its
    nearest landmarks, even if the relation is not mutual. Weights are Gaussian with the single
    bandwidth `sigma`. The coordinates are the leading eigenvectors, and other points are embedded
    by the formula of section 4.1.

    Parameters
    ----------
    n_components : int
        Number of coordinates, l.
    n_landmarks : int
        Number of landmarks, k.
    m : int
        Number of nearest neighbors of a landmark, including itself, that it repels and from which
        its local covariance is estimated.
    sigma : float
        Bandwidth of the repulsion, of the weights, and of the extension.
    n_neighbors : int
        Number of neighbors of each landmark in the graph.
    bhattacharyya : bool, default=True
        Whether neighbors are found by Bhattacharyya distance or by Euclidean distance.
    covariance : {"full", "diag"}, default="full"
        Type of the local covariances. The paper uses diagonal ones for images.
    random_state : None, int, RandomState or Generator, default=None
        Seed for the landmarks.

    Returns
    -------
    LaplacianEigenmaps
        The unfitted estimator.

    Notes
    -----
    The paper leaves three details open. Here, a disconnected graph is joined by the shortest edges
    between its components; covariances are made invertible by `KNNGraph`'s default ``ridge``; and
    `transform` extends the landmarks like any other points. Other extensions of this library divide
    by ``1 - lambda`` instead of ``lambda``.

    References
    ----------
    C. Wachinger and P. Golland, "Diverse landmark sampling from determinantal point processes for
    scalable manifold learning", 2015.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_fish_bowl(3000, random_state=0)
    >>> emb = tp.as_published(2, 200, m=60, sigma=0.5, n_neighbors=10, random_state=0)
    >>> emb.fit_transform(X).shape
    (3000, 2)
    """
    metric = "bhattacharyya" if bhattacharyya else "euclidean"
    return LaplacianEigenmaps(
        n_components,
        landmarks=EfficientDPP(n_landmarks, n_neighbors=m, bandwidth=sigma, pool=None),
        graph=KNNGraph(
            n_neighbors, metric=metric, link="any", covariance=covariance, bandwidth=sigma
        ),
        eigenvectors="leading",
        extension="published",
        random_state=random_state,
    )
