"""Estimators, and functions that compare, save or configure them."""

from trigpoint._estimators.annotated import fit_anndata as fit_anndata
from trigpoint._estimators.comparison import compare_methods as compare_methods
from trigpoint._estimators.eigenmaps import DiffusionMaps as DiffusionMaps
from trigpoint._estimators.eigenmaps import LaplacianEigenmaps as LaplacianEigenmaps
from trigpoint._estimators.isomap import Isomap as Isomap
from trigpoint._estimators.kernel_pca import KernelPCA as KernelPCA
from trigpoint._estimators.landmark_map import LandmarkMap as LandmarkMap
from trigpoint._estimators.preset import as_published as as_published
from trigpoint._estimators.saving import load as load
