"""Private parts of trigpoint for experiments, which import them only from here."""

from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import local_covariances
from trigpoint._numerics.blocks import thread_count
from trigpoint._pool import Pool
from trigpoint._spectrum import laplacian_eigenmaps
from trigpoint.metrics._scores import knn_labels
