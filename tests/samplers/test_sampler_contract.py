"""The contract of samplers: parameters, duplicates, threads, progress, and row numbers."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import trigpoint as tp
from trigpoint import _pool
from trigpoint._pool import Pool
from trigpoint._samplers import farthest

SAMPLERS = [
    tp.EfficientDPP(8),
    tp.ExactDPP(bandwidth=0.3),
    tp.ExactDPP(8, bandwidth=0.5),
    tp.RPCholesky(8),
    tp.FarthestPoint(8),
    tp.Uniform(8),
    tp.KMeansPlusPlus(8),
    tp.KMeansLandmarks(8),
]
WITH_THREADS = [sampler for sampler in SAMPLERS if "n_jobs" in sampler.get_params()]

# Samplers that never take two duplicates of a point.
WITHOUT_COPIES = [
    tp.EfficientDPP(),
    tp.ExactDPP(bandwidth=1.5),
    *(tp.RPCholesky(bandwidth=bandwidth) for bandwidth in (None, 3.0, 1e-6)),
    tp.FarthestPoint(),
    tp.KMeansPlusPlus(),
    *(tp.KMeansLandmarks(init=init) for init in ("random", "k-means++")),
]


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(200, 2))


def each(test):
    return pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: type(s).__name__)(test)


@each
def test_memory_order_changes_no_landmark(sampler):
    X = np.random.default_rng(0).normal(size=(400, 3))
    # The automatic bandwidth comes from sums, whose rounding depends on the order.
    automatic = {"bandwidth": None} if isinstance(sampler, tp.ExactDPP) else {}
    for seed in range(3):
        again = clone(sampler).set_params(random_state=seed, **automatic)
        here = again.fit(X).indices_
        np.testing.assert_array_equal(again.fit(np.asfortranarray(X)).indices_, here)


@each
def test_every_row_may_be_a_landmark(sampler, X):
    if sampler.n_landmarks is not None:
        options = {"bandwidth": 0.2} if "bandwidth" in sampler.get_params() else {}
        sampler = clone(sampler).set_params(n_landmarks=40, random_state=0, **options)
        assert sorted(sampler.fit(X[:40]).indices_) == list(range(40))


@each
def test_progress_goes_up_to_its_end(sampler, X):
    told = []
    clone(sampler).set_params(random_state=0).select(Pool(X), lambda *step: told.append(step))
    stages = {stage: total for stage, _, total in told}
    for stage, total in stages.items():
        done = [step[1] for step in told if step[0] == stage]
        assert done == sorted(done)
        assert done[-1] == total
    assert stages


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_indices_are_rows_of_the_data(sampler, dtype, rng, monkeypatch):
    """The rows are also those of the data if landmarks come from a pool; the input is unchanged."""
    monkeypatch.setattr(_pool, "LEAST_ROWS", 1000)
    X = rng.normal(size=(5000, 8)).astype(dtype)
    before, state = X.copy(), np.random.get_state()[1].copy()  # noqa: NPY002  must not change
    sampler = clone(sampler).set_params(n_landmarks=8, random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002  as above
    assert sampler.indices_.dtype == np.int64
    assert len(set(sampler.indices_)) == 8
    np.testing.assert_array_equal(sampler.landmarks_, X[sampler.indices_], strict=True)
    rows = np.sort(np.random.default_rng(0).choice(len(X), 1000, replace=False))
    assert np.isin(sampler.indices_, rows).all()
    assert sampler.n_features_in_ == 8


@each
def test_samplers_repeat_themselves_with_a_seed_and_vary_without(sampler, X):
    sampler = clone(sampler)
    first = sampler.set_params(random_state=1).fit(X).indices_
    np.testing.assert_array_equal(sampler.fit(X).indices_, first)
    others = {tuple(sampler.set_params(random_state=seed).fit(X).indices_) for seed in range(5)}
    assert len(others) > 1
    # Generators advance, whatever their source of random bits.
    for source in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
        drawn, again = (
            sampler.set_params(random_state=np.random.Generator(source(1))).fit(X).indices_
            for _ in range(2)
        )
        np.testing.assert_array_equal(drawn, again)
        assert tuple(sampler.fit(X).indices_) != tuple(drawn)


@each
@pytest.mark.parametrize("bad", [0, -3, 201, 2.5, "many", None, True])
def test_a_bad_number_of_landmarks_is_refused(sampler, bad, X):
    if bad is None and isinstance(sampler, tp.ExactDPP):
        pytest.skip("None stands for a random number")
    with pytest.raises((ValueError, TypeError), match="n_landmarks"):
        type(sampler)(n_landmarks=bad).fit(X)


@pytest.mark.parametrize("sampler", WITHOUT_COPIES, ids=repr)
@pytest.mark.parametrize("columns", [4, 80])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_are_never_landmarks_twice(sampler, columns, dtype, rng):
    """Points that differ in the sign of a zero are duplicates, too."""
    distinct = rng.normal(size=(12, columns)).astype(dtype)
    distinct[:, 1:] += 1e4
    distinct[0, 0] = 0
    X = np.repeat(distinct, 30, axis=0)
    X[0, 0] = -0.0
    X = X[rng.permutation(len(X))]
    sampler = clone(sampler)
    for seed in range(5):
        sampler.set_params(n_landmarks=12, random_state=seed).fit(X)
        assert len(np.unique(sampler.landmarks_, axis=0)) == 12
    with pytest.raises(ValueError, match=r"n_landmarks=13 .*12 .*<= 12"):
        sampler.set_params(n_landmarks=13).fit(X)


def test_rare_points_are_found():
    """All but three points coincide: a sample of the points would miss the others."""
    X = np.zeros((30_000, 2))
    X[[7, 11_000, 29_000]] = [[1, 0], [0, 1], [3, 3]]
    sampler = tp.RPCholesky(4, bandwidth=1.0, random_state=0).fit(X)
    assert {7, 11_000, 29_000} < set(sampler.indices_)
    with pytest.raises(ValueError, match=r"n_landmarks=5 .*4 .*<= 4"):
        sampler.set_params(n_landmarks=5).fit(X)


@each
@pytest.mark.parametrize("columns", [3, 40])
def test_same_landmarks_with_any_number_of_threads(sampler, columns, rng, monkeypatch):
    """With enough points for several blocks, and with the library's and BLAS threads."""
    # Otherwise, so little work would not be shared.
    monkeypatch.setattr(farthest, "_COORDINATES", 1)
    n = 300 if isinstance(sampler, tp.ExactDPP) else 6000
    X = rng.normal(size=(n, columns)).astype(np.float32)
    found = []
    for n_jobs, blas_threads in ((1, 1), (1, 2), (3, 2), (-1, 1)):
        again = clone(sampler).set_params(random_state=0)
        if sampler.n_landmarks is not None:
            again.set_params(n_landmarks=100)
        if sampler in WITH_THREADS:
            again.set_params(n_jobs=n_jobs)
        with threadpool_limits(blas_threads):
            again.fit(X)
        found.append({name: value for name, value in vars(again).items() if name.endswith("_")})
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        for name, values in found[0].items():
            np.testing.assert_array_equal(other[name], values, err_msg=name)


