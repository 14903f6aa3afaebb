"""Graph that links all landmarks within a radius, the epsilon-balls of the paper."""

import numpy as np

from trigpoint._common.checks import check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import RIDGE, bhattacharyya, regularize
from trigpoint._graphs.graph import Graph, weighted_graph
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.gaussian import squared_distances


class RadiusGraph(Graph):
    """Link all landmarks within a radius of each other.

    Parameters
    ----------
    radius : float, default=1.0
        Largest distance between two linked landmarks, in the chosen metric.
    metric : {"bhattacharyya", "euclidean"}, default="bhattacharyya"
        As for `KNNGraph`.
    covariance, bandwidth, ridge
        As for `KNNGraph`.
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        metric: str = "bhattacharyya",
        covariance: str = "auto",
        bandwidth: float | None = None,
        ridge: float = RIDGE,
    ) -> None:
        self.radius = radius
        self.metric = metric
        self.covariance = covariance
        self.bandwidth = bandwidth
        self.ridge = ridge

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("radius", self.radius)

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        self.check_parameters()
        radius = float(self.radius)
        points = landmarks.points.astype(np.float64)
        k, covariances = len(points), None
        notes: tuple[Warning, ...] = ()
        if self.needs_covariances:
            covariances, notes = regularize(landmarks.covariances, float(self.ridge))
        lefts, rights = [], []
        for part in row_blocks(k, block_rows(8 * k)):
            rows = np.arange(part.start, part.stop)
            if covariances is None:
                near = squared_distances(points[part], points) <= radius**2
            else:
                left, right = np.repeat(rows, k), np.tile(np.arange(k), len(rows))
                found = bhattacharyya(points, covariances, left, right, n_threads)
                near = found.reshape(len(rows), k) <= radius
            near[np.arange(len(rows)), rows] = False
            left, right = np.nonzero(near)
            lefts.append(left + part.start)
            rights.append(right)
        left, right = np.concatenate(lefts), np.concatenate(rights)
        if len(left) == 0:
            raise ParameterValueError(
                f"radius={radius} connects no two landmarks in the {self.metric} metric: choose a "
                "larger radius or use KNNGraph",
                "radius",
            )
        return weighted_graph(landmarks.points, left, right, self.bandwidth, notes)
