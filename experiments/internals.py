"""The private parts of trigpoint that experiments use, imported only here."""

from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import local_covariances
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import thread_count
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._pool import Pool, projected
from trigpoint._spectrum import laplacian_eigenmaps
from trigpoint.metrics._scores import knn_labels
