"""Choosing the landmarks.

Each sampler has a file of its own, and `base` has what they share. `choice` decides what
``landmarks=`` means. `drawing` is the loop of Algorithm 2, and `refinement` improves landmarks
after a draw.
"""

from trigpoint._landmarks.annealed import AnnealedDPP
from trigpoint._landmarks.base import Sampler
from trigpoint._landmarks.choice import CoincidingLandmarksWarning, choose_landmarks
from trigpoint._landmarks.cholesky import RPCholesky
from trigpoint._landmarks.curve import LandmarkCurve, landmark_curve
from trigpoint._landmarks.efficient import EfficientDPP
from trigpoint._landmarks.exact import ExactDPP
from trigpoint._landmarks.farthest import FarthestPoint
from trigpoint._landmarks.greedy import GreedyNystrom
from trigpoint._landmarks.kdpp import KDPP
from trigpoint._landmarks.kmeans import KMeansLandmarks, KMeansPlusPlus
from trigpoint._landmarks.refinement import Refinement, RefinementResult
from trigpoint._landmarks.uniform import Uniform

__all__ = [
    "KDPP",
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
    "Uniform",
    "choose_landmarks",
    "landmark_curve",
]
