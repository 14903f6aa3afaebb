"""Landmark samplers.

`sampler` has the base class, and each sampler has its own file. `choice` resolves the parameter
`landmarks`, and `selecting` draws subsets for users. `drawing` and `window` implement Algorithm 2;
`refinement` improves landmarks after a draw.
"""

from trigpoint._samplers.choice import CoincidingLandmarksWarning as CoincidingLandmarksWarning
from trigpoint._samplers.choice import draw_landmarks as draw_landmarks
from trigpoint._samplers.choice import pool_for as pool_for
from trigpoint._samplers.cholesky import RPCholesky as RPCholesky
from trigpoint._samplers.efficient import EfficientDPP as EfficientDPP
from trigpoint._samplers.exact import ExactDPP as ExactDPP
from trigpoint._samplers.farthest import FarthestPoint as FarthestPoint
from trigpoint._samplers.kmeans import KMeansLandmarks as KMeansLandmarks
from trigpoint._samplers.kmeans import KMeansPlusPlus as KMeansPlusPlus
from trigpoint._samplers.refinement import Refinement as Refinement
from trigpoint._samplers.refinement import RefinementResult as RefinementResult
from trigpoint._samplers.sampler import Sampler as Sampler
from trigpoint._samplers.selecting import Selection as Selection
from trigpoint._samplers.selecting import select as select
from trigpoint._samplers.uniform import Uniform as Uniform
