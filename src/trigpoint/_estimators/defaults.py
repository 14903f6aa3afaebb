"""What the graph estimators do where a parameter is left open.

A picture and a set of features ask for different things. For the few coordinates of a picture, a
sparse graph follows the shape of the data, and points are placed along it. For many coordinates,
fewer than the data has columns, what counts is how well they replace those: every landmark is
linked to every other by a wide kernel, and supports every point. Those who ask for at least as many
coordinates as there are columns want functions on the data, not less of it; these come from a
sparse graph again. ``experiments/benchmarks/defaults.py`` has the measurements.
"""

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

# Complete graphs up to this many landmarks: 200 MB.
COMPLETE_MAX = 4000


def many_coordinates(n_components: int, n_columns: int) -> bool:
    """Whether the coordinates are meant to replace the columns of the data."""
    return _PICTURE < n_components < n_columns


def default_neighbors(many: bool, dimension: float) -> int:
    """Neighbors of each landmark, from the local dimension of the points.

    `many` says that there are `many_coordinates`.
    """
    if many:
        return _DENSE_NEIGHBORS
    return _SURFACE_NEIGHBORS if dimension <= _SURFACE_DIMENSION else _SPARSE_NEIGHBORS


def default_eigenvectors(n_components: int) -> str:
    """Which eigenvectors become coordinates."""
    return "independent" if n_components <= SHOWN else "leading"
