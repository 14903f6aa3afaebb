"""scikit-learn's own checks of every sampler and every estimator."""

import os
import subprocess
import sys

import pytest

import trigpoint as tp

SAMPLERS = {
    # Some checks have four different points.
    "EfficientDPP": tp.EfficientDPP(4),
    "EfficientDPP, sin2": tp.EfficientDPP(4, repulsion="sin2"),
    "ExactDPP": tp.ExactDPP(),
    "ExactDPP of a number": tp.ExactDPP(3),
    "EfficientDPP, refined": tp.EfficientDPP(4, refine=2),
    "RPCholesky": tp.RPCholesky(3),
    "FarthestPoint": tp.FarthestPoint(3),
    "Uniform": tp.Uniform(5),
    "KMeansLandmarks": tp.KMeansLandmarks(3),
    "KMeansPlusPlus": tp.KMeansPlusPlus(3),
    "KMeansLandmarks(snap=False)": tp.KMeansLandmarks(3, snap=False),
}
ESTIMATORS = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps(),
    "LaplacianEigenmaps from landmarks": tp.LaplacianEigenmaps(landmarks=4),
    "LaplacianEigenmaps, Euclidean": tp.LaplacianEigenmaps(graph="euclidean", extension="all"),
    "DiffusionMaps": tp.DiffusionMaps(),
    "Isomap": tp.Isomap(),
    "KernelPCA": tp.KernelPCA(),
    "LandmarkMap": tp.LandmarkMap(n_iter=20),
}
# The checks of weights compare with repeated rows in another order, for which estimators that draw
# landmarks or noise use other random numbers. tests/test_weights.py compares in the same order.
SHUFFLED = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
RANDOM = ["LaplacianEigenmaps from landmarks", "LandmarkMap"]

# Run in a separate process, because SciPy reads this switch only once, at its first import, and
# without it scikit-learn would skip a check. The data of the checks has few points, whose graphs
# are disconnected.
CHECK = """
import warnings
from trigpoint import *
from sklearn.utils.estimator_checks import check_estimator

def check(group):
    for name, estimator in group.items():
        expected = dict.fromkeys({shuffled!r}, "") if name in {random!r} else {{}}
        results = check_estimator(
            estimator, on_skip=None, on_fail=None, expected_failed_checks=expected
        )
        print(name, len(results), "checks")
        for result in results:
            if result["status"] not in ("passed", "xfail"):
                print(name, result["check_name"], result["status"], result["exception"])

check({samplers!r})
warnings.simplefilter("ignore")
check({estimators!r})
"""


@pytest.mark.slow
def test_scikit_learn_checks_pass_and_none_is_skipped():
    script = CHECK.format(
        samplers=SAMPLERS, estimators=ESTIMATORS, shuffled=SHUFFLED, random=RANDOM
    )
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
    assert [line.rsplit(" ", 2)[0] for line in lines] == [*SAMPLERS, *ESTIMATORS]
    assert min(int(line.rsplit(" ", 2)[1]) for line in lines) > 30
