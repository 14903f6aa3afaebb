"""What the graph estimators do where a parameter is left open.

A picture and a set of features ask for different things. For the few coordinates of a picture, a
sparse graph follows the shape of the data, and points are placed along it. For many coordinates,
what counts is how well they replace the columns of the data: every landmark is linked to every
other by a wide kernel, and supports every point.
"""

from trigpoint._numerics.neighbors import TREE_MAX_DIMENSION

# Coordinates of a picture, at most, and those in which redundant eigenvectors are skipped.
_PICTURE = 5
SHOWN = 3

# Neighbors in a sparse graph: on surfaces, and where points spread in more directions.
_SURFACE_DIMENSION = 3.0
_SURFACE_NEIGHBORS = 10
_SPARSE_NEIGHBORS = 7
# Neighbors if the graph would otherwise fall into pieces, and does not with these.
MOST_NEIGHBORS = 20
# Neighbors for many coordinates, if a graph of nearest neighbors is asked for.
_DENSE_NEIGHBORS = 200

# Points for each landmark, at least, that a smooth extension is for.
_POINTS_PER_LANDMARK = 2

# Complete graphs up to this many landmarks: 200 MB.
COMPLETE_MAX = 4000


def many_coordinates(n_components: int) -> bool:
    """Whether the coordinates are features, more than a picture shows."""
    return n_components > _PICTURE


def default_neighbors(many: bool, dimension: float) -> int:
    """Neighbors of each landmark, from the local dimension of the points.

    `many` says that there are `many_coordinates`.
    """
    if many:
        return _DENSE_NEIGHBORS
    return _SURFACE_NEIGHBORS if dimension <= _SURFACE_DIMENSION else _SPARSE_NEIGHBORS


def default_extension(
    n_components: int, dimension: float, n_columns: int, points_per_landmark: float
) -> str:
    """How points of a picture get their coordinates, from their local dimension.

    Planes, unless a point varies in more directions than there are coordinates: a plane takes the
    mean over the others, and mixes classes that a mean of the nearest landmarks keeps apart. With
    hardly more points than landmarks there is little to smooth, and coordinates are eigenvectors.
    """
    fits = n_columns <= TREE_MAX_DIMENSION and dimension < n_components + 0.5
    return "smooth" if fits and points_per_landmark >= _POINTS_PER_LANDMARK else "graph"


def default_eigenvectors(n_components: int) -> str:
    """Which eigenvectors become coordinates."""
    return "independent" if n_components <= SHOWN else "leading"
