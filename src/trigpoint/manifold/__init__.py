"""The estimators: points in, coordinates of every point out.

Here alone the stages are strung together.
"""

from trigpoint.manifold.isomap import Isomap
from trigpoint.manifold.kernel_pca import KernelPCA
from trigpoint.manifold.markov import DiffusionMaps, LaplacianEigenmaps
from trigpoint.manifold.saving import load

__all__ = ["DiffusionMaps", "Isomap", "KernelPCA", "LaplacianEigenmaps", "load"]
