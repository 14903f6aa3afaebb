"""One contract for every place where points can live; a new store is one line in STORES."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import trigpoint as tp
from trigpoint._common.records import LowRankCovariances
from trigpoint._geometry import neighborhood_covariances
from trigpoint._landmarks import drawing
from trigpoint._landmarks.drawing import LandmarkDraw
from trigpoint._landmarks.drawn import DrawnLandmarks
from trigpoint._landmarks.refinement import patches
from trigpoint._landmarks.refinement import search as refinement
from trigpoint._landmarks.window import Window
from trigpoint._numerics.blocks import distinct_rows
from trigpoint._numerics.neighbors import Neighborhoods, TreeIndex
from trigpoint._numerics.products import ProductIndex
from trigpoint._numerics.sparse import SparseIndex
from trigpoint._points.dask import store as dask_module
from trigpoint._points.dask.cluster import Cluster, Traffic
from trigpoint._points.dask.layout import Layout
from trigpoint._points.dask.shards import Shard
from trigpoint._points.dask.store import DaskStore
from trigpoint._points.memory import MemoryStore, WeightedProposals
from trigpoint._points.repulsion import Repulsion


class PartedStore:
    """The slow, obvious store: several arrays, every distance computed, in NumPy."""

    name, together = "parts", 5

    def __init__(self, points):
        self.parts = np.array_split(points, [1, 1, len(points) // 3])
        self.n_points, self.n_features = self.shape = points.shape
        self.dtype = points.dtype
        self.n_searches = 0

    def take(self, rows):
        return np.concatenate(self.parts)[rows]

    def squares(self, query):
        squares = np.zeros(self.n_points)
        for c in range(self.n_features):
            column = np.concatenate([part[:, c] for part in self.parts]).astype(np.float64)
            squares += (column - np.float64(query[c])) ** 2
        return squares

    def search(self, queries, m):
        self.n_searches += len(queries)
        radii, last = [], []
        for query in queries:
            squares = self.squares(query)
            farthest = np.lexsort((np.arange(self.n_points), squares))[m - 1]
            radii.append(squares[farthest])
            last.append(farthest)
        return Neighborhoods(queries, m, np.array(radii), np.array(last, dtype=np.int64))

    def guess(self, queries, m):
        return None

    def members(self, found):
        for query, radius, last in zip(
            found.points, found.squared_radii, found.last_rows, strict=True
        ):
            squares = self.squares(query)
            rows = np.arange(self.n_points)
            inside = (squares < radius) | ((squares == radius) & (rows <= last))
            yield np.flatnonzero(inside), squares[inside]

    def covariances(self, found, mode):
        points = np.concatenate(self.parts).astype(np.float64)
        full = np.array([np.cov(points[rows].T, bias=True) for rows, _ in self.members(found)])
        if mode == "low-rank":
            return nearest_of_low_rank(full, found.size)
        return full if mode == "full" else np.einsum("kii->ki", full)

    def weights(self, log_repulsion):
        return PartedWeights(self, log_repulsion)

    def racer(self, log_repulsion):
        return None

    def screen(self, log_repulsion):
        return None


def nearest_of_low_rank(full, m):
    """Probabilistic PCA by its definition, one matrix at a time."""
    d = full.shape[1]
    rank = max(1, min(MAX_RANK, d, m - 1))
    directions, variances, rest = [], [], []
    for matrix in full:
        values, vectors = np.linalg.eigh(matrix)
        directions.append(vectors[:, -rank:].T[::-1])
        variances.append(np.maximum(values[-rank:][::-1], 0))
        rest.append(max(np.mean(values[:-rank]), 0) if rank < d else 0.0)
    return LowRankCovariances(np.array(directions), np.array(variances), np.array(rest))


class PartedWeights:
    def __init__(self, store, log_repulsion):
        self.store, self.log_repulsion = store, log_repulsion
        self.log_weights = np.zeros(store.n_points)

    def repel(self, landmarks):
        points = np.concatenate(self.store.parts)
        found = self.store.members(landmarks)
        for landmark, (rows, squares) in zip(landmarks.points, found, strict=True):
            self.log_weights[rows] += self.log_repulsion(squares)
            self.log_weights[(points == landmark).all(axis=1)] = -np.inf

    def proposals(self):
        if self.log_weights.max() == -np.inf:
            return None
        return WeightedProposals(self.log_weights)


class ShardsHere(Cluster):
    """Shards in this process, asked as those on a cluster are."""

    def ask(self, question, arguments):
        self.traffic.setdefault(question, Traffic()).rounds += 1
        return {
            shard: getattr(pickle.loads(pickle.dumps(self._shards[shard])), question)(*own)
            if self.forgetful
            else getattr(self._shards[shard], question)(*own)
            for shard, own in arguments.items()
        }

    forgetful = False


def dask_store(points, forgetful=False):
    """Partitions of all sizes, which shards hold in no simple order."""
    parts = np.array_split(points, [1, 1, len(points) // 3, len(points) // 2, len(points) - 2])
    places = [np.array([0, 3, 5]), np.array([1, 2]), np.array([4])]
    shards = ShardsHere(None, [Shard([parts[part] for part in some]) for some in places])
    shards.forgetful = forgetful
    layout = Layout(np.array([len(part) for part in parts]), places)
    box = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    return DaskStore(shards, layout, *box, points.dtype)


STORES = {
    "tree": lambda points: MemoryStore(TreeIndex(points, 2)),
    "products": lambda points: MemoryStore(ProductIndex(points, 2, together=8)),
    "sparse": lambda points: MemoryStore(SparseIndex(csr_array(points), 2, together=8)),
    "parts": PartedStore,
    "dask": dask_store,
}


def clouds():
    """Points that tell stores apart: copies, ties on a grid, an offset that spoils products."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(300, 3))
    yield "plain", normal
    yield "float32", normal.astype(np.float32)
    yield "far", normal + 1e5
    yield "far float32", (rng.normal(size=(300, 18)) + 1e3).astype(np.float32)
    yield "many dimensions", rng.normal(size=(300, 30))
    yield "copies", np.repeat(rng.normal(size=(30, 4)), 10, axis=0)
    yield "more copies than neighbors", np.repeat(rng.normal(size=(40, 4)), 20, axis=0)
    yield "mostly zeros", rng.poisson(0.1, size=(300, 40)) * rng.normal(size=(300, 40))
    yield "counts", (rng.poisson(0.2, size=(300, 20)) / 4).astype(np.float32)
    yield "grid", rng.integers(0, 6, size=(300, 3)).astype(np.float64)


