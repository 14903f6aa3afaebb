"""The private parts of trigpoint that experiments use, imported only here."""

from trigpoint._common.errors import ParameterError
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import RIDGE, bhattacharyya_matrix, neighborhood_covariances, regularize
from trigpoint._graph import weighted_graph
from trigpoint._landmarks import Sampler, choose_landmarks
from trigpoint._landmarks.efficient import neighborhood_radius
from trigpoint._landmarks.kmeans import _distinct_rows as distinct_rows
from trigpoint._numerics.dimension import local_dimension
from trigpoint._numerics.kernels import gaussian_kernel, landmark_spacing
from trigpoint._numerics.nearest import nearest
from trigpoint._numerics.threads import thread_count
from trigpoint._points.memory import MemoryStore
from trigpoint._points.torch.store import TorchStore
from trigpoint._spectrum import laplacian_eigenmaps
