"""The smooth extension: planes by definition, no texture, no folds, no shortcuts, bounded."""

from functools import cached_property

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import trigpoint as tp
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._graphs import KNNGraph
from trigpoint._kernels.landmark_search import blended_planes
from trigpoint._numerics.connectivity import DisconnectedGraphWarning

ALONG_GRAPH = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap]


class Roll:
    """A Swiss roll, and areas of maps of it by differences along the surface."""

    def __init__(self, n=20_000, k=300, noise=0.0):
        self.X, self.intrinsic = tp.datasets.make_swiss_roll(n, noise=noise, random_state=0)
        self.k = k
        self.length, self.height = self.intrinsic.max(axis=0)
        t = np.linspace(1.5 * np.pi, 4.5 * np.pi, 20_001)
        arc = np.append(0, np.cumsum(np.hypot(*np.diff(t * [np.cos(t), np.sin(t)], axis=1))))
        self.angles = arc, t

    def rolled(self, places):
        """Points of the roll from places on it when it was flat."""
        t = np.interp(places[:, 0], *self.angles)
        return np.stack([t * np.cos(t), places[:, 1], t * np.sin(t)], axis=-1)

    @cached_property
    def grid(self):
        """Places (g, 2) on the flat roll, and their weights (g, g) in means over two spacings."""
        spacing = np.sqrt(self.length * self.height / self.k)
        s, h = np.meshgrid(
            np.arange(spacing, self.length - spacing, spacing / 5),
            np.arange(spacing, self.height - spacing, spacing / 5),
        )
        places = np.stack([s.ravel(), h.ravel()], axis=-1)
        return places, np.exp(-cdist(places, places, "sqeuclidean") / (8 * spacing**2))

    def unevenness(self, map_, hair=1e-3):
        """Of areas of a map: deviation from the mean over two spacings, and the share folded."""
        places, weights = self.grid
        at, along, up = (map_(places + np.array(step)) for step in ((0, 0), (hair, 0), (0, hair)))
        areas = np.linalg.det(np.stack([along - at, up - at], axis=-1) / hair)
        mean = weights @ np.abs(areas) / weights.sum(axis=1)
        folded = areas * np.sign(weights @ areas) < 0
        return np.std(np.abs(areas) / mean), folded.mean()


@pytest.fixture(scope="module")
def uniform_roll():
    return Roll()


def options(estimator):
    """Parameters with which the extension goes by rule: no others are tried."""
    return {} if estimator is tp.Isomap else {"graph": "bhattacharyya"}


@pytest.mark.parametrize("estimator", ALONG_GRAPH)
def test_the_map_of_a_roll_has_no_texture_and_no_folds(estimator, uniform_roll):
    """It is hardly less even than exact eigenfunctions; means of landmarks by weight are."""
    sides = uniform_roll.length, uniform_roll.height
    exact = 0.0
    if estimator is not tp.Isomap:
        exact, _ = uniform_roll.unevenness(lambda places: np.cos(np.pi * places / sides))
    found = {}
    for extension in ("auto", "graph"):
        emb = estimator(landmarks=300, extension=extension, random_state=0, **options(estimator))
        emb.fit(uniform_roll.X)
        found[extension] = uniform_roll.unevenness(
            lambda places, emb=emb: emb.transform(uniform_roll.rolled(places))
        )
        if extension == "auto":
            # The default on a surface, which evens out the coordinates of the landmarks.
            assert emb.extension_ == "smooth"
            np.testing.assert_array_equal(emb.transform(emb.landmarks_), emb.landmark_embedding_)
            own = emb.fitted_.spectrum.coordinates
            assert 0 < np.abs(emb.landmark_embedding_ - own).max() < 0.2 * np.abs(own).max()
    assert found["auto"][1] == 0
    texture = {name: np.sqrt(max(uneven**2 - exact**2, 0)) for name, (uneven, _) in found.items()}
    assert texture["auto"] < 0.13 < 0.2 < texture["graph"]


