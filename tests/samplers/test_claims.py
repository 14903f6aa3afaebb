"""Claims about speed, tested by counting operations instead of by timing."""

import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import trigpoint as tp
from trigpoint import _kernels as compiled
from trigpoint._kernels import candidates, tree_search
from trigpoint._neighbors import tree
from trigpoint.datasets import make_swiss_roll


@pytest.fixture
def searches(monkeypatch):
    """Return a list that grows by one for each neighborhood searched.

    Loops that search run in Python here, and call the compiled search through a counter.
    """
    found = []

    def nearest(*arguments, search=tree_search.nearest):
        found.append("tree")
        search(*arguments)

    def narrow(*arguments, search=candidates.narrow):
        reached = search(*arguments)
        if reached[1] >= 0:
            found.append("products")
        return reached

    for module, name in ((tree, "reaches"), (tree_search, "race")):
        monkeypatch.setattr(module, name, getattr(tree_search, name).py_func)
    monkeypatch.setattr(tree_search, "nearest", nearest)
    monkeypatch.setattr(candidates, "narrow", narrow)
    return found


# Up to 200,000 points, one compiled loop draws; above, threads search.
@pytest.mark.parametrize(
    ("n", "k", "for_bandwidth"),
    [
        *[(10_000, 200, 25), (220_000, 200, 25)],
        *[(20_000, 100, 16), (20_000, 400, 50), (20_000, 1600, 64)],
    ],
)
def test_searches_do_not_grow_with_the_number_of_points(n, k, for_bandwidth, searches):
    """The number of searches grows no faster than the number of landmarks, either."""
    X, _ = make_swiss_roll(n, random_state=0)
    sampler = tp.EfficientDPP(k, pool=None, random_state=0).fit(X)
    assert sampler.n_distance_rows_ == searches.count("tree") == len(searches)
    # One neighborhood per landmark, some for the bandwidth, and few wasted ones.
    needed = k + for_bandwidth
    assert needed <= len(searches) < 1.3 * needed


def test_few_searches_are_wasted_in_high_dimension(rng, searches):
    """With a twelfth of all points around each landmark, half are wasted without prediction."""
    X = rng.normal(size=(6000, 50)).astype(np.float32)
    sampler = tp.EfficientDPP(200, n_neighbors=500, random_state=0).fit(X)
    assert sampler.n_distance_rows_ == searches.count("products")
    assert 200 < len(searches) < 1.3 * 264


class Steps:
    """Count the lines that compiled loops execute, which run in Python meanwhile."""

    def __init__(self, monkeypatch) -> None:
        self._folder = str(Path(compiled.__file__).parent)
        self._count = 0
        for name, module in list(sys.modules.items()):
            if name.startswith(f"{compiled.__name__}."):
                for loop_name, loop in list(vars(module).items()):
                    if numba.extending.is_jitted(loop):
                        monkeypatch.setattr(module, loop_name, loop.py_func)

    def of(self, call, *arguments) -> int:
        """Return the number of lines executed during a call."""
        self._count = 0
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            # In compiled code, a division by zero returns infinity without a warning.
            with np.errstate(all="ignore"):
                call(*arguments)
        finally:
            sys.settrace(before)
        return self._count

    def _enter(self, frame, event, argument):
        return self._line if frame.f_code.co_filename.startswith(self._folder) else None

    def _line(self, frame, event, argument):
        self._count += 1
        return self._line


def test_a_search_visits_little_more_than_the_neighbors(monkeypatch):
    """The steps per additional landmark hardly increase in a tree of eight times as many points."""
    steps = Steps(monkeypatch)
    m, fewer, more = 40, 10, 40
    for_each = []
    for n in (1000, 8000):
        X, _ = make_swiss_roll(n, random_state=0)
        # Building the tree takes the same steps in both cases, so they cancel.
        counts = [
            steps.of(
                tp.EfficientDPP(k, n_neighbors=m, bandwidth=1e-3, random_state=0, n_jobs=1).fit, X
            )
            for k in (fewer, more)
        ]
        for_each.append((counts[1] - counts[0]) / (more - fewer))
    assert for_each[0] > 10 * m
    assert for_each[1] < 1.3 * for_each[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "n", "most"),
    [
        # The tree's copy of the points and rows, and the weights.
        (tp.EfficientDPP(500, pool=None, random_state=0), 500_000, 40 * 500_000 + 130e6),
        # The factor alone would take 480 MB.
        (tp.RPCholesky(200, random_state=0, n_jobs=2), 300_000, 60e6),
    ],
)
def test_samplers_memory_is_a_few_numbers_a_point(sampler, n, most, peak_memory):
    X = make_swiss_roll(n, dtype=np.float32, random_state=0)[0]
    sampler.fit(X[:1000])
    _, peak = peak_memory(sampler.fit, X)
    assert peak < most