CLOUDS = dict(clouds())


@pytest.fixture(autouse=True)
def few_are_listed(monkeypatch):
    """So that stores of few points count, and break ties, as those of many do."""
    monkeypatch.setattr(dask_module, "_LISTED", 6)


# Repulsion so strong that proposals come from weights of all points, and one that leaves some.
SETTINGS = {"local": (25, 12, 1.0), "wide": (20, 120, 4.0)}


def draw(store, k, m, bandwidth, repulsion="welsch", seed=3):
    drawn = LandmarkDraw(store, k, m, Repulsion(repulsion, bandwidth), np.random.default_rng(seed))
    rows = np.concatenate([accepted.rows for accepted in drawn])
    return rows.tolist(), drawn.n_proposals


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_store_leads_to_the_same_landmarks(cloud, setting):
    points = CLOUDS[cloud]
    k, m, bandwidth = SETTINGS[setting]
    drawn = {name: draw(store(points), k, m, bandwidth) for name, store in STORES.items()}
    for name in STORES:
        assert drawn[name] == drawn["parts"], name


@pytest.mark.parametrize("setting", SETTINGS)
def test_windows_change_nothing(setting, monkeypatch):
    """With three proposals at a time, every third is the last of its window."""
    points = CLOUDS["plain"]
    k, m, bandwidth = SETTINGS[setting]
    expected = draw(STORES["tree"](points), k, m, bandwidth)
    monkeypatch.setattr(drawing, "_FORESEEN", 3)
    monkeypatch.setattr("trigpoint._landmarks.drawn._COMPARED_BY_PRODUCTS", 3)
    monkeypatch.setattr(drawing, "_MOST_PROPOSALS", 3)
    for store in STORES.values():
        assert draw(store(points), k, m, bandwidth) == expected


