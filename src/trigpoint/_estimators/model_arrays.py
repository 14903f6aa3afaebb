"""A fit as named arrays, and back; what is read from a file is checked against the rest."""

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_magnitude
from trigpoint._common.records import Fit, LandmarkGraph, Landmarks, Projection, Spectrum
from trigpoint._graphs.complete import complete_graph, distances_between

# Covariances are only for reports and plots. Full ones are saved up to this many dimensions, where
# they hold as many times the numbers of the landmarks.
_COVARIANCES = 16

# A graph of all pairs is left out, and computed again from the landmarks, up to this many of them:
# 400 MB. With more, or if the extension follows the graph, which takes several times that memory,
# it is stored, so that loading takes memory in proportion to the file.
_MOST_COMPUTED = 4000

# Largest number whose square is finite, and arrays of lengths.
_LARGEST = np.sqrt(np.finfo(np.float64).max)
_LENGTHS = "graph.lengths.data", "graph.bandwidths"


def as_arrays(fit: Fit) -> dict[str, np.ndarray]:
    """Return the arrays that a model file stores of a fit."""
    points = fit.landmarks.points
    arrays = {
        "landmarks.points": points,
        "spectrum.coordinates": fit.spectrum.coordinates,
        "spectrum.eigenvalues": fit.spectrum.eigenvalues,
    }
    if fit.landmarks.indices is not None:
        arrays["landmarks.indices"] = fit.landmarks.indices
    covariances = fit.landmarks.covariances
    if covariances is not None and covariances.size <= _COVARIANCES * points.size:
        arrays["landmarks.covariances"] = covariances
    if fit.landmarks.masses is not None:
        arrays["masses"] = fit.landmarks.masses
    if fit.projection is not None:
        arrays["projection.center"], arrays["projection.components"] = fit.projection
    if fit.kernel_means is not None:
        arrays["kernel.means"] = fit.kernel_means
    if fit.geodesics is not None and len(points) > _MOST_COMPUTED:
        arrays["geodesics"] = fit.geodesics
    if fit.graph is not None:
        if not (_is_computed(len(points), fit.extended_by) and _is_complete(fit.graph, points)):
            arrays |= _matrix("graph.weights", fit.graph.weights)
            arrays |= _matrix("graph.lengths", fit.graph.lengths)
        arrays["graph.bridges"] = fit.graph.bridges
        arrays["graph.bandwidths"] = fit.graph.bandwidths
    return arrays


def _matrix(name: str, matrix: csr_array) -> dict[str, np.ndarray]:
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
    }


def fit_from_arrays(
    method: str,
    arrays: dict[str, np.ndarray],
    n_features: int,
    bandwidth: float | None,
    extended_by: str | int,
) -> Fit:
    """Build the record from arrays, checking their shapes and values against each other."""
    points = arrays["landmarks.points"]
    k = len(points)
    coordinates, eigenvalues = arrays["spectrum.coordinates"], arrays["spectrum.eigenvalues"]
    indices, masses = arrays.get("landmarks.indices"), arrays.get("masses")
    geodesics, kernel_means = arrays.get("geodesics"), arrays.get("kernel.means")
    require(points.shape == (k, n_features) and k > 1 and n_features > 0, "landmarks")
    require(coordinates.ndim == 2 and len(coordinates) == k, "coordinates")
    require(coordinates.shape[1] > 0, "coordinates")
    for array in (points, coordinates, eigenvalues):
        require(array.dtype.kind == "f", "types")
    is_map = method == "LandmarkMap"
    require(eigenvalues.shape == ((0,) if is_map else coordinates.shape[1:]), "eigenvalues")
    require(indices is None or indices.shape == (k,), "rows")
    if masses is not None:
        require(masses.shape == (k,) and masses.dtype.kind == "f", "masses")
        require(bool((masses > 0).all()), "masses")
    if method == "KernelPCA":
        require(kernel_means is not None and kernel_means.shape == (k,), "means")
    if geodesics is not None:
        require(geodesics.shape == (k, k) and geodesics.dtype.kind == "f", "paths")
        require(bool((geodesics >= 0).all()), "paths")
    # Computed paths would take memory that the size of the file does not announce.
    require(method != "Isomap" or geodesics is not None or k <= _MOST_COMPUTED, "paths")
    covariances = arrays.get("landmarks.covariances")
    if covariances is not None:
        shapes = (k, n_features), (k, n_features, n_features)
        require(covariances.dtype.kind == "f" and covariances.shape in shapes, "covariances")
    graph = _graph(arrays, points, extended_by)
    for name, array in arrays.items():
        require(bool(np.isfinite(array).all()), name)
    # Points were checked at the fit; other lengths have their scale. Squares must not overflow.
    check_magnitude(points)
    for name in ("spectrum.coordinates", "graph.weights.data", "geodesics", *_LENGTHS):
        if name in arrays:
            require(bool((np.abs(arrays[name]) <= _LARGEST).all()), name)
    if method in ("KernelPCA", "Isomap"):
        # Their extensions divide by the eigenvalues.
        limits = _LARGEST * np.minimum(eigenvalues, 1.0)
        require(bool((np.abs(coordinates) <= limits).all()), "eigenvalues")
    if bandwidth is not None:
        bandwidth = float(bandwidth)
        require(0 < bandwidth < float("inf"), "bandwidth")
    return Fit(
        method,
        Landmarks(points, indices, covariances=covariances, masses=masses),
        Spectrum(coordinates, eigenvalues),
        0.0,
        graph,
        bandwidth,
        kernel_means,
        geodesics,
        _projection(arrays, n_features),
    )


def _graph(
    arrays: dict[str, np.ndarray], points: np.ndarray, extended_by: str | int
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


def _projection(arrays: dict[str, np.ndarray], n_features: int) -> Projection | None:
    if "projection.components" not in arrays:
        return None
    projection = Projection(arrays["projection.center"], arrays["projection.components"])
    require(projection.center.shape == (n_features,), "projection")
    require(projection.components.ndim == 2, "projection")
    require(len(projection.components) == n_features, "projection")
    require(all(array.dtype == np.float64 for array in projection), "projection")
    return projection


def _is_computed(k: int, extended_by: str | int) -> bool:
    """Return whether a model file leaves out a graph of all pairs."""
    return k <= _MOST_COMPUTED and extended_by not in ("smooth", "graph")


def _is_complete(graph: LandmarkGraph, points: np.ndarray) -> bool:
    """Return whether the landmarks and bandwidths alone give the same graph again."""
    k = len(points)
    if graph.lengths.nnz < k * (k - 1):
        return False
    again = complete_graph(distances_between(points), graph.bandwidths)
    return np.array_equal(again.weights.data, graph.weights.data)


def as_csr(arrays: dict[str, np.ndarray], name: str, k: int) -> csr_array:
    """Return a sparse matrix of k x k from its three arrays."""
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    require(indptr.shape == (k + 1,) and indptr[0] == 0 and indptr[-1] == len(indices), name)
    require(bool((np.diff(indptr) >= 0).all()) and data.shape == indices.shape, name)
    # Shortest paths over negative lengths would never end.
    require(data.dtype.kind == "f" and bool((data >= 0).all()), name)
    require(indices.dtype.kind == indptr.dtype.kind == "i", name)
    require(not len(indices) or (indices.min() >= 0 and indices.max() < k), name)
    return csr_array((data, indices, indptr), shape=(k, k))


def require(condition: bool, what: str) -> None:
    """Raise an error about what a file holds unless the condition is true."""
    if not condition:
        raise ValueError(f"its {what} are inconsistent with the rest")
