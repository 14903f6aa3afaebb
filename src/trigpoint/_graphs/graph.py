"""What the graphs of nearest landmarks share, and the contract of all graphs."""

from abc import ABC, abstractmethod

from sklearn.base import BaseEstimator

from trigpoint._common.checks import check_choice, check_positive
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import COVARIANCES, RIDGE

METRICS = ("bhattacharyya", "euclidean")


class Graph(BaseEstimator, ABC):
    """Base of the graphs: `build` links landmarks and weighs the edges.

    An object of the user's own needs `build` alone; the other attributes ask the estimator for
    what `build` finds in the landmarks.

    Attributes
    ----------
    needs_covariances : str or None
        Kind of local covariances that `build` compares: ``"auto"``, ``"full"`` or ``"diag"``;
        ``None`` if it compares none.
    needs_masses : bool
        Whether `build` weighs landmarks by the number of points that they represent.
    """

    @property
    def needs_covariances(self) -> str | None:
        return None

    @property
    def needs_masses(self) -> bool:
        return False

    @abstractmethod
    def check_parameters(self) -> None:
        """Reject parameters that are wrong for any landmarks, before any are drawn."""

    @abstractmethod
    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        """Build the symmetric, connected graph of `landmarks`.

        Parameters
        ----------
        landmarks : Landmarks
            With covariances and masses if this graph asks for them.
        n_threads : int, default=1

        Returns
        -------
        LandmarkGraph
        """


def compared_covariance(metric: str, covariance: str) -> str | None:
    """Return the kind of covariances that a metric compares, if any."""
    check_choice("covariance", covariance, ("auto", *COVARIANCES))
    return covariance if check_choice("metric", metric, METRICS) == "bhattacharyya" else None


def check_weights(bandwidth: float | None, ridge: float = RIDGE) -> None:
    """Reject a bandwidth or a ridge that is not positive."""
    if bandwidth is not None:
        check_positive("bandwidth", bandwidth)
    check_positive("ridge", ridge)
