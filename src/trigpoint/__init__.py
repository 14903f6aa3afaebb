"""Embed millions of points from a few diverse landmarks."""

from trigpoint import datasets, metrics, plot
from trigpoint.connectivity import DisconnectedGraphWarning
from trigpoint.extension import FarPointsWarning
from trigpoint.files import DamagedFileError, read_points
from trigpoint.forecasting import Forecast, forecast
from trigpoint.geometry import SingularCovarianceWarning
from trigpoint.graph import KNNGraph, RadiusGraph
from trigpoint.landmarks import (
    KDPP,
    AnnealedDPP,
    CoincidingLandmarksWarning,
    EfficientDPP,
    ExactDPP,
    FarthestPoint,
    GreedyNystrom,
    KMeansLandmarks,
    KMeansPlusPlus,
    LandmarkCurve,
    LeverageScores,
    Refined,
    Refinement,
    RPCholesky,
    Uniform,
    landmark_curve,
)
from trigpoint.manifold import DiffusionMaps, Isomap, KernelPCA, LaplacianEigenmaps, load
from trigpoint.spectrum import RedundantEigenvectorsWarning

__version__ = "0.1.0"

__all__ = [
    "KDPP",
    "AnnealedDPP",
    "CoincidingLandmarksWarning",
    "DamagedFileError",
    "DiffusionMaps",
    "DisconnectedGraphWarning",
    "EfficientDPP",
    "ExactDPP",
    "FarPointsWarning",
    "FarthestPoint",
    "Forecast",
    "GreedyNystrom",
    "Isomap",
    "KMeansLandmarks",
    "KMeansPlusPlus",
    "KNNGraph",
    "KernelPCA",
    "LandmarkCurve",
    "LaplacianEigenmaps",
    "LeverageScores",
    "RPCholesky",
    "RadiusGraph",
    "RedundantEigenvectorsWarning",
    "Refined",
    "Refinement",
    "SingularCovarianceWarning",
    "Uniform",
    "__version__",
    "datasets",
    "forecast",
    "landmark_curve",
    "load",
    "metrics",
    "plot",
    "read_points",
]
