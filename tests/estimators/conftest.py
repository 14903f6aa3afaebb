"""Every estimator, and points that are quickly fitted."""

import pytest

import trigpoint as tp
from trigpoint._sources.array import ArraySource

ESTIMATORS = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA, tp.LandmarkMap]


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    """The class of each estimator in turn."""
    return request.param


@pytest.fixture(name="X")
def points(rng):
    """Sixty points in the plane."""
    return rng.normal(size=(60, 2))


@pytest.fixture
def unread():
    """A source of rows that must not be read."""

    class Unread(ArraySource):
        def take(self, rows):
            raise AssertionError("read")

        blocks = array = take

    return Unread
