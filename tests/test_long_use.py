"""Long use, for a moment; ``make load`` is the long form."""

import sys

import pytest
from tools import load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")

# Far above what a loaded machine's allocator keeps, and far below what a leak would take.
MOST = 64 * 2**20


@pytest.fixture
def restless():
    """Threads take turns often, so that what they share by mistake is noticed soon."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("dimension", [3, 30])
def test_one_model_serves_many_threads(dimension):
    """To the bit, whatever the other threads ask for."""
    served = load.serve(0.3, 16, dimension)
    assert served.n_wrong == 0
    assert served.n_requests > 16
    assert served.growth < MOST


def test_fits_leave_no_memory_behind():
    assert load.soak(24) < MOST

