"""Conversion of a fit to named arrays and back, with consistency checks of arrays from files."""

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_magnitude
from trigpoint._common.records import Fit, LandmarkGraph, Landmarks, Spectrum
from trigpoint._graphs.complete import complete_graph, distances_between

# Maximum number of columns for which full covariances are saved. They take d times the memory of
# the landmarks, and only reports and plots use them.
_COVARIANCES = 16

# Up to this many landmarks, a complete graph (400 MB) is recomputed on loading. With more
# landmarks, or if the extension follows the graph and takes several times that memory, the graph is
# stored, so that loading takes memory in proportion to the size of the file.
MOST_COMPUTED = 4000

# Largest number whose square is finite, and the arrays that hold lengths.
_LARGEST = np.sqrt(np.finfo(np.float64).max)
_LENGTHS = "spectrum.coordinates", "graph.weights.data", "graph.lengths.data", "graph.bandwidths"

_OF_MATRIX = "data", "indices", "indptr"

# Prefix of estimator-specific arrays in the file.
_EXTRAS = "extras."


def as_arrays(fit: Fit, extras: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a fit that a model file stores, including the given `extras`."""
    points = fit.landmarks.points
    arrays = {
        "landmarks.points": points,
        "spectrum.coordinates": fit.spectrum.coordinates,
        "spectrum.eigenvalues": fit.spectrum.eigenvalues,
        **{_EXTRAS + name: array for name, array in extras.items()},
    }
    if fit.landmarks.indices is not None:
        arrays["landmarks.indices"] = fit.landmarks.indices
    covariances = fit.landmarks.covariances
    if covariances is not None and covariances.size <= _COVARIANCES * points.size:
        arrays["landmarks.covariances"] = covariances
    if fit.landmarks.masses is not None:
        arrays["masses"] = fit.landmarks.masses
    if fit.graph is not None:
        if not (_is_computed(len(points), fit.extended_by) and _is_complete(fit.graph, points)):
            for name in ("weights", "lengths"):
                matrix = getattr(fit.graph, name)
                arrays |= {f"graph.{name}.{part}": getattr(matrix, part) for part in _OF_MATRIX}
        arrays["graph.bridges"] = fit.graph.bridges
        arrays["graph.bandwidths"] = fit.graph.bandwidths
    return arrays


def fit_from_arrays(
    arrays: dict[str, np.ndarray], n_features: int, extended_by: str, has_eigenvalues: bool
) -> Fit:
    """Build a fit from arrays, checking their shapes and values against each other."""
    points = arrays["landmarks.points"]
    k = len(points)
    coordinates, eigenvalues = arrays["spectrum.coordinates"], arrays["spectrum.eigenvalues"]
    indices, masses = arrays.get("landmarks.indices"), arrays.get("masses")
    require(points.shape == (k, n_features) and k > 1 and n_features > 0, "landmarks")
    require(coordinates.ndim == 2 and len(coordinates) == k, "coordinates")
    require(coordinates.shape[1] > 0, "coordinates")
    for array in (points, coordinates, eigenvalues):
        require(array.dtype.kind == "f", "types")
    n_eigenvalues = coordinates.shape[1] if has_eigenvalues else 0
    require(eigenvalues.shape == (n_eigenvalues,), "eigenvalues")
    require(indices is None or indices.shape == (k,), "rows")
    if masses is not None:
        require(masses.shape == (k,) and masses.dtype.kind == "f", "masses")
        require(bool((masses > 0).all()), "masses")
    covariances = arrays.get("landmarks.covariances")
    if covariances is not None:
        shapes = (k, n_features), (k, n_features, n_features)
        require(covariances.dtype.kind == "f" and covariances.shape in shapes, "covariances")
    graph = _graph(arrays, points, extended_by)
    # Squares must not overflow: `fit` checked the points, and other lengths have the same scale.
    for name, array in arrays.items():
        require(bool(np.isfinite(array).all()), name)
        is_length = name in _LENGTHS or name.startswith(_EXTRAS)
        require(not is_length or bool((np.abs(array) <= _LARGEST).all()), name)
    check_magnitude(points)
    landmarks = Landmarks(points, indices, covariances=covariances, masses=masses)
    spectrum = Spectrum(coordinates, eigenvalues)
    return Fit(landmarks, spectrum, 0.0, graph, under(arrays, _EXTRAS), extended_by)


def check_division(spectrum: Spectrum) -> None:
    """Reject coordinates that would overflow when the extension divides by the eigenvalues."""
    limits = _LARGEST * np.minimum(spectrum.eigenvalues, 1.0)
    require(bool((np.abs(spectrum.coordinates) <= limits).all()), "eigenvalues")


def _graph(
    arrays: dict[str, np.ndarray], points: np.ndarray, extended_by: str
) -> LandmarkGraph | None:
    if "graph.bandwidths" not in arrays:
        return None
    k = len(points)
    bandwidths, bridges = arrays["graph.bandwidths"], arrays["graph.bridges"]
    require(bandwidths.shape == (k,) and bool((bandwidths > 0).all()), "bandwidths")
    require(bridges.ndim == 2 and bridges.shape[1] == 2, "bridges")
    require(not bridges.size or (bridges.min() >= 0 and bridges.max() < k), "bridges")
    if "graph.weights.data" in arrays:
        weights, lengths = as_csr(arrays, "graph.weights", k), as_csr(arrays, "graph.lengths", k)
        return LandmarkGraph(weights, lengths, bridges, bandwidths)
    require(_is_computed(k, extended_by), "graph")
    return complete_graph(distances_between(points), bandwidths)


def _is_computed(k: int, extended_by: str) -> bool:
    """Return whether a model file leaves out a graph of all pairs."""
    return k <= MOST_COMPUTED and extended_by not in ("smooth", "graph")


def _is_complete(graph: LandmarkGraph, points: np.ndarray) -> bool:
    """Return whether landmarks and bandwidths determine the graph."""
    k = len(points)
    if graph.lengths.nnz < k * (k - 1):
        return False
    again = complete_graph(distances_between(points), graph.bandwidths)
    return np.array_equal(again.weights.data, graph.weights.data)


def as_csr(arrays: dict[str, np.ndarray], name: str, k: int) -> csr_array:
    """Return a sparse (k, k) matrix from its three arrays."""
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in _OF_MATRIX)
    require(indptr.shape == (k + 1,) and indptr[0] == 0 and indptr[-1] == len(indices), name)
    require(bool((np.diff(indptr) >= 0).all()) and data.shape == indices.shape, name)
    # Shortest paths over negative lengths would never end.
    require(data.dtype.kind == "f" and bool((data >= 0).all()), name)
    require(indices.dtype.kind == indptr.dtype.kind == "i", name)
    require(not len(indices) or (indices.min() >= 0 and indices.max() < k), name)
    return csr_array((data, indices, indptr), shape=(k, k))


def under(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with `prefix`, with the prefix removed."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


def require(condition: bool, what: str) -> None:
    """Raise an error about the contents of a file unless the condition is true."""
    if not condition:
        raise ValueError(f"its {what} are inconsistent with the rest")
