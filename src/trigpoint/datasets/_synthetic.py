"""Samples from surfaces with known geometry."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._common.checks import as_generator, check_choice, check_count, check_positive
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._numerics.blocks import block_rows, row_blocks

# Temporary memory per point while its block is generated: about ten float64 numbers.
_BYTES_PER_POINT = 80

# First and last angle of the roll, and its height before scaling.
_ANGLES = 1.5 * np.pi, 4.5 * np.pi
_HEIGHT = 21.0


def make_swiss_roll(
    n_samples: int = 1000,
    *,
    noise: float = 0.0,
    sampling: str = "arc-length",
    scale: float = 1.0,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points from a Swiss roll, a rectangle rolled up along an Archimedean spiral [1]_.

    A point at angle ``t``, from 1.5 pi to 4.5 pi, and height ``h``, up to 21, is
    ``(t cos t, h, t sin t) * scale``. Rolling neither stretches nor tears, so Euclidean distances
    in `intrinsic` are the true geodesic distances on the roll.

    Parameters
    ----------
    n_samples : int
        Number of points. They are generated in blocks, with only a few dozen megabytes of temporary
        memory.
    noise : float
        Standard deviation of the Gaussian noise added to every coordinate, after scaling.
    sampling : {"arc-length", "angle"}
        ``"arc-length"`` draws uniformly on the surface. ``"angle"`` draws uniformly in ``t``, as
        scikit-learn does, which makes the inner turns denser than the outer ones.
    scale : float
        Factor applied to all lengths.
    dtype : dtype
        Type of both arrays.
    random_state : int, RandomState, Generator or None
        Seed. Positions and noise use separate random streams, so changing `noise` does not change
        the positions. A smaller `n_samples` gives the first points of a larger sample.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    intrinsic : ndarray of shape (n_samples, 2)
        Arc length from the inner end and height of the noise-free points, both scaled.

    References
    ----------
    .. [1] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework for
       nonlinear dimensionality reduction", Science 290, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint.datasets import make_swiss_roll
    >>> X, intrinsic = make_swiss_roll(500, random_state=0)
    >>> X.shape, intrinsic.shape
    ((500, 3), (500, 2))
    >>> bool(np.allclose(X[:, 1], intrinsic[:, 1]))
    True
    """
    n_samples = check_count("n_samples", n_samples)
    noise = check_positive("noise", noise, zero=True)
    check_choice("sampling", sampling, ("arc-length", "angle"))
    scale = check_positive("scale", scale)
    dtype = _check_dtype(dtype)

    along, across, jitter = as_generator(random_state).spawn(3)
    start, end = _arc_length(np.array(_ANGLES))
    X = np.empty((n_samples, 3), dtype)
    intrinsic = np.empty((n_samples, 2), dtype)
    for rows in row_blocks(n_samples, block_rows(_BYTES_PER_POINT)):
        size = rows.stop - rows.start
        if sampling == "arc-length":
            s = along.uniform(start, end, size)
            t = _angle(s)
        else:
            t = along.uniform(*_ANGLES, size)
            s = _arc_length(t)
        h = across.uniform(0.0, _HEIGHT * scale, size)
        X[rows, 0] = scale * t * np.cos(t)
        X[rows, 1] = h
        X[rows, 2] = scale * t * np.sin(t)
        intrinsic[rows, 0] = scale * (s - start)
        intrinsic[rows, 1] = h
        _add_noise(X[rows], noise, jitter)
    return X, intrinsic


