"""A fit as named arrays, and back; what is read from a file is checked against the rest."""

from dataclasses import fields

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.checks import check_magnitude
from trigpoint._common.memory import check_dense
from trigpoint._common.records import (
    Covariances,
    EmbeddedLandmarks,
    FittedEmbedding,
    LandmarkGraph,
    Landmarks,
    LowRankCovariances,
    Projection,
    Spectrum,
)
from trigpoint._graph import complete_graph
from trigpoint._numerics.kernels import distances_between

# Covariances are only for reports and plots. Full ones are saved up to this many dimensions, where
# they hold as many times the numbers of the landmarks; those of low rank never hold many more.
_COVARIANCES = 16
_LOW_RANK = "landmarks.covariances."

# Largest number whose square is finite, and arrays of lengths.
_LARGEST = np.sqrt(np.finfo(np.float64).max)
_LENGTHS = "graph.lengths.data", "graph.bandwidths"


def as_arrays(fitted: FittedEmbedding) -> dict[str, np.ndarray]:
    """The arrays that a model file keeps of a fit."""
    arrays = {
        "landmarks.points": fitted.landmarks.points,
        "spectrum.coordinates": fitted.spectrum.coordinates,
        "spectrum.eigenvalues": fitted.spectrum.eigenvalues,
    }
    if fitted.landmarks.indices is not None:
        arrays["landmarks.indices"] = fitted.landmarks.indices
    covariances = fitted.landmarks.covariances
    if isinstance(covariances, LowRankCovariances):
        arrays |= {_LOW_RANK + name: values for name, values in vars(covariances).items()}
    elif (
        covariances is not None
        and covariances.size <= _COVARIANCES * arrays["landmarks.points"].size
    ):
        arrays["landmarks.covariances"] = covariances
    if fitted.anchor_values is not None:
        arrays["anchor_values"] = fitted.anchor_values
    if fitted.landmarks.masses is not None:
        arrays["masses"] = fitted.landmarks.masses
    if fitted.projection is not None:
        arrays["projection.center"], arrays["projection.components"] = fitted.projection
    if fitted.graph is not None:
        if not _is_complete(fitted.graph, fitted.landmarks.points):
            arrays |= _matrix("graph.weights", fitted.graph.weights)
            arrays |= _matrix("graph.lengths", fitted.graph.lengths)
        arrays["graph.bridges"] = fitted.graph.bridges
        arrays["graph.bandwidths"] = fitted.graph.bandwidths
    return arrays


def _matrix(name: str, matrix: csr_array) -> dict[str, np.ndarray]:
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
    }