def test_neighbors_that_are_not_kept_change_nothing(monkeypatch):
    """Weights of all points are then found without lists of neighbors."""
    points = CLOUDS["far float32"]
    k, m, bandwidth = SETTINGS["wide"]
    expected = draw(STORES["products"](points), k, m, bandwidth)
    monkeypatch.setattr(drawing, "_PATIENCE", 3)
    kept = draw(STORES["products"](points), k, m, bandwidth)
    monkeypatch.setattr("trigpoint._landmarks.drawn.NEIGHBORS_KEPT", 0)
    assert draw(STORES["products"](points), k, m, bandwidth) == kept
    assert len(expected[0]) == len(kept[0]) == k


@pytest.mark.parametrize("cloud", ["plain", "more copies than neighbors", "grid"])
def test_shards_that_lose_index_and_weights_at_every_question(cloud, monkeypatch):
    """As if the worker of every shard were lost before each round."""
    monkeypatch.setattr(drawing, "_PATIENCE", 20)
    points = CLOUDS[cloud]
    k, m, bandwidth = SETTINGS["wide"]
    store = dask_store(points, forgetful=True)
    assert draw(store, k, m, bandwidth) == draw(PartedStore(points), k, m, bandwidth)
    # Those that had none of the landmarks were asked again.
    remembering = dask_store(points)
    draw(remembering, k, m, bandwidth)
    assert store.traffic["weigh"].rounds > remembering.traffic["weigh"].rounds


@pytest.mark.parametrize("mode", ["full", "diag", "low-rank"])
@pytest.mark.parametrize("cloud", ["plain", "far float32", "many dimensions", "copies"])
def test_covariances_do_not_depend_on_how_points_are_divided(cloud, mode):
    points = CLOUDS[cloud]
    layout = Layout(np.array([len(points)]), [np.array([0])])
    box = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    whole = DaskStore(ShardsHere(None, [Shard([points])]), layout, *box, points.dtype)
    found = whole.search(points[::20], 40)
    left, right = whole.covariances(found, mode), dask_store(points).covariances(found, mode)
    if mode == "low-rank":
        left, right = left.variances, right.variances
    np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("name", STORES)
def test_a_search_of_nothing_finds_nothing(name):
    points = CLOUDS["plain"]
    assert len(STORES[name](points).search(points[:0], 5)) == 0


FEW_PROPOSALS = "far float32", "many dimensions", "mostly zeros", "more copies than neighbors"


def test_weights_of_all_points_were_asked_for():
    """The wide setting above goes beyond uniform proposals."""
    k, m, bandwidth = SETTINGS["wide"]
    for cloud, points in CLOUDS.items():
        if cloud not in FEW_PROPOSALS:
            assert draw(PartedStore(points), k, m, bandwidth)[1] > len(points), cloud


@pytest.mark.parametrize("name", STORES)
def test_a_callable_repulsion_and_the_weights_of_all_points(name, monkeypatch):
    """With proposals from all weights at every turn, landmarks stay the same in every store."""
    monkeypatch.setattr(drawing, "_PATIENCE", 3)
    points = CLOUDS["plain"]

    def repulsion(distance, bandwidth):
        return 1 - np.exp(-distance / bandwidth)

    assert draw(STORES[name](points), 25, 40, 1.0, repulsion) == draw(
        PartedStore(points), 25, 40, 1.0, repulsion
    )