def make_fish_bowl(
    n_samples: int = 1000,
    *,
    disc_radius: float = 5.0,
    scale: float = 1.0,
    noise: float = 0.0,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points from a fish bowl, a sphere punctured at the top [1]_.

    Points drawn uniformly from a disc are mapped to the sphere by inverse stereographic projection:
    the center maps to the bottom, ``z = -scale``, and the rim to the edge of the hole around
    ``z = scale``. The bowl is sampled densely near the hole and sparsely at the bottom, which makes
    it hard for uniformly drawn landmarks.

    Parameters
    ----------
    n_samples : int
        Number of points, generated in blocks as in `make_swiss_roll`.
    disc_radius : float
        Radius of the disc, relative to a sphere of radius 1. A larger disc leaves a smaller hole,
        the region ``z > scale * (disc_radius**2 - 1) / (disc_radius**2 + 1)``.
    scale : float
        Radius of the sphere.
    noise : float
        Standard deviation of the Gaussian noise added to every coordinate, after scaling.
    dtype : dtype
        Type of both arrays.
    random_state : int, RandomState, Generator or None
        Seed, with separate random streams for positions and noise as in `make_swiss_roll`.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    intrinsic : ndarray of shape (n_samples, 2)
        The points on the disc, unscaled. The map to the bowl preserves angles but not distances, so
        Euclidean distances in `intrinsic` are **not** geodesic distances on the bowl.

    References
    ----------
    .. [1] L. K. Saul, S. T. Roweis, "Think globally, fit locally: unsupervised learning of low
       dimensional manifolds", Journal of Machine Learning Research 4, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint.datasets import make_fish_bowl
    >>> X, intrinsic = make_fish_bowl(500, scale=2.0, random_state=0)
    >>> X.shape, intrinsic.shape
    ((500, 3), (500, 2))
    >>> bool(np.allclose(np.linalg.norm(X, axis=1), 2.0))
    True
    """
    n_samples = check_count("n_samples", n_samples)
    disc_radius = check_positive("disc_radius", disc_radius)
    scale = check_positive("scale", scale)
    noise = check_positive("noise", noise, zero=True)
    dtype = _check_dtype(dtype)

    outward, around, jitter = as_generator(random_state).spawn(3)
    X = np.empty((n_samples, 3), dtype)
    intrinsic = np.empty((n_samples, 2), dtype)
    for rows in row_blocks(n_samples, block_rows(_BYTES_PER_POINT)):
        size = rows.stop - rows.start
        # The area grows as the square of the radius, hence the square root.
        radius = disc_radius * np.sqrt(outward.random(size))
        angle = around.uniform(0.0, 2.0 * np.pi, size)
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        stretch = scale / (1.0 + radius**2)
        X[rows, 0] = 2.0 * x * stretch
        X[rows, 1] = 2.0 * y * stretch
        X[rows, 2] = (radius**2 - 1.0) * stretch
        intrinsic[rows, 0] = x
        intrinsic[rows, 1] = y
        _add_noise(X[rows], noise, jitter)
    return X, intrinsic


def _arc_length(t: np.ndarray) -> np.ndarray:
    """Return the length of the spiral ``(t cos t, t sin t)`` from its center to the angle `t`."""
    length: np.ndarray = 0.5 * (t * np.sqrt(1.0 + t**2) + np.arcsinh(t))
    return length


def _angle(s: np.ndarray) -> np.ndarray:
    """Invert `_arc_length` by Newton's method."""
    # Both t and t^2 / 2 are lower bounds on the arc length, so the start lies above the root. The
    # arc length is convex, so every step descends toward the root without overshooting.
    t: np.ndarray = np.minimum(s, np.sqrt(2.0 * s))
    # The start is at most 31 % off, and four steps reduce that to rounding error. A convergence
    # test would make points depend on others in the same block.
    for _ in range(4):
        t -= (_arc_length(t) - s) / np.sqrt(1.0 + t**2)
    return t


def _add_noise(X: np.ndarray, noise: float, rng: np.random.Generator) -> None:
    """Add Gaussian noise of standard deviation `noise` to `X`, in place."""
    if noise > 0:
        X += (noise * rng.standard_normal(X.shape)).astype(X.dtype)


def _check_dtype(dtype: DTypeLike) -> np.dtype:
    """Return `dtype` as a floating-point NumPy type."""
    try:
        checked = np.dtype(dtype)
    except TypeError as error:
        raise ParameterTypeError(
            f"dtype={short(dtype)} is not known to NumPy: choose np.float32, for example", "dtype"
        ) from error
    if not np.issubdtype(checked, np.floating):
        message = f"dtype={checked} cannot hold the values"
        raise ParameterValueError(f"{message}: choose np.float32 or np.float64", "dtype")
    return checked
