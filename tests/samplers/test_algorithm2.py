"""Algorithm 2 draws the landmarks of a slow reference, through every index."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint._geometry import local_covariances
from trigpoint._neighbors.index import Neighborhoods, NeighborIndex
from trigpoint._neighbors.products import ProductIndex, SparseIndex
from trigpoint._neighbors.tree import TreeIndex
from trigpoint._pool import Pool
from trigpoint._samplers import drawing
from trigpoint._samplers.drawing import LandmarkDraw, Proposals, Repulsion
from trigpoint._samplers.efficient import usual_radius
from trigpoint._samplers.window import DrawnLandmarks


class SlowIndex(NeighborIndex):
    """An index that computes every distance in NumPy, column by column."""

    name, together = "slow", 5

    def __init__(self, points, n_threads=1):
        self.points = points

    def squares(self, query):
        squares = np.zeros(len(self.points))
        for column, value in zip(self.points.T, query, strict=True):
            squares += (column.astype(np.float64) - np.float64(value)) ** 2
        return squares

    def search(self, queries, m):
        self.n_searches += len(queries)
        radii, last, members = [], [], []
        for query in queries:
            squares = self.squares(query)
            nearest = np.lexsort((np.arange(len(squares)), squares))[:m]
            radii.append(squares[nearest[-1]])
            last.append(nearest[-1])
            members.append(nearest)
        # A bound of zero excludes nothing.
        bounds = [self.squares(q)[rows] for q, rows in zip(queries, members, strict=True)]
        return Neighborhoods(queries, m, np.array(radii), np.array(last, int), members, bounds)

    def members(self, found):
        for query, radius, last in zip(
            found.points, found.squared_radii, found.last_rows, strict=True
        ):
            squares, rows = self.squares(query), np.arange(len(self.points))
            inside = (squares < radius) | ((squares == radius) & (rows <= last))
            yield np.flatnonzero(inside), squares[inside]

    def covariances(self, found, mode):
        points = self.points.astype(np.float64)
        full = np.array([np.cov(points[rows].T, bias=True) for rows, _ in self.members(found)])
        return full if mode == "full" else np.einsum("kii->ki", full)

    def query(self, queries, m):
        raise NotImplementedError


INDEXES = {
    "tree": lambda points: TreeIndex(points, 2),
    "products": lambda points: ProductIndex(points, 2, together=8),
    "sparse": lambda points: SparseIndex(csr_array(points), 2, together=8),
}


def clouds():
    """Return points on which indexes could differ: duplicates, ties, and a large offset."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(300, 3))
    yield "plain", normal
    yield "float32", normal.astype(np.float32)
    yield "far", normal + 1e5
    yield "far float32", (rng.normal(size=(300, 18)) + 1e3).astype(np.float32)
    yield "many dimensions", rng.normal(size=(300, 30))
    yield "duplicates", np.repeat(rng.normal(size=(30, 4)), 10, axis=0)
    yield "more duplicates than neighbors", np.repeat(rng.normal(size=(40, 4)), 20, axis=0)
    yield "mostly zeros", rng.poisson(0.1, size=(300, 40)) * rng.normal(size=(300, 40))
    yield "counts", (rng.poisson(0.2, size=(300, 20)) / 4).astype(np.float32)
    yield "grid", rng.integers(0, 6, size=(300, 3)).astype(np.float64)


CLOUDS = dict(clouds())
FEW_PROPOSALS = "far float32", "many dimensions", "mostly zeros", "more duplicates than neighbors"

# One repulsion so strong that proposals come from the weights of all points, and one weaker.
SETTINGS = {
    "local": (25, 12, 1.0),
    "wide": (20, 120, 4.0),
    "sin2": (25, 12, 1.0, "sin2"),
}


def draw(index, k, m, bandwidth, repulsion="welsch", seed=3):
    drawn = LandmarkDraw(index, k, m, Repulsion(repulsion, bandwidth), np.random.default_rng(seed))
    return np.concatenate(list(drawn)).tolist(), drawn.n_proposals


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_index_leads_to_the_same_landmarks(cloud, setting, monkeypatch):
    points = CLOUDS[cloud]
    expected = draw(SlowIndex(points), *SETTINGS[setting])
    # No landmark duplicates another.
    assert len(np.unique(points[expected[0]], axis=0)) == SETTINGS[setting][0]
    # Otherwise uniform proposals suffice.
    assert setting != "wide" or cloud in FEW_PROPOSALS or expected[1] > len(points)
    for name, index in INDEXES.items():
        assert draw(index(points), *SETTINGS[setting]) == expected, name
    # Trees use the loop of the other indexes, as they do for many points.
    monkeypatch.setattr(drawing, "RACE_UP_TO", 0)
    assert draw(INDEXES["tree"](points), *SETTINGS[setting]) == expected
    # With three proposals at a time, every third is the last of its window.
    monkeypatch.setattr(drawing, "_FORESEEN", 3)
    monkeypatch.setattr(drawing, "_MOST_PROPOSALS", 3)
    monkeypatch.setattr("trigpoint._samplers.window._COMPARED_BY_PRODUCTS", 3)
    for name, index in INDEXES.items():
        assert draw(index(points), *SETTINGS[setting]) == expected, name


