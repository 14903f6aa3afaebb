"""All estimators, and points that are quick to fit."""

import pytest

import trigpoint as tp
from trigpoint._sources.array import ArraySource

ESTIMATORS = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA, tp.LandmarkMap]


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    """Yield the class of each estimator in turn."""
    return request.param


@pytest.fixture(name="X")
def points(rng):
    """Return sixty points in the plane."""
    return rng.normal(size=(60, 2))


@pytest.fixture
def unread():
    """Return a source whose rows must not be read."""

    class Unread(ArraySource):
        def take(self, rows):
            raise AssertionError("read")

        blocks = array = take

    return Unread