@pytest.mark.parametrize(
    ("d", "n_components", "n", "expected"),
    [(2, 2, 2000, "smooth"), (4, 2, 2000, "graph"), (4, 4, 2000, "smooth"), (2, 2, 200, "graph")],
)
def test_the_default_goes_by_dimension_coordinates_and_points(d, n_components, n, expected, rng):
    emb = tp.LaplacianEigenmaps(n_components, landmarks=150, random_state=0)
    assert emb.fit(rng.uniform(size=(n, d))).extension_ == expected
    if expected == "graph":
        np.testing.assert_array_equal(emb.landmark_embedding_, emb.fitted_.spectrum.coordinates)


def flat(rng, k=200, d=2, n_neighbors=12):
    landmarks = rng.uniform(size=(k, d))
    graph = KNNGraph(n_neighbors, metric="euclidean").build(Landmarks(landmarks))
    return landmarks, graph


def test_planes_by_definition(rng):
    """One landmark at a time, in as many unknowns as there are dimensions."""
    landmarks, graph = flat(rng, d=3, n_neighbors=6)
    coordinates = rng.normal(size=(200, 2))
    fitted = SmoothExtension.prepare(landmarks, graph, coordinates)
    planes, reach = fitted.planes, fitted.reach
    direct = np.where(graph.lengths.toarray() > 0, graph.lengths.toarray(), np.inf)
    np.fill_diagonal(direct, 0)
    # Of one edge or two.
    paths = (direct[:, :, None] + direct[None]).min(axis=1)
    values, slopes = np.empty((200, 2)), np.empty((200, 2, 3))
    for i in range(200):
        neighbors = np.argsort(paths[i])[1 : min(21, np.isfinite(paths[i]).sum())]
        lengths = np.linalg.norm(landmarks[neighbors] - landmarks[i], axis=1)
        bandwidth = 0.7 * np.sort(lengths)[(len(lengths) + 1) // 2 - 1]
        weights = np.append(1, np.exp(-((lengths / bandwidth) ** 2) / 2))
        weights /= weights.sum()
        fitted = np.append(i, neighbors)
        x, y = landmarks[fitted] - landmarks[i], coordinates[fitted]
        mean_x, mean_y = weights @ x, weights @ y
        covariance = (weights[:, None] * (x - mean_x)).T @ (x - mean_x)
        covariance += 0.01 * np.trace(covariance) * np.eye(3)
        slopes[i] = np.linalg.solve(
            covariance, (weights[:, None] * (x - mean_x)).T @ (y - mean_y)
        ).T
        values[i] = mean_y - slopes[i] @ mean_x
        assert reach[i] == pytest.approx(lengths.max())
    stretch = (values * coordinates).sum(axis=0) / (values**2).sum(axis=0)
    np.testing.assert_allclose(planes[:, :, -1], values * stretch, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        planes[:, :, :-1], slopes * stretch[:, None], rtol=1e-9, atol=1e-9 * np.abs(slopes).max()
    )


def test_points_by_definition(rng):
    landmarks, graph = flat(rng)
    extension = SmoothExtension.prepare(landmarks, graph, rng.normal(size=(200, 3)))
    X = rng.uniform(-0.5, 1.5, size=(100, 2))
    found, far = extension(X)
    n_far = far.sum()
    assert n_far > 0
    beyond = 0
    for x, y in zip(X, found, strict=True):
        distances = np.linalg.norm(landmarks - x, axis=1)
        order = np.argsort(distances)
        near, r = order[:5], distances[order[5]]
        shares = (1 - (distances[near] / r) ** 2) ** 2
        n_far -= (distances[near] > 10 * graph.bandwidths[near]).all()
        expected = np.zeros(3)
        for p, share in zip(near, shares / shares.sum(), strict=True):
            step = min(1, extension.reach[p] / distances[p])
            beyond += step < 1
            slopes, value = extension.planes[p, :, :-1], extension.planes[p, :, -1]
            expected += share * (value + slopes @ (step * (x - landmarks[p])))
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-12)
    assert n_far == 0
    assert beyond > 50


