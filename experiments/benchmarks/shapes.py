"""Synthetic data: surfaces, clusters, curves and images, in 3 to 576 dimensions."""

import numpy as np

import trigpoint as tp

# Points, with their classes if they have any.
Rows = np.ndarray | tuple[np.ndarray, np.ndarray]

SIZE = 10_000
GROUPS, COLUMNS = 100, 50


def scaled(X: np.ndarray) -> np.ndarray:
    """Standardize the columns of a table."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


def wavy_sheet(rng: np.random.Generator) -> Rows:
    """A rectangle bent into waves, with a little noise."""
    a, b = (rng.random((SIZE, 2)) * [6, 3]).T
    X = np.stack([a, b, 0.6 * np.sin(2 * a) * np.cos(b)], axis=1)
    return X + 0.02 * rng.normal(size=X.shape)


def torus(rng: np.random.Generator) -> Rows:
    """A bent torus in six dimensions."""
    u, v = 2 * np.pi * rng.random((2, SIZE))
    flat = [np.cos(u), np.sin(u), np.cos(v), np.sin(v)]
    X = np.stack([*flat, 0.3 * np.cos(u + v), 0.3 * np.sin(u - v)], axis=1)
    return X + 0.01 * rng.normal(size=X.shape)


def cube(rng: np.random.Generator) -> Rows:
    """A solid cube, bent in twelve dimensions."""
    X = np.sin(1.2 * rng.random((SIZE, 3)) @ rng.normal(size=(3, 12)))
    return X + 0.01 * rng.normal(size=X.shape)


def noisy_roll(rng: np.random.Generator) -> Rows:
    """A Swiss roll in forty dimensions, with noise."""
    roll, _ = tp.datasets.make_swiss_roll(SIZE, random_state=1)
    plane = np.linalg.qr(rng.normal(size=(40, 3)))[0]
    return roll @ plane.T + 0.25 * rng.normal(size=(SIZE, 40))


def sphere(rng: np.random.Generator) -> Rows:
    """A five-dimensional sphere, bent in a hundred dimensions."""
    u = rng.normal(size=(SIZE, 6))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return np.tanh(u @ rng.normal(size=(6, 100))) + 0.05 * rng.normal(size=(SIZE, 100))


def clusters(rng: np.random.Generator) -> Rows:
    """Twelve overlapping clusters of different shapes in twenty dimensions."""
    centers, widths = 1.2 * rng.normal(size=(12, 20)), 0.4 + 0.6 * rng.random((12, 20))
    labels = rng.integers(12, size=SIZE)
    return centers[labels] + rng.normal(size=(SIZE, 20)) * widths[labels], labels


def waves(rng: np.random.Generator) -> Rows:
    """Noisy sine and square waves of four frequencies with random phases."""
    labels = rng.integers(4, size=6000)
    frequencies = 1 + labels + 0.3 * rng.normal(size=6000)
    turns = frequencies[:, None] * np.linspace(0, 1, 96) + rng.random((6000, 1))
    sine = np.sin(2 * np.pi * turns)
    X = np.where((labels % 2 == 0)[:, None], sine, 0.7 * np.sign(sine))
    return X + 0.3 * rng.normal(size=X.shape), labels


def tube(rng: np.random.Generator) -> Rows:
    """The surface of a tube that runs along a helix."""
    t, angle = 4 * np.pi * rng.random(SIZE), 2 * np.pi * rng.random(SIZE)
    outward = np.stack([np.cos(t), np.sin(t), np.zeros(SIZE)], axis=1)
    along = np.stack([-np.sin(t), np.cos(t), np.full(SIZE, 0.3)], axis=1)
    across = np.cross(along / np.linalg.norm(along, axis=1, keepdims=True), outward)
    middle = np.stack([np.cos(t), np.sin(t), 0.3 * t], axis=1)
    around = np.cos(angle)[:, None] * outward + np.sin(angle)[:, None] * across
    return middle + 0.35 * around


def copula(rng: np.random.Generator) -> Rows:
    """Thirty correlated columns with different distributions, as in tables of measurements."""
    normal = rng.normal(size=(SIZE, 6)) @ rng.normal(size=(6, 30)) + rng.normal(size=(SIZE, 30))
    normal /= normal.std(axis=0)
    X = np.concatenate([normal[:, :10], np.exp(normal[:, 10:20]), np.tanh(normal[:, 20:])], axis=1)
    return scaled(X)


def chirps(rng: np.random.Generator) -> Rows:
    """Noisy spectrograms of tones that rise, fall, stay constant, or rise and then fall."""
    n, times, bands = 6000, np.linspace(0, 1, 16), np.arange(24)
    labels = rng.integers(4, size=n)
    shapes = np.stack([times, 1 - times, np.full(16, 0.5), 1 - np.abs(2 * times - 1)])
    start, span = 10 * rng.random((n, 1)), 6 + 6 * rng.random((n, 1))
    pitch = start + span * shapes[labels]
    power = np.exp(-((bands[:, None] - pitch[:, None, :]) ** 2) / 2)
    power *= 0.5 + rng.random((n, 1, 1))
    return (power + 0.15 * np.abs(rng.normal(size=power.shape))).reshape(n, -1), labels


def arms(rng: np.random.Generator) -> Rows:
    """Images of an arm with two joints at random angles."""
    n, width = 5000, 24
    first, second = 2 * np.pi * rng.random(n), np.pi * rng.random(n)
    along = np.linspace(0, 1, 8)[:, None, None]
    unit = [np.stack([np.cos(angle), np.sin(angle)], axis=1) for angle in (first, first + second)]
    elbow = 5.5 * unit[0]
    beads = np.concatenate([along * elbow, elbow + along * 5 * unit[1]]) + (width - 1) / 2
    pixels = np.arange(width)
    X = np.zeros((n, width, width))
    for bead in beads:
        x, y = (np.exp(-((pixels - bead[:, axis, None]) ** 2) / 2) for axis in (0, 1))
        np.maximum(X, x[:, :, None] * y[:, None, :], out=X)
    return X.reshape(n, -1)


def bent_groups(n: int) -> np.ndarray:
    """Groups of different sizes, each on a bent five-dimensional sheet with noise, in float32."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(GROUPS, COLUMNS))
    bends = rng.normal(size=(GROUPS, 5, COLUMNS)).astype(np.float32)
    shares = rng.dirichlet(np.full(GROUPS, 2.0))
    groups = np.repeat(np.arange(GROUPS), rng.multinomial(n, shares))
    X = np.empty((n, COLUMNS), dtype=np.float32)
    for group in range(GROUPS):
        rows = np.flatnonzero(groups == group)
        sheet = rng.random((len(rows), 5), dtype=np.float32) @ bends[group]
        noise = rng.standard_normal((len(rows), COLUMNS), dtype=np.float32)
        X[rows] = centers[group] + np.sin(1.5 * sheet) + 0.1 * noise
    return X[rng.permutation(n)]


def tree(n: int) -> np.ndarray:
    """A tree whose branches are smooth random walks with noise, like developing cells."""
    rng = np.random.default_rng(1)
    steps = 100
    tips = [np.zeros(COLUMNS)]
    parts = []
    for branch in range(40):
        turns = rng.normal(size=(steps, COLUMNS)).cumsum(axis=0) / steps
        walk = tips[branch // 2] + (rng.normal(size=COLUMNS) + turns).cumsum(axis=0) / steps
        tips.append(walk[-1])
        parts.append(walk)
    walks = np.concatenate(parts)
    X = walks[rng.integers(len(walks), size=n)] + 0.15 * rng.normal(size=(n, COLUMNS))
    return X.astype(np.float32)
