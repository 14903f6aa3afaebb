"""Embed millions of points from a few diverse landmarks."""

from trigpoint import datasets, metrics, plot
from trigpoint._common.errors import ParameterError
from trigpoint._common.records import LowRankCovariances
from trigpoint._estimators import (
    DiffusionMaps,
    Isomap,
    KernelPCA,
    LandmarkMap,
    LaplacianEigenmaps,
    compare_methods,
    load,
)
from trigpoint._extension.extensions import FarPointsWarning
from trigpoint._files import DamagedFileError, PointSource, read_points
from trigpoint._forecast import Forecast, forecast
from trigpoint._geometry import SingularCovarianceWarning
from trigpoint._graph import AnchorGraph, CompleteGraph, KNNGraph, RadiusGraph
from trigpoint._landmarks import (
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
    Refinement,
    RefinementResult,
    RPCholesky,
    Uniform,
    landmark_curve,
)
from trigpoint._numerics.connectivity import DisconnectedGraphWarning
from trigpoint._points.dask.cluster import ClusterError
from trigpoint._points.dask.collections import UnknownChunksWarning
from trigpoint._spectrum import RedundantEigenvectorsWarning
from trigpoint.metrics._comparison import Comparison

__version__ = "0.1.0"

__all__ = [
    "KDPP",
    "AnchorGraph",
    "AnnealedDPP",
    "ClusterError",
    "CoincidingLandmarksWarning",
    "Comparison",
    "CompleteGraph",
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
    "LandmarkMap",
    "LaplacianEigenmaps",
    "LowRankCovariances",
    "ParameterError",
    "PointSource",
    "RPCholesky",
    "RadiusGraph",
    "RedundantEigenvectorsWarning",
    "Refinement",
    "RefinementResult",
    "SingularCovarianceWarning",
    "Uniform",
    "UnknownChunksWarning",
    "__version__",
    "compare_methods",
    "datasets",
    "forecast",
    "landmark_curve",
    "load",
    "metrics",
    "plot",
    "read_points",
]