def test_a_point_equally_far_from_all_that_share_is_at_their_mean(rng):
    """With the next landmark as far, none has a share by its distance, and all count."""
    landmarks = np.concatenate([np.eye(3), -np.eye(3)])
    planes = rng.normal(size=(6, 2, 4))
    result, far = np.full((1, 2), np.nan), np.zeros(1, dtype=bool)
    around = np.arange(6)[None], np.ones((1, 6)), np.zeros((1, 3))
    blended_planes(*around, landmarks, planes, np.full(6, 2.0), np.ones(6), result, far)
    each = planes[:, :, 3] - np.einsum("pcd,pd->pc", planes[:, :, :3], landmarks)
    np.testing.assert_allclose(result[0], each[:5].mean(axis=0))


def test_nothing_is_fitted_across_a_bridge(rng):
    landmarks = np.concatenate([rng.uniform(size=(30, 2)), rng.uniform(size=(30, 2)) + 50])
    graph = KNNGraph(9, metric="euclidean").build(Landmarks(landmarks))
    assert isinstance(graph.notes[0], DisconnectedGraphWarning)
    coordinates = np.repeat([[1.0], [-1.0]], 30, axis=0)
    fitted = SmoothExtension.prepare(landmarks, graph, coordinates)
    expected = np.pad(coordinates, ((0, 0), (2, 0)))
    np.testing.assert_allclose(fitted.planes[:, 0], expected, atol=1e-12)
    assert (fitted.reach < 2).all()


def test_a_landmark_without_neighbors_is_level():
    nothing = csr_array((4, 4))
    graph = LandmarkGraph(nothing, nothing, np.empty((0, 2), dtype=int), np.ones(4))
    level = SmoothExtension.prepare(np.eye(4, 2), graph, np.arange(4.0)[:, None])
    expected = np.pad(np.arange(4.0)[:, None], ((0, 0), (2, 0)))
    np.testing.assert_array_equal(level.planes[:, 0], expected)
    assert (level.reach == 0).all()


def test_points_between_the_sheets_of_a_roll_belong_to_one_of_them():
    """Off the sheets by noise of a seventh of their distance, they map to where they came from."""
    noisy = Roll(noise=0.4, k=800)
    setting = {"landmarks": 800, "eigenvectors": "independent", "random_state": 0}
    emb = tp.LaplacianEigenmaps(**setting).fit(noisy.X)
    assert emb.extension_ == "smooth"
    Y = emb.transform(noisy.X)
    along = tp.LaplacianEigenmaps(extension="graph", **setting).fit_transform(noisy.X)
    # Among the nearest ten on the map, those from elsewhere on the roll are shortcuts.
    for coordinates in (Y, along):
        near = cKDTree(coordinates).query(coordinates[::20], 11)[1][:, 1:]
        gaps = np.abs(noisy.intrinsic[near, 0] - noisy.intrinsic[::20, None, 0])
        assert (gaps > 5).mean() < 1e-3
    assert tp.metrics.coordinate_recovery(Y, noisy.intrinsic).min() > 0.99


def test_a_hub_does_not_make_memory_grow_as_the_square(rng, peak_memory):
    """One landmark linked to all others makes paths of two edges between all pairs."""
    k = 3000
    landmarks = rng.normal(size=(k, 3))
    others = np.arange(1, k)
    ends = np.concatenate([others, np.zeros(k - 1, dtype=int)])
    starts = np.concatenate([np.zeros(k - 1, dtype=int), others])
    distances = np.linalg.norm(landmarks[starts] - landmarks[ends], axis=1)
    lengths = csr_array((distances, (starts, ends)), shape=(k, k))
    star = LandmarkGraph(lengths, lengths, np.empty((0, 2), dtype=int), np.ones(k))
    _, peak = peak_memory(SmoothExtension.prepare, landmarks, star, landmarks[:, :2])
    assert peak < 8 * k**2 / 2
