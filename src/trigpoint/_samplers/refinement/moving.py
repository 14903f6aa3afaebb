"""Moving landmarks off the points, to where they explain a Gaussian kernel best."""

import numpy as np
from scipy.linalg import LinAlgError
from scipy.optimize import minimize

from trigpoint._numerics.gaussian import Kernel
from trigpoint._numerics.residual.exchange import trace_error

# Further steps gained less than one percent on images and on surfaces.
_STEPS = 20


def move_landmarks(
    points: np.ndarray, landmarks: np.ndarray, kernel: Kernel, bandwidth: float, n_threads: int
) -> np.ndarray:
    """Move landmarks (k, d) to lower the trace error at `points`, by L-BFGS [1]_.

    Parameters
    ----------
    points : float64 ndarray of shape (s, d)
        Where the error is measured.
    landmarks : float64 ndarray of shape (k, d)
        Where to start.
    kernel : callable
        The Gaussian kernel matrix between two arrays of points.
    bandwidth : float
        Its bandwidth.
    n_threads : int

    Notes
    -----
    A step costs O(s k (k + d)).

    References
    ----------
    .. [1] D. C. Liu, J. Nocedal, "On the limited memory BFGS method for large scale optimization",
       Mathematical Programming 45, 1989.
    """
    start, _ = trace_error(points, landmarks, kernel, bandwidth, n_threads)
    if start == 0:
        return landmarks

    # In bandwidths from the start, and relative to its error, so that units do not matter.
    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        places = landmarks + bandwidth * flat.reshape(landmarks.shape)
        try:
            error, gradient = trace_error(points, places, kernel, bandwidth, n_threads)
        except LinAlgError:
            # Landmarks that coincide after too long a step are worse than none.
            return len(points) / start, np.zeros_like(flat)
        return error / start, bandwidth / start * gradient.ravel()

    found = minimize(
        objective,
        np.zeros(landmarks.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "gtol": 0.0},
    )
    return landmarks + bandwidth * found.x.reshape(landmarks.shape)