def refined(**options):
    return tp.EfficientDPP(5, refine=tp.Refinement(**options))


WRONG_TYPES = [
    (tp.EfficientDPP(5, bandwidth="wide"), "bandwidth must be a number"),
    (tp.EfficientDPP(5, pool="half"), "pool='half' is not known"),
    (tp.EfficientDPP(5, random_state="seed"), "random_state must be"),
    (tp.EfficientDPP(5, refine="yes"), "pass True, False, a number of sweeps or a R"),
    (refined(snap="no"), "snap must be True or False"),
    (tp.RPCholesky(2, bandwidth="wide"), "bandwidth must be a number"),
    (tp.KMeansLandmarks(5, snap="yes"), "snap must be True or False, got 'yes'"),
]
WRONG_VALUES = [
    (tp.EfficientDPP(5, n_neighbors=201), "n_neighbors=201 is too.*200 points"),
    (tp.EfficientDPP(5, n_neighbors=0), "n_neighbors=0 is too small"),
    (tp.EfficientDPP(5, bandwidth=0.0), "bandwidth=0.0 is out of range"),
    (tp.EfficientDPP(5, repulsion="cosine"), "repulsion='cosine' .*'welsch', 'sin2'"),
    (tp.EfficientDPP(5, pool=1), "pool=1 is too small"),
    (tp.EfficientDPP(5, random_state=-1), "random_state=-1 is negative"),
    (tp.EfficientDPP(5, refine=0), "refine=0 is too small"),
    (tp.EfficientDPP("auto", tolerance=0), "tolerance=0.*between 0 and 1"),
    (tp.EfficientDPP("auto", tolerance=1), "tolerance=1.*between 0 and 1"),
    (tp.ExactDPP(kernel="cosine"), "kernel='cosine'"),
    (tp.ExactDPP(bandwidth=0.0), "bandwidth"),
    (tp.ExactDPP(kernel="geodesic", n_neighbors=200), "n_neighbors=200"),
    (tp.RPCholesky(2, bandwidth=-1.0), "bandwidth=-1"),
    (tp.KMeansLandmarks(5, init="farthest"), "init='farthest' .*'k-means\\+\\+'"),
    (tp.KMeansLandmarks(5, max_iter=0), "max_iter=0 is too small"),
    *((clone(some).set_params(n_jobs=0), "n_jobs=0") for some in WITH_THREADS),
    *(
        (tp.EfficientDPP(kernel_bandwidth=-1, **options), "kernel_bandwidth=-1.0 is out of range")
        for options in ({"refine": True}, {"n_landmarks": "auto"}, {})
    ),
]


@pytest.mark.parametrize(
    ("sampler", "error", "message"),
    [
        *((sampler, TypeError, message) for sampler, message in WRONG_TYPES),
        *((sampler, ValueError, message) for sampler, message in WRONG_VALUES),
    ],
)
def test_bad_parameters_are_refused(sampler, error, message, X):
    with pytest.raises(error, match=message):
        sampler.fit(X)


def test_a_random_state_of_the_old_kind_is_a_seed_too():
    X = np.random.default_rng(0).normal(size=(80, 3))
    first, again, other = (
        tp.EfficientDPP(10, random_state=np.random.RandomState(seed)).fit(X).indices_.tolist()
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_subset_may_be_one_row(rng):
    X = rng.normal(size=(100, 3))
    assert len(tp.select(X, 1, random_state=0)) == 1
    with pytest.raises(tp.ParameterError, match=r"landmarks=1 .*choose landmarks >= 2"):
        tp.LaplacianEigenmaps(landmarks=1).fit(X)
