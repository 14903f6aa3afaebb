"""Smooth extension, which blends planes fitted at the nearest few landmarks.

A weighted mean of landmarks is flat around each of them, and eigenvectors of an irregular graph
vary erratically from one landmark to the next. In plots, both appear as stripes and specks at the
spacing of the landmarks. A plane fitted to a landmark and its neighbors has the slope that a mean
lacks, and smooths the eigenvectors.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.records import LandmarkGraph
from trigpoint._extension.weighted import FAR_BANDWIDTHS, ordinary_lengths
from trigpoint._neighbors.nearest import ProductSearch, TreeSearch, landmark_search
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, row_blocks

# Maximum number of neighbors to fit a plane to, and bandwidth of their weights in units of their
# median distance. Wider planes flatten details and fold at the border; narrower ones leave more
# texture.
_FITTED = 20
_BANDWIDTH = 0.7

# Number of planes to blend at a point. With three, embeddings fold in a few spots.
SHARING = 5

# Ridge relative to the variance of a landmark's neighbors. Slopes normal to a surface vanish, since
# neighbors hardly vary in that direction; tangential slopes shrink by 2 to 3 %.
_RIDGE = 0.01


@dataclass(frozen=True, eq=False)
class SmoothExtension:
    """Extension of any coordinates of the landmarks by planes.

    ``phi(x) = sum_p share_p(x) (value_p + slope_p . (x - landmark_p))`` over the nearest five
    landmarks, with continuous shares: a share is 0 where another landmark takes over. A plane is
    fitted by least squares to a landmark and its nearest neighbors in the graph, so it adds no
    shortcuts to those of the graph. Landmarks are extended like any other point, so that close
    landmarks cause no dents.

    A plane is level beyond its farthest neighbor, so that coordinates of far points are bounded.
    """

    support: TreeSearch | ProductSearch
    landmarks: np.ndarray  # (k, d), float64.
    planes: np.ndarray  # Slopes, and the value at the landmark (k, l, d + 1).
    reach: np.ndarray  # Distance (k,) from each landmark beyond which its plane is level.
    bandwidths: np.ndarray  # (k,). A point is far if all its landmarks are ten bandwidths away.

    @classmethod
    def prepare(
        cls, landmarks: np.ndarray, graph: LandmarkGraph, coordinates: np.ndarray
    ) -> "SmoothExtension":
        """Prepare the extension of `coordinates` (k, l) from landmarks (k, d) and their graph.

        Planes are fitted by weighted ridge regression on the landmark and its nearest neighbors in
        the graph. Fitting shrinks coordinates, rapidly varying ones most; each coordinate is then
        rescaled as a whole.
        """
        from trigpoint._kernels.landmark_search import nearest_by_path

        landmarks, coordinates = (
            np.ascontiguousarray(array, dtype=np.float64) for array in (landmarks, coordinates)
        )
        k, d = landmarks.shape
        # Follow paths of one or two edges, so that a sparse graph also provides enough neighbors.
        lengths = ordinary_lengths(graph) if len(graph.bridges) else graph.lengths
        nearest, counts = np.empty((k, 1 + _FITTED), dtype=np.int64), np.empty(k, dtype=np.int64)
        nearest_by_path(lengths.indptr, lengths.indices, lengths.data, nearest, counts)
        planes, reach = np.empty((k, coordinates.shape[1], d + 1)), np.empty(k)
        width = nearest.shape[1]
        for part in row_blocks(k, block_rows(8 * width * (d + width))):
            used = np.arange(width) < counts[part, None]
            planes[part], reach[part] = _planes(landmarks, coordinates, nearest[part], used)
        # Least-squares scale from fitted values to coordinates.
        squares = np.einsum("kc,kc->c", planes[:, :, -1], planes[:, :, -1])
        stretch = np.einsum("kc,kc->c", planes[:, :, -1], coordinates)
        planes *= np.where(squares > 0, stretch / np.where(squares > 0, squares, 1.0), 1.0)[:, None]
        support = landmark_search(landmarks, SHARING + 1)
        return cls(support, landmarks, planes, reach, graph.bandwidths)

    @property
    def n_components(self) -> int:
        return self.planes.shape[1]

    @property
    def row_bytes(self) -> int:
        width = self.planes.shape[1] + 1 + self.landmarks.shape[1]
        return self.support.row_bytes + 16 * (SHARING + 1) + 8 * width

    def __call__(self, X: Points) -> tuple[np.ndarray, np.ndarray]:
        from trigpoint._kernels.landmark_search import blended_planes

        count = min(SHARING + 1, len(self.landmarks))
        nearest, squares = self.support.nearest(X, count)
        X = X.toarray() if isinstance(X, csr_array) else X
        X = np.ascontiguousarray(X, dtype=np.float64)
        result, far = np.empty((len(X), self.planes.shape[1])), np.empty(len(X), dtype=bool)
        blended_planes(
            nearest,
            squares,
            X,
            self.landmarks,
            self.planes,
            self.reach,
            FAR_BANDWIDTHS * self.bandwidths,
            result,
            far,
        )
        return result, far


def _planes(
    landmarks: np.ndarray, coordinates: np.ndarray, nearest: np.ndarray, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit planes (b, l, d + 1) to landmarks; return the planes and their reaches.

    Each plane is fitted to the `used` landmarks in a row of `nearest` (b, width), around the first.
    """
    places = landmarks[nearest] - landmarks[nearest[:, :1]]
    lengths = np.sqrt(np.einsum("ijd,ijd->ij", places, places))
    # Median distance of the neighbors. The landmark itself, at distance 0, sorts before them.
    middle = np.sort(np.where(used, lengths, np.inf), axis=1)
    middle = middle[np.arange(len(lengths)), used.sum(axis=1) // 2]
    bandwidths = np.where(middle > 0, _BANDWIDTH * middle, 1.0)
    weights = np.exp((lengths / bandwidths[:, None]) ** 2 / -2) * used
    weights = weights / weights.sum(axis=1, keepdims=True)
    reach = lengths.max(axis=1)
    unit = np.where(reach > 0, reach, 1.0)[:, None, None]
    # Neighbors and their coordinates, relative to their weighted means.
    roots, places, values = np.sqrt(weights)[:, :, None], places / unit, coordinates[nearest]
    center, mean = (np.einsum("ij,ijc->ic", weights, rows) for rows in (places, values))
    around, differences = roots * (places - center[:, None]), roots * (values - mean[:, None])
    # Express slopes as combinations of the neighbors' differences, so that the number of unknowns
    # does not depend on the dimension.
    products = np.einsum("ijd,ihd->ijh", around, around)
    ridge = _RIDGE * np.einsum("ijj->i", products)
    products += np.where(ridge > 0, ridge, 1.0)[:, None, None] * np.eye(nearest.shape[1])
    slopes = np.einsum("ijc,ijd->icd", np.linalg.solve(products, differences), around)
    values = mean - np.einsum("icd,id->ic", slopes, center)
    return np.concatenate([slopes / unit, values[:, :, None]], axis=2), reach
