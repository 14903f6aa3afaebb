"""Quality measures for landmarks, landmark graphs and embeddings."""

from trigpoint.metrics._agreement import neighborhood_agreement
from trigpoint.metrics._approximation import nystrom_error, nystrom_factor, optimal_error
from trigpoint.metrics._coverage import coverage_radius
from trigpoint.metrics._map_scores import map_scores, procrustes_r2
from trigpoint.metrics._neighborhoods import neighbor_recall, shortcut_rate
from trigpoint.metrics._pointwise import PointQuality
from trigpoint.metrics._quality import Quality
from trigpoint.metrics._scores import coordinate_recovery, knn_accuracy

__all__ = [
    "PointQuality",
    "Quality",
    "coordinate_recovery",
    "coverage_radius",
    "knn_accuracy",
    "map_scores",
    "neighbor_recall",
    "neighborhood_agreement",
    "nystrom_error",
    "nystrom_factor",
    "optimal_error",
    "procrustes_r2",
    "shortcut_rate",
]
