"""Parameters that all samplers share, and what these do."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import trigpoint as tp

SAMPLERS = [
    tp.EfficientDPP(8),
    tp.ExactDPP(bandwidth=0.3),
    tp.KDPP(8, bandwidth=0.5),
    tp.AnnealedDPP(8, bandwidth=0.5, n_sweeps=3),
    tp.RPCholesky(8),
    tp.GreedyNystrom(8),
    tp.GreedyNystrom(8, criterion="novelty"),
    tp.FarthestPoint(8),
    tp.Uniform(8),
    tp.KMeansPlusPlus(8),
    tp.KMeansLandmarks(8),
]
COMMON = {"random_state": None, "n_jobs": None, "verbose": False, "callback": None}


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(200, 2))


def each(test):
    return pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: type(s).__name__)(test)


@each
def test_memory_order_changes_no_landmark(sampler):
    X = np.random.default_rng(0).normal(size=(400, 3))
    # The automatic bandwidth comes from sums, which are rounded otherwise in another order.
    automatic = {"bandwidth": None} if type(sampler) in (tp.ExactDPP, tp.KDPP) else {}
    for seed in range(3):
        again = clone(sampler).set_params(random_state=seed, **automatic)
        here = again.fit(X).indices_
        np.testing.assert_array_equal(again.fit(np.asfortranarray(X)).indices_, here)


@each
def test_common_parameters_come_last_with_the_same_defaults(sampler):
    parameters = inspect.signature(type(sampler)).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert list(defaults.items())[-len(COMMON) :] == list(COMMON.items())
    if not isinstance(sampler, tp.ExactDPP):
        assert next(iter(defaults.items())) == ("n_landmarks", 100)


@each
def test_progress_goes_up_to_its_end(sampler, X):
    told = []
    callback = lambda *step: told.append(step)  # noqa: E731  as a user would write it
    sampler = clone(sampler).set_params(callback=callback, random_state=0).fit(X)
    stages = {stage: total for stage, _, total in told}
    for stage, total in stages.items():
        done = [step[1] for step in told if step[0] == stage]
        assert done == sorted(done)
        assert done[-1] == total
    assert stages


@each
def test_callbacks_are_kept_by_clones(sampler):
    report = print
    assert clone(clone(sampler).set_params(callback=report)).callback is report


@each
def test_progress_is_shown_on_request(sampler, X, capsys):
    clone(sampler).set_params(verbose=True, random_state=0).fit(X)
    assert capsys.readouterr().err
    clone(sampler).set_params(random_state=0).fit(X)
    assert not capsys.readouterr().err


@each
def test_same_landmarks_with_any_number_of_threads(sampler, rng):
    """Enough points for several blocks, which is what threads share."""
    n = 600 if isinstance(sampler, (tp.ExactDPP, tp.KDPP, tp.AnnealedDPP)) else 6000
    X = rng.normal(size=(n, 3))
    found = [
        clone(sampler).set_params(n_jobs=n_jobs, random_state=0).fit(X).indices_
        for n_jobs in (None, -1, 1, 3)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@each
def test_bad_numbers_of_threads_are_refused(sampler, X):
    with pytest.raises(ValueError, match="n_jobs=0"):
        clone(sampler).set_params(n_jobs=0).fit(X)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # so few landmarks may fall apart
@each
def test_an_estimator_is_told_the_progress_of_its_sampler(sampler, X):
    told = set()
    embedding = tp.LaplacianEigenmaps(
        landmarks=clone(sampler),
        n_neighbors=3,
        callback=lambda stage, done, total: told.add(stage),
        random_state=0,
    )
    embedding.fit(X)
    assert told & {"landmarks", "sweeps", "seeding", "k-means"}


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
