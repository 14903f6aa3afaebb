"""What every sampler and every estimator must do, scikit-learn's own checks first."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import trigpoint as tp

SAMPLERS = {
    "EfficientDPP": tp.EfficientDPP(5),
    "EfficientDPP, sin2": tp.EfficientDPP(5, repulsion="sin2"),
    "ExactDPP": tp.ExactDPP(),
    "ExactDPP of a number": tp.ExactDPP(3),
    "EfficientDPP, refined": tp.EfficientDPP(5, refine=2),
    "RPCholesky": tp.RPCholesky(3),
    "FarthestPoint": tp.FarthestPoint(3),
    "Uniform": tp.Uniform(5),
    "KMeansLandmarks": tp.KMeansLandmarks(3),
    "KMeansPlusPlus": tp.KMeansPlusPlus(3),
}
ESTIMATORS = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps(),
    "LaplacianEigenmaps from landmarks": tp.LaplacianEigenmaps(landmarks=5),
    "LaplacianEigenmaps, Euclidean": tp.LaplacianEigenmaps(graph="euclidean", extension=3),
    "DiffusionMaps": tp.DiffusionMaps(),
    "Isomap": tp.Isomap(),
    "KernelPCA": tp.KernelPCA(),
    "LandmarkMap": tp.LandmarkMap(n_iter=20),
}

# In a process of their own, because SciPy reads this switch once, at its first import; without it
# scikit-learn would skip a check. Its few points fall apart into pieces, of which estimators warn.
CHECK = """
import warnings
from trigpoint import *
from sklearn.utils.estimator_checks import check_estimator

def check(group):
    for name, estimator in group.items():
        results = check_estimator(estimator, on_skip=None, on_fail=None)
        print(name, len(results), "checks")
        for result in results:
            if result["status"] != "passed":
                print(name, result["check_name"], result["status"], result["exception"])

check({samplers!r})
warnings.simplefilter("ignore")
check({estimators!r})
"""


OFF_THE_POINTS = {"KMeansLandmarks(snap=False)": tp.KMeansLandmarks(3, snap=False)}


@pytest.mark.slow
def test_scikit_learn_checks_pass_and_none_is_skipped():
    samplers = SAMPLERS | OFF_THE_POINTS
    script = CHECK.format(samplers=samplers, estimators=ESTIMATORS)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line for line in lines if not line.endswith(" checks")] == []
    assert [line.rsplit(" ", 2)[0] for line in lines] == [*samplers, *ESTIMATORS]
    assert min(int(line.rsplit(" ", 2)[1]) for line in lines) > 30


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samplers_give_distinct_rows_and_their_points(name, dtype, rng):
    X = rng.normal(size=(80, 3)).astype(dtype)
    before, state = X.copy(), np.random.get_state()[1].copy()  # noqa: NPY002  must not change
    sampler = clone(SAMPLERS[name]).set_params(random_state=1).fit(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002  as above
    assert sampler.indices_.dtype == np.int64
    assert len(set(sampler.indices_)) == len(sampler.indices_)
    np.testing.assert_array_equal(sampler.landmarks_, X[sampler.indices_])
    assert sampler.landmarks_.dtype == dtype
    if sampler.n_landmarks is not None:
        assert len(sampler.indices_) == sampler.n_landmarks


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_repeat_themselves_with_a_seed_and_vary_without(name, rng):
    X = rng.normal(size=(80, 3))
    sampler = clone(SAMPLERS[name])
    first = sampler.set_params(random_state=1).fit(X).indices_
    np.testing.assert_array_equal(sampler.fit(X).indices_, first)
    others = {tuple(sampler.set_params(random_state=seed).fit(X).indices_) for seed in range(5)}
    assert len(others) > 1
    # Generators go on, whatever their source of random bits.
    for source in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
        drawn, again = (
            sampler.set_params(random_state=np.random.Generator(source(1))).fit(X).indices_
            for _ in range(2)
        )
        np.testing.assert_array_equal(drawn, again)
        assert tuple(sampler.fit(X).indices_) != tuple(drawn)


@pytest.mark.parametrize("name", [name for name in SAMPLERS if name != "ExactDPP"])
@pytest.mark.parametrize("bad", [0, -3, 81, 2.5, "many", None, True])
def test_samplers_refuse_a_bad_number_of_landmarks(name, bad, rng):
    if bad is None and name == "ExactDPP of a number":
        pytest.skip("None stands for a random number")
    sampler = type(SAMPLERS[name])(n_landmarks=bad)
    with pytest.raises((ValueError, TypeError), match="n_landmarks"):
        sampler.fit(rng.normal(size=(80, 3)))
