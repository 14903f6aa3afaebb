"""The estimators, and what is done with several of them."""

from trigpoint._estimators.annotated import fit_anndata
from trigpoint._estimators.comparison import compare_methods
from trigpoint._estimators.eigenmaps import DiffusionMaps, LaplacianEigenmaps
from trigpoint._estimators.isomap import Isomap
from trigpoint._estimators.kernel_pca import KernelPCA
from trigpoint._estimators.landmark_map import LandmarkMap
from trigpoint._estimators.preset import as_published
from trigpoint._estimators.saving import load

__all__ = [
    "DiffusionMaps",
    "Isomap",
    "KernelPCA",
    "LandmarkMap",
    "LaplacianEigenmaps",
    "as_published",
    "compare_methods",
    "fit_anndata",
    "load",
]
