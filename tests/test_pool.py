"""Fitting on a pool of rows: which rows are read, from any storage, and at what cost."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone
from tests.sources.formats import held

import trigpoint as tp
from trigpoint import _pool
from trigpoint._pool import LEAST_ROWS, ROWS_PER_LANDMARK, planned_landmarks, pool_size
from trigpoint._sources.array import ArraySource

N, D, LANDMARKS, POOL = 140_000, 3, 60, 4000


@pytest.fixture(scope="module", name="X")
def points():
    return tp.datasets.make_swiss_roll(N, dtype=np.float32, random_state=0)[0]


def embedding(**options):
    return tp.LaplacianEigenmaps(
        landmarks=tp.EfficientDPP(LANDMARKS, pool=POOL),
        graph="bhattacharyya",
        random_state=0,
        **options,
    )


@pytest.fixture(scope="module")
def expected(X):
    emb = embedding().fit(X)
    return emb.landmark_indices_, emb.transform(X)


# The rule ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "k", "per_landmark", "size"),
    [
        (1000, 10, 64, 1000),
        (2**17, 1000, 64, 2**17),
        (10**7, 1000, 64, 2**17),
        (10**7, 2048, 64, 2**17),
        (10**7, 4000, 64, 256_000),
        (10**7, 10_000, 20, 200_000),
        (150_000, 10_000, 20, 150_000),
    ],
)
def test_the_number_of_rows(n, k, per_landmark, size):
    for row_bytes in (12, 400):
        assert pool_size(n, k, row_bytes, per_landmark) == size
    assert (LEAST_ROWS, ROWS_PER_LANDMARK) == (2**17, 64)


def test_rows_that_take_much_memory_are_fewer(recwarn):
    """2 GiB hold 107,374 rows of 20 kB: 26 per landmark for 4,000, and 10 for 10,000 landmarks."""
    assert pool_size(10**7, 4000, 20_000) == 2**31 // 20_000
    assert not recwarn.list
    with pytest.warns(tp.ParameterWarning, match="10,000 landmarks are drawn from 107,374 rows"):
        assert pool_size(10**7, 10_000, 20_000) == 2**31 // 20_000
    with pytest.raises(tp.ParameterError, match="landmarks <= 26,843"):
        pool_size(10**7, 27_000, 20_000)


@pytest.mark.parametrize(
    ("landmarks", "k"),
    [
        (None, 1000),
        (300, 300),
        ("auto", 4000),
        (np.arange(70), 70),
        (np.ones((80, 3)), 80),
        (tp.EfficientDPP(90), 90),
        (tp.EfficientDPP("auto"), 4000),
        (tp.ExactDPP(), 1000),
    ],
    ids=str,
)
def test_the_number_of_landmarks_is_planned(landmarks, k):
    assert planned_landmarks(landmarks) == k


class Counted(ArraySource):
    """A source that records how many rows each pass reads."""

    def __init__(self, X):
        super().__init__(X)
        self.taken = []

    def take(self, rows):
        points = super().take(rows)
        self.taken.append(len(points))
        return points

    def array(self):
        return None

    def blocks(self):
        raise AssertionError("a pool is read by one call of `take`")


ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=50, random_state=0),
    tp.LaplacianEigenmaps(landmarks=50, metric="cosine", random_state=0),
    tp.DiffusionMaps(landmarks=np.arange(0, 5000, 100), random_state=0),
    tp.Isomap(landmarks=tp.FarthestPoint(50), random_state=0),
    tp.KernelPCA(landmarks=50, metric="seuclidean", random_state=0),
    tp.LandmarkMap(landmarks=50, n_iter=5, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_fit_reads_the_pool_once_however_many_rows_there_are(estimator, rng, monkeypatch):
    """With ten times as many rows, only reading takes longer."""
    monkeypatch.setattr(_pool, "LEAST_ROWS", 2000)
    for n in (5000, 50_000):
        source = Counted(rng.normal(size=(n, 3)) + 1)
        clone(estimator).fit(source)
        (taken,) = source.taken
        # Landmarks given by number are read in addition.
        assert 2000 <= taken <= 50 * 64 + 50


# The same result from any storage --------------------------------------------------------------


def test_up_to_the_size_of_the_pool_all_rows_are_drawn_from(X):
    X = X[:LEAST_ROWS]
    by_rule = tp.EfficientDPP(50, random_state=1).fit(X)
    from_all = tp.EfficientDPP(50, pool=None, random_state=1).fit(X)
    np.testing.assert_array_equal(by_rule.indices_, from_all.indices_)
    one_more = tp.EfficientDPP(50, random_state=1).fit(np.concatenate([X, X[:1]]))
    assert not np.array_equal(one_more.indices_, from_all.indices_)


def stored(kind, X, folder):
    """Yield the rows of `X` in some storage that preserves float32."""
    if kind == "strided":
        return nullcontext(np.repeat(X, 2, axis=1)[:, ::2])
    if isinstance(kind, int):
        return nullcontext(pytest.importorskip("dask.array").from_array(X, chunks=(kind, 2)))
    return held(kind, folder, X)


# Keys are numbers of rows per Dask chunk.
STORAGE = ["fortran", "strided", "memmap", "points.npy", "points.parquet"]
STORAGE += ["points.h5", "points.zarr", "tensor", 9000, 70_001]


@pytest.mark.parametrize("kind", STORAGE)
def test_the_same_bits_from_any_storage(kind, X, expected, tmp_path):
    with stored(kind, X, tmp_path) as source:
        emb = embedding().fit(source)
        np.testing.assert_array_equal(emb.landmark_indices_, expected[0])
        np.testing.assert_array_equal(np.asarray(emb.transform(source)), expected[1])


def test_the_same_landmarks_from_text(X, tmp_path):
    """Text is read as float64 and gives the same result as a float64 array."""
    X = X[:20_000].astype(np.float64)
    with open(tmp_path / "X.csv", "w") as file:
        file.write("a,b,c\n")
        file.writelines(",".join(map(repr, row)) + "\n" for row in X.tolist())
    here, there = embedding().fit(X), embedding().fit(tmp_path / "X.csv")
    np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
    np.testing.assert_array_equal(there.transform(tmp_path / "X.csv"), here.transform(X))


@pytest.mark.parametrize("least", [1000, 4000], ids=["some rows", "all rows"])
def test_a_map_is_the_same_in_any_memory_order(least, rng, monkeypatch):
    """Above 50 columns, distances are measured in principal components."""
    monkeypatch.setattr(_pool, "LEAST_ROWS", least)
    # Sums of float32 values would be exact in any order.
    X = rng.normal(size=(3000, 60)) + 100
    frame = pytest.importorskip("pandas").DataFrame(X)
    emb = tp.LandmarkMap(landmarks=40, n_iter=20, random_state=0)
    expected = emb.fit_transform(X)
    for same in (np.asfortranarray(X), frame, np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(clone(emb).fit_transform(same), expected)


# Landmarks outside the pool --------------------------------------------------------------------


def test_landmarks_by_row_number_are_read_in_the_same_pass(rng, monkeypatch):
    monkeypatch.setattr(_pool, "LEAST_ROWS", 1000)
    X = rng.normal(size=(20_000, 3))
    rows = rng.permutation(20_000)[:50]
    pooled = np.random.default_rng(0).choice(20_000, 3200, replace=False)
    assert not np.isin(rows, pooled).all()
    emb = tp.Isomap(landmarks=rows, random_state=0).fit(X)
    np.testing.assert_array_equal(emb.landmark_indices_, rows)
    np.testing.assert_array_equal(emb.landmarks_, X[rows])
    with pytest.raises(
        tp.ParameterError, match="rows from 0 to 20000: choose rows from 0 to 19999"
    ):
        tp.Isomap(landmarks=[0, 5, 20_000]).fit(X)


def test_only_the_rows_of_the_pool_are_checked_by_fit(rng):
    """`transform` checks every row."""
    X = rng.normal(size=(20_000, 3))
    sampler = tp.EfficientDPP(50, pool=3000)
    pooled = np.random.default_rng(0).choice(20_000, 3000, replace=False)
    outside = np.setdiff1d(np.arange(20_000), pooled)[777]
    X[outside] = np.nan
    emb = tp.Isomap(landmarks=sampler, random_state=0).fit(X)
    with pytest.raises(tp.ParameterError, match=f"row {outside}"):
        emb.transform(X)
    X[pooled[5]] = np.inf
    with pytest.raises(tp.ParameterError, match=f"row {pooled[5]}"):
        emb.fit(X)
