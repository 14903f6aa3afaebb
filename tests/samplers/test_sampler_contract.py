"""Parameters that all samplers share, and what these do."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import trigpoint as tp
from trigpoint._pool import Pool

SAMPLERS = [
    tp.EfficientDPP(8),
    tp.ExactDPP(bandwidth=0.3),
    tp.ExactDPP(8, bandwidth=0.5),
    tp.AnnealedDPP(8, bandwidth=0.5, n_sweeps=3),
    tp.RPCholesky(8),
    tp.FarthestPoint(8),
    tp.Uniform(8),
    tp.KMeansPlusPlus(8),
    tp.KMeansLandmarks(8),
]
WITH_THREADS = [sampler for sampler in SAMPLERS if "n_jobs" in sampler.get_params()]


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(200, 2))


def each(test):
    return pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: type(s).__name__)(test)


def each_with_threads(test):
    return pytest.mark.parametrize("sampler", WITH_THREADS, ids=lambda s: type(s).__name__)(test)


@each
def test_memory_order_changes_no_landmark(sampler):
    X = np.random.default_rng(0).normal(size=(400, 3))
    # The automatic bandwidth comes from sums, which are rounded otherwise in another order.
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
def test_parameters_are_few_and_in_the_same_order(sampler):
    parameters = inspect.signature(type(sampler)).parameters
    names, defaults = list(parameters), {name: p.default for name, p in parameters.items()}
    assert len(names) <= 10
    assert names[0] == "n_landmarks"
    assert defaults["n_landmarks"] == (None if isinstance(sampler, tp.ExactDPP) else 100)
    threads = [name for name in names if name == "n_jobs"]
    assert names[-1 - len(threads) :] == ["random_state", *threads]
    assert defaults["random_state"] is None
    assert defaults.get("n_jobs") is None


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
def test_a_fit_is_silent(sampler, X, capsys):
    clone(sampler).set_params(random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")


@each_with_threads
def test_same_landmarks_with_any_number_of_threads(sampler, rng):
    """Enough points for several blocks, which is what threads share."""
    X = rng.normal(size=(6000, 3))
    found = [
        clone(sampler).set_params(n_jobs=n_jobs, random_state=0).fit(X).indices_
        for n_jobs in (None, -1, 1, 3)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@each_with_threads
def test_bad_numbers_of_threads_are_refused(sampler, X):
    with pytest.raises(ValueError, match="n_jobs=0"):
        clone(sampler).set_params(n_jobs=0).fit(X)


@pytest.mark.parametrize(
    "sampler",
    [tp.KMeansLandmarks(8, snap=False), tp.EfficientDPP(8, refine=tp.Refinement(1, snap=False))],
)
def test_landmarks_that_are_not_rows_have_no_indices(sampler, X):
    sampler.set_params(random_state=0).fit(X)
    assert sampler.indices_ is None
    assert not any((landmark == X).all(axis=1).any() for landmark in sampler.landmarks_)


def test_a_random_state_of_the_old_kind_is_a_seed_too():
    X = np.random.default_rng(0).normal(size=(80, 3))
    first, again, other = (
        tp.EfficientDPP(10, random_state=np.random.RandomState(seed)).fit(X).indices_.tolist()
        for seed in (1, 1, 2)
    )
    assert first == again != other


class Centering:
    """A sampler that is no scikit-learn estimator and writes to the points it is given."""

    random_state = None

    def fit(self, points):
        points -= points.mean(axis=0)


class Shuffling:
    """A sampler that is no scikit-learn estimator and draws random rows."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, points):
        rng = np.random.default_rng(self.random_state)
        self.indices_ = rng.choice(len(points), 20, replace=False)


def test_a_sampler_of_the_user_cannot_write_to_the_points(rng):
    X = rng.normal(size=(100, 3))
    before = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        tp.select(X, Centering())
    np.testing.assert_array_equal(X, before)


def test_any_sampler_of_the_user_gets_a_seed(rng):
    X = rng.normal(size=(300, 3))
    first, again = (tp.select(X, Shuffling(), random_state=0).indices for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert set(tp.select(X, Shuffling(), random_state=1).indices) != set(first)


def test_a_subset_may_be_one_row(rng):
    X = rng.normal(size=(100, 3))
    assert len(tp.select(X, 1, random_state=0)) == 1
    with pytest.raises(tp.ParameterError, match=r"landmarks=1 .*choose landmarks >= 2"):
        tp.LaplacianEigenmaps(landmarks=1).fit(X)