def from_arrays(
    method: str, arrays: dict[str, np.ndarray], n_features: int, bandwidth: float | None
) -> EmbeddedLandmarks:
    """Build the records from arrays, checking their shapes and values against each other."""
    points = arrays["landmarks.points"]
    k = len(points)
    coordinates, eigenvalues = arrays["spectrum.coordinates"], arrays["spectrum.eigenvalues"]
    indices = arrays.get("landmarks.indices")
    require(points.shape == (k, n_features) and k > 1 and n_features > 0, "landmarks")
    require(coordinates.ndim == 2 and len(coordinates) == k, "coordinates")
    require(coordinates.shape[1] > 0, "coordinates")
    for array in (points, coordinates, eigenvalues):
        require(array.dtype.kind == "f", "types")
    is_map = method == "LandmarkMap"
    require(eigenvalues.shape == ((0,) if is_map else coordinates.shape[1:]), "eigenvalues")
    require(indices is None or indices.shape == (k,), "rows")
    covariances = _covariances(arrays, k, n_features)
    graph = None
    if "graph.bandwidths" in arrays:
        bandwidths, bridges = arrays["graph.bandwidths"], arrays["graph.bridges"]
        require(bandwidths.shape == (k,) and bool((bandwidths > 0).all()), "bandwidths")
        require(bridges.ndim == 2 and bridges.shape[1] == 2, "bridges")
        require(not bridges.size or (bridges.min() >= 0 and bridges.max() < k), "bridges")
        if "graph.weights.data" in arrays:
            weights = as_csr(arrays, "graph.weights", k)
            lengths = as_csr(arrays, "graph.lengths", k)
            graph = LandmarkGraph(weights, lengths, bridges, bandwidths)
        else:
            check_dense("landmarks", k, "landmarks in a complete graph", "more memory")
            graph = complete_graph(distances_between(points), bandwidths)
    anchor_values = arrays.get("anchor_values")
    if anchor_values is not None:
        require(anchor_values.shape == coordinates.shape, "shares")
        require(anchor_values.dtype.kind == "f", "types")
    masses = arrays.get("masses")
    if masses is not None:
        require(masses.shape == (k,) and masses.dtype.kind == "f", "masses")
        require(bool((masses > 0).all()), "masses")
    projection = _projection(arrays, n_features)
    for name, array in arrays.items():
        require(bool(np.isfinite(array).all()), name)
    # Points were checked at the fit; other lengths have their scale. Squares must not overflow.
    check_magnitude(points)
    for name in ("spectrum.coordinates", "anchor_values", "graph.weights.data", *_LENGTHS):
        if name in arrays:
            require(bool((np.abs(arrays[name]) <= _LARGEST).all()), name)
    if method in ("KernelPCA", "Isomap"):
        # Their extensions divide by the eigenvalues.
        limits = _LARGEST * np.minimum(eigenvalues, 1.0)
        require(bool((np.abs(coordinates) <= limits).all()), "eigenvalues")
    if bandwidth is not None:
        bandwidth = float(bandwidth)
        require(0 < bandwidth < float("inf"), "bandwidth")
    landmarks = Landmarks(points, indices, covariances=covariances, masses=masses)
    spectrum = Spectrum(coordinates, eigenvalues)
    return EmbeddedLandmarks(
        method,
        landmarks,
        spectrum,
        graph,
        bandwidth,
        anchor_values=anchor_values,
        projection=projection,
    )


def _projection(arrays: dict[str, np.ndarray], n_features: int) -> Projection | None:
    if "projection.components" not in arrays:
        return None
    projection = Projection(arrays["projection.center"], arrays["projection.components"])
    require(projection.center.shape == (n_features,), "projection")
    require(projection.components.ndim == 2, "projection")
    require(len(projection.components) == n_features, "projection")
    require(all(array.dtype == np.float64 for array in projection), "projection")
    return projection


def _is_complete(graph: LandmarkGraph, points: np.ndarray) -> bool:
    """Whether the landmarks and bandwidths alone give the same graph again."""
    k = len(points)
    if graph.lengths.nnz < k * (k - 1):
        return False
    again = complete_graph(distances_between(points), graph.bandwidths)
    return np.array_equal(again.weights.data, graph.weights.data)


def _covariances(arrays: dict[str, np.ndarray], k: int, n_features: int) -> Covariances | None:
    covariances = arrays.get("landmarks.covariances")
    if covariances is not None:
        shapes = (k, n_features), (k, n_features, n_features)
        require(covariances.dtype.kind == "f" and covariances.shape in shapes, "covariances")
        return covariances
    if _LOW_RANK + "directions" not in arrays:
        return None
    names = (field.name for field in fields(LowRankCovariances))
    low_rank = LowRankCovariances(**{name: arrays[_LOW_RANK + name] for name in names})
    directions, variances, rest = low_rank.directions, low_rank.variances, low_rank.rest
    require(directions.ndim == 3 and 0 < directions.shape[1] <= n_features, "covariances")
    require(directions.shape[::2] == (k, n_features), "covariances")
    require(variances.shape == directions.shape[:2] and rest.shape == (k,), "covariances")
    for array in (directions, variances, rest):
        require(array.dtype.kind == "f", "types")
    require(bool((variances >= 0).all() and (rest >= 0).all()), "covariances")
    return low_rank


def as_csr(arrays: dict[str, np.ndarray], name: str, k: int) -> csr_array:
    """A sparse matrix of k x k from its three arrays."""
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