def test_after_many_rejections_fewer_proposals_are_compared(calls, monkeypatch):
    """The weights of all points reject most proposals."""
    compared = calls(DrawnLandmarks, "log_weights")
    monkeypatch.setattr(drawing, "RACE_UP_TO", 0)
    points = np.random.default_rng(0).normal(size=(5000, 3))
    _, n_proposals = draw(TreeIndex(points), 60, 5000, 5.0)
    # 0.74 times as many here; without the weights of all points, 2.1 times as many.
    assert sum(len(points) for _, points, *_ in compared) < n_proposals


def of_distance(distance, bandwidth):
    return 1 - np.exp(-distance / bandwidth)


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize(
    ("cloud", "setting"),
    [("plain", (25, 40, 1.0, of_distance)), ("far float32", SETTINGS["wide"])],
)
def test_proposals_from_the_weights_of_all_points_change_no_landmark(
    name, cloud, setting, monkeypatch
):
    """The weights are computed with lists of neighbors or, if these are not kept, without them."""
    monkeypatch.setattr(drawing, "_PATIENCE", 3)
    points = CLOUDS[cloud]
    expected = draw(SlowIndex(points), *setting)
    assert draw(INDEXES[name](points), *setting) == expected
    monkeypatch.setattr(drawing, "NEIGHBORS_KEPT", 0)
    assert draw(INDEXES[name](points), *setting) == expected


KEPT, SEARCHED = tp.EfficientDPP(20), tp.Uniform(20)
REFINED = tp.EfficientDPP(20, refine=2, kernel_bandwidth=1.0)


@pytest.mark.parametrize("mode", ["full", "diag"])
@pytest.mark.parametrize(
    ("kind", "cloud", "sampler"),
    [
        *product(
            [np.asarray],
            ["plain", "far", "duplicates", "many dimensions"],
            [KEPT, SEARCHED, REFINED],
        ),
        *product([csr_array], ["many dimensions", "mostly zeros"], [KEPT, SEARCHED]),
    ],
)
def test_covariances_are_those_of_the_neighborhoods(cloud, kind, mode, sampler):
    """The neighborhoods come from the draw, or are searched afterwards."""
    points = CLOUDS[cloud]
    pool = Pool(kind(points))
    landmarks = sampler.set_params(random_state=0).select(pool)
    assert (landmarks.neighborhoods is None) == (sampler is SEARCHED)
    radii, covariances = local_covariances(pool, landmarks, mode, 2)
    slow = SlowIndex(points)
    found = slow.search(landmarks.points, 60)
    np.testing.assert_array_equal(radii, np.sqrt(found.squared_radii))
    assert sampler is SEARCHED or radii.tolist() == sampler.radii_.tolist()
    expected = slow.covariances(found, mode)
    np.testing.assert_allclose(covariances, expected, rtol=1e-9, atol=1e-12)


def test_weighted_proposals_follow_the_weights():
    log_weights = np.array([0.0, -np.inf, *np.log([0.5, 0.25, 0.25])])
    rows, proposed = Proposals(5, log_weights).draw((np.arange(2000) + 0.5) / 2000)
    np.testing.assert_array_equal(np.bincount(rows), [1000, 0, 500, 250, 250])
    np.testing.assert_allclose(proposed, log_weights[rows])
    # The largest number that a generator returns stays within the rows, the last of which has none.
    last = Proposals(3, np.array([0.0, -3.0, -np.inf])).draw(np.array([1 - 2.0**-53]))[0]
    assert last == 1


@pytest.fixture
def mostly_one_point(rng):
    """Return a thousand points, one of which has 49 duplicates for each of them."""
    X = np.full((50_000, 3), 0.5)
    X[rng.choice(len(X), 1000, replace=False)] = rng.normal(size=(1000, 3))
    return X


def test_duplicates_are_searched_once(mostly_one_point):
    """Nearly all pilots and proposals are the same point, which is the slowest to search."""
    index = TreeIndex(mostly_one_point)
    usual_radius(index, 1600, 100, np.random.default_rng(0))
    assert index.n_searches < 20


@pytest.mark.parametrize("kind", ["race", "tree", "products"])
def test_a_draw_from_mostly_one_point_searches_little_more_than_the_landmarks(
    kind, mostly_one_point, calls, monkeypatch
):
    X, compared = mostly_one_point, calls(DrawnLandmarks, "log_weights")
    if kind != "race":
        monkeypatch.setattr(drawing, "RACE_UP_TO", 0)
    index = ProductIndex(X) if kind == "products" else TreeIndex(X)
    drawn = LandmarkDraw(index, 100, 50, Repulsion("welsch", 0.3), np.random.default_rng(0))
    landmarks = X[np.concatenate(list(drawn))]
    assert len(np.unique(landmarks, axis=0)) == 100
    assert index.n_searches < 140
    # Proposals are rejected without fetching their points.
    assert sum(len(points) for _, points, *_ in compared) < 1000
    assert (landmarks == 0.5).all(axis=1).sum() == 1
