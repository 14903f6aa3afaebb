"""Choosing the landmarks.

`sampler` has what all samplers share, and each of them has a file of its own. `choice` decides what
``landmarks=`` means, and `selecting` draws subsets for users. `drawing`, `drawn`, `window` and
`repelling` are Algorithm 2. `refinement` improves landmarks after a draw.
"""

from trigpoint._landmarks.annealed import AnnealedDPP
from trigpoint._landmarks.choice import CoincidingLandmarksWarning, draw_landmarks, pool_for
from trigpoint._landmarks.cholesky import RPCholesky
from trigpoint._landmarks.curve import LandmarkCurve, landmark_curve
from trigpoint._landmarks.efficient import EfficientDPP
from trigpoint._landmarks.exact import ExactDPP
from trigpoint._landmarks.farthest import FarthestPoint
from trigpoint._landmarks.greedy import GreedyNystrom
from trigpoint._landmarks.kmeans import KMeansLandmarks, KMeansPlusPlus
from trigpoint._landmarks.refinement import Refinement, RefinementResult
from trigpoint._landmarks.sampler import Sampler
from trigpoint._landmarks.selecting import Selection, select
from trigpoint._landmarks.uniform import Uniform

__all__ = [
    "AnnealedDPP",
    "CoincidingLandmarksWarning",
    "EfficientDPP",
    "ExactDPP",
    "FarthestPoint",
    "GreedyNystrom",
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
