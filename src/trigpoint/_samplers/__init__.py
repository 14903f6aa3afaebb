"""Choosing the landmarks.

`sampler` has what all samplers share, and each of them has a file of its own. `choice` decides what
``landmarks=`` means, and `selecting` draws subsets for users. `drawing`, `drawn`, `window` and
`repelling` are Algorithm 2. `refinement` improves landmarks after a draw.
"""

from trigpoint._samplers.annealed import AnnealedDPP
from trigpoint._samplers.choice import CoincidingLandmarksWarning, draw_landmarks, pool_for
from trigpoint._samplers.cholesky import RPCholesky
from trigpoint._samplers.curve import LandmarkCurve, landmark_curve
from trigpoint._samplers.efficient import EfficientDPP
from trigpoint._samplers.exact import ExactDPP
from trigpoint._samplers.farthest import FarthestPoint
from trigpoint._samplers.kmeans import KMeansLandmarks, KMeansPlusPlus
from trigpoint._samplers.refinement import Refinement, RefinementResult
from trigpoint._samplers.sampler import Sampler
from trigpoint._samplers.selecting import Selection, select
from trigpoint._samplers.uniform import Uniform

__all__ = [
    "AnnealedDPP",
    "CoincidingLandmarksWarning",
    "EfficientDPP",
    "ExactDPP",
    "FarthestPoint",
    "KMeansLandmarks",
    "KMeansPlusPlus",
    "LandmarkCurve",
    "RPCholesky",
    "Refinement",
    "RefinementResult",
    "Sampler",
    "Selection",
    "Uniform",
    "draw_landmarks",
    "landmark_curve",
    "pool_for",
    "select",
]
