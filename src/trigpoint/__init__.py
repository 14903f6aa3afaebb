"""Embed millions of points from a few diverse landmarks."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from trigpoint._public import *

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
    "fit_anndata",
    "landmark_curve",
    "load",
    "metrics",
    "plot",
    "read_points",
]


def __getattr__(name: str) -> _typing.Any:
    # The libraries behind the names take a second or two to import, and the command should show a
    # sign of life before.
    if name not in __all__:
        raise AttributeError(f"module 'trigpoint' has no attribute {name!r}", name=name, obj=None)
    from trigpoint import _public

    globals().update({name: getattr(_public, name) for name in __all__ if name != "__version__"})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
