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

# Neighbors in a sparse graph: where a picture has room for all directions in which points spread,
# and where it has not; the former also if the graph falls into pieces with the latter, and does not
# with these. A surface always counts as having room.
_SURFACE_DIMENSION = 2
ROOMY_NEIGHBORS = 10
_SPARSE_NEIGHBORS = 5
# Neighbors for many coordinates, if a graph of nearest neighbors is asked for.
_DENSE_NEIGHBORS = 200

# Points for each landmark, at least, that a smooth extension is for.
_POINTS_PER_LANDMARK = 2

# Complete graphs up to this many landmarks: 200 MB.
_COMPLETE_MAX = 4000
# Coordinates for each column, at most, that a complete graph is for. With more, fine detail is all
# that is left to tell, and the wide kernel of a complete graph has lost it.
_COMPLETE_PER_COLUMN = 4


def many_coordinates(n_components: int) -> bool:
    """Whether the coordinates are features, more than a picture shows."""
    return n_components > _PICTURE


def links_all_pairs(n_components: int, n_columns: int, k: int) -> bool:
    """Whether the graph for `many_coordinates` of k landmarks has an edge between all pairs."""
    return k <= _COMPLETE_MAX and n_components <= _COMPLETE_PER_COLUMN * n_columns


def default_neighbors(many: bool, n_components: int, dimension: float) -> int:
    """Neighbors of each landmark, from the local dimension of the points.

    `many` says that there are `many_coordinates`.
    """
    if many:
        return _DENSE_NEIGHBORS
    is_roomy = has_room(max(n_components, _SURFACE_DIMENSION), dimension)
    return ROOMY_NEIGHBORS if is_roomy else _SPARSE_NEIGHBORS


def default_extension(
    n_components: int, dimension: float, n_columns: int, points_per_landmark: float
) -> str:
    """How points of a picture get their coordinates, from their local dimension.

    Planes, unless a point varies in more directions than there are coordinates: a plane takes the
    mean over the others, and mixes classes that a mean of the nearest landmarks keeps apart. With
    hardly more points than landmarks there is little to smooth, and coordinates are eigenvectors.
    """
    fits = n_columns <= TREE_MAX_DIMENSION and has_room(n_components, dimension)
    return "smooth" if fits and points_per_landmark >= _POINTS_PER_LANDMARK else "graph"


def has_room(n_components: int, dimension: float) -> bool:
    """Whether there are coordinates for all directions in which points spread."""
    return dimension < n_components + 0.5


def default_eigenvectors(n_components: int) -> str:
    """Which eigenvectors become coordinates."""
    return "independent" if n_components <= SHOWN else "leading"