@pytest.mark.parametrize("mode", ["full", "diag"])
@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("cloud", ["plain", "copies", "grid", "many dimensions", "mostly zeros"])
def test_every_store_measures_the_same_covariances(cloud, name, mode):
    points = CLOUDS[cloud]
    radii, covariances = neighborhood_covariances(STORES[name](points), points[::40], 30, mode)
    expected = neighborhood_covariances(PartedStore(points), points[::40], 30, mode)
    np.testing.assert_array_equal(radii, expected[0])
    np.testing.assert_allclose(covariances, expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("cloud", ["plain", "copies", "grid", "many dimensions"])
def test_every_store_measures_the_same_covariances_of_low_rank(cloud, name):
    """Directions of equal variance may be turned, so matrices are compared."""
    points = CLOUDS[cloud]
    radii, found = neighborhood_covariances(STORES[name](points), points[::40], 30, "low-rank")
    expected = neighborhood_covariances(PartedStore(points), points[::40], 30, "low-rank")
    np.testing.assert_array_equal(radii, expected[0])
    assert found.rank == expected[1].rank
    for i in range(len(found)):
        np.testing.assert_allclose(found.full(i), expected[1].full(i), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", STORES)
def test_searches_are_counted(name):
    store = STORES[name](CLOUDS["plain"])
    store.search(CLOUDS["plain"][:7], 5)
    store.search(CLOUDS["plain"][:2], 5)
    assert store.n_searches == 9


def test_weighted_proposals_follow_the_weights(rng):
    log_weights = np.array([0.0, -np.inf, *np.log([0.5, 0.25, 0.25])])
    proposals = WeightedProposals(log_weights)
    rows = proposals.rows((np.arange(2000) + 0.5) / 2000)
    np.testing.assert_array_equal(np.bincount(rows), [1000, 0, 500, 250, 250])
    np.testing.assert_allclose(proposals.log_weights(np.array([0, 2])), log_weights[[0, 2]])
    # The largest number that a generator gives stays within the rows, the last of which has none.
    last = WeightedProposals(np.array([0.0, -3.0, -np.inf])).rows(np.array([1 - 2.0**-53]))
    assert last == 1


def test_proposed_weights_are_never_below_the_true_ones(rng):
    """Otherwise a row would be accepted with a probability above 1."""
    log_weights = rng.uniform(-400, 0, size=1000)
    proposed = WeightedProposals(log_weights).log_weights(np.arange(1000))
    assert (proposed >= log_weights - 1e-12).all()


@pytest.mark.parametrize("mode", [None, "full"])
def test_efficient_dpp_takes_a_store(mode):
    points = CLOUDS["plain"]
    there = tp.EfficientDPP(20, covariance=mode, random_state=0)
    there.select(PartedStore(points))
    here = tp.EfficientDPP(20, covariance=mode, random_state=0).fit(points)
    store = MemoryStore(TreeIndex(points))
    for _ in range(2):
        again = tp.EfficientDPP(20, random_state=0)
        again.select(store)
        # Searches of this fit alone.
        assert again.n_distance_rows_ == here.n_distance_rows_
    np.testing.assert_array_equal(there.indices_, here.indices_)
    np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
    np.testing.assert_array_equal(there.radii_, here.radii_)
    if mode is not None:
        np.testing.assert_allclose(there.covariances_, here.covariances_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "sampler",
    [
        tp.EfficientDPP("auto", tolerance=0.3, random_state=0),
        tp.Uniform(7, random_state=0),
        tp.RPCholesky(7, random_state=0),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
@pytest.mark.parametrize("cloud", ["plain", "mostly zeros"])
@pytest.mark.parametrize("store", [PartedStore, dask_store])
def test_samplers_that_take_a_store_choose_the_same(sampler, store, cloud):
    points = CLOUDS[cloud]
    here = clone(sampler).select(points)
    there = clone(sampler).select(store(points))
    np.testing.assert_array_equal(there.indices, here.indices)
    np.testing.assert_array_equal(there.points, here.points)


@pytest.mark.parametrize("refine", [2, tp.Refinement(1, snap=False)], ids=["rows", "moved"])
@pytest.mark.parametrize("cloud", ["float32", "mostly zeros"])
@pytest.mark.parametrize("name", [name for name in STORES if name != "sparse"])
def test_every_store_refines_the_same_landmarks_from_a_sample(name, cloud, refine, monkeypatch):
    """Patches of a few landmarks, and an error measured at four points for each."""
    monkeypatch.setattr(patches, "_TOGETHER", 4)
    monkeypatch.setattr(patches, "MOST_TOGETHER", 8)
    monkeypatch.setattr(refinement, "_MEASURED", 4)
    monkeypatch.setattr(refinement, "_NUMBERS_CHEAP", 0)
    points = CLOUDS[cloud]
    sampler = tp.EfficientDPP(20, refine=refine, kernel_bandwidth=1.0, random_state=0)
    here, there = clone(sampler), clone(sampler)
    here.select(points)
    there.select(STORES[name](points))
    np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
    np.testing.assert_array_equal(there.refinement_.indices, here.refinement_.indices)
    assert there.refinement_.errors == here.refinement_.errors
    assert there.refinement_.n_exchanges > 0


@pytest.mark.parametrize("name", ["tree", "dask"])
@pytest.mark.parametrize(("cloud", "most"), [("copies", 30), ("copies", 29), ("plain", 20)])
def test_stores_find_distinct_points(cloud, most, name):
    points = CLOUDS[cloud]
    expected = distinct_rows(points, most)
    np.testing.assert_array_equal(STORES[name](points).distinct(most), expected)
    assert (expected is None) == (most < 30)


@pytest.mark.parametrize("forgetful", [False, True])
@pytest.mark.parametrize("cloud", ["plain", "float32", "copies", "mostly zeros"])
def test_seeding_adds_up_distances_in_the_order_of_the_rows(cloud, forgetful):
    points = CLOUDS[cloud]
    here = tp.KMeansPlusPlus(25, random_state=0).select(points)
    there = tp.KMeansPlusPlus(25, random_state=0).select(dask_store(points, forgetful))
    np.testing.assert_array_equal(there.indices, here.indices)
    with pytest.raises(TypeError, match="KMeansPlusPlus needs all points in one array"):
        tp.KMeansPlusPlus(25, random_state=0).select(PartedStore(points))


def test_seeding_ends_with_the_last_row_that_has_any_distance():
    points = np.array([[0.0], [3.0], [4.0], [0.0], [0.0]])
    layout = Layout(np.array([2, 0, 1, 2]), [np.array([0, 2]), np.array([1, 3])])
    shards = ShardsHere(None, [Shard([points[:2], points[2:3]]), Shard([points[:0], points[3:]])])
    seeding = DaskStore(shards, layout, points[0], points[2], points.dtype).seeding()
    assert seeding.add(0) == 25.0
    assert [seeding.find(t, "right") for t in (0.0, 8.9, 9.0, 24.9, 25.0)] == [1, 1, 2, 2, 5]
    assert [seeding.find(t, "left") for t in (9.0, 25.0)] == [1, 2]


def test_rp_cholesky_says_that_it_needs_all_points():
    sampler = tp.RPCholesky(250, bandwidth=1.5, random_state=0)
    with pytest.raises(ValueError, match=r"needs the residuals of all points.* use EfficientDPP"):
        sampler.select(dask_store(CLOUDS["plain"]))


@pytest.mark.parametrize(
    ("sampler", "name"),
    [
        (tp.KDPP(5), "KDPP"),
        (tp.FarthestPoint(5), "FarthestPoint"),
    ],
)
def test_what_needs_more_than_a_store_refuses_by_name(sampler, name):
    with pytest.raises(TypeError, match=f"{name} needs all points in one array.*PartedStore"):
        sampler.select(PartedStore(CLOUDS["plain"]))


@pytest.mark.parametrize("d", [3, 20])
def test_a_window_in_which_nothing_can_be_accepted(d, rng):
    store = PartedStore(rng.normal(size=(50, d)))
    landmarks = DrawnLandmarks(store, 5, Repulsion("welsch", 1.0), 1)
    rows, thresholds = np.arange(8), np.ones(8)
    for passed in (rows, rows[:0]):
        window = Window(store, landmarks, 10, rows, thresholds, passed)
        used, accepted, found = window.run(3, 100, 4, 8)
        assert (used, len(accepted), len(found)) == (8, 0, 0)
