"""Choosing the landmarks, one file per idea."""

from trigpoint.landmarks.annealed import AnnealedDPP
from trigpoint.landmarks.base import Sampler
from trigpoint.landmarks.choice import CoincidingLandmarksWarning, choose_landmarks
from trigpoint.landmarks.cholesky import RPCholesky
from trigpoint.landmarks.curve import LandmarkCurve, landmark_curve
from trigpoint.landmarks.efficient import EfficientDPP
from trigpoint.landmarks.exact import ExactDPP
from trigpoint.landmarks.exchanges import Refined
from trigpoint.landmarks.farthest import FarthestPoint
from trigpoint.landmarks.greedy import GreedyNystrom
from trigpoint.landmarks.kdpp import KDPP
from trigpoint.landmarks.kmeans import KMeansLandmarks, KMeansPlusPlus
from trigpoint.landmarks.leverage import LeverageScores
from trigpoint.landmarks.refine import Refinement
from trigpoint.landmarks.uniform import Uniform

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
    "LeverageScores",
    "RPCholesky",
    "Refined",
    "Refinement",
    "Sampler",
    "Uniform",
    "choose_landmarks",
    "landmark_curve",
]
