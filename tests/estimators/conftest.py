"""Every estimator, and points that are quickly fitted."""

import pytest

import trigpoint as tp

ESTIMATORS = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA, tp.LandmarkMap]


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    """The class of each estimator in turn."""
    return request.param


@pytest.fixture(name="X")
def points(rng):
    """Sixty points in the plane."""
    return rng.normal(size=(60, 2))
