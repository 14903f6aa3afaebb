"""Benchmarks: cases in processes of their own, their limits, and groups on small data."""

import importlib
import os

import numpy as np
import pytest
from worker import do

from experiments import runner
from experiments.benchmarks import maps, measuring, quality
from experiments.benchmarks.measuring import apart, foregone, measure
from experiments.runner import MissingDataError, Results, Settings

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")

BYTES = 50_000_000


# Processes ------------------------------------------------------------------------------------


def test_failures_are_results_but_missing_data_is_not():
    assert apart(do)({"do": "raise"}, Settings())["error"] == "ValueError: no such thing"
    assert apart(do)({"do": "memory"}, Settings())["error"].startswith(
        "out of memory (asked for 7."
    )
    assert apart(do)({"do": "die"}, Settings())["error"] == "ended with 3"
    with pytest.raises(MissingDataError, match="no digits"):
        apart(do)({"do": "miss"}, Settings())


def test_the_limit_of_time_is_for_what_is_timed(tmp_path):
    short = apart(do, limit=0.2)
    assert short({"do": "sleep", "sleep": 60}, Settings()) == {"error": "> 0.2 s"}
    # Preparing does not count, and settings arrive.
    found = short({"do": "prepare"}, Settings(data=tmp_path))
    assert (found["quick"], found["data"]) == (False, str(tmp_path))
    quick = apart(do, quick_limit=0.2)
    assert quick({"do": "sleep", "sleep": 60}, Settings(quick=True)) == {"error": "> 0.2 s"}


def test_the_limit_of_memory(monkeypatch):
    monkeypatch.setattr(measuring, "MEMORY_LIMIT", 1e6)
    assert apart(do)({"do": "prepare"}, Settings())["error"] == "> 0 GB"


def test_memory_is_the_peak_above_the_start():
    size, cost = measure(lambda: len(bytearray(BYTES)))
    assert size == BYTES
    assert 0.9 * BYTES < cost["peak"] < 1.5 * BYTES
    assert cost["seconds"] > 0


# What need not be run -------------------------------------------------------------------------


def row(n, **result):
    return {"data": "roll", "method": "umap", "n": n, "seed": 0, **result}


@pytest.mark.parametrize(
    ("rows", "n", "reason"),
    [
        ([row(100, seconds=1.0)], 1000, None),
        ([row(100, seconds=61.0)], 1000, "not tried: 61 s at n = 100"),
        ([row(100, error="> 600 s")], 1000, "not tried: > 600 s at n = 100"),
        ([row(100, error="> 600 s")], 100, "> 600 s"),
        ([row(1000, error="not tried: > 600 s")], 10**4, "not tried: > 600 s"),
        # The largest says most.
        ([row(100, seconds=61.0), row(1000, seconds=62.0)], 2000, None),
        ([row(100, error="died") | {"data": "mnist"}], 1000, None),
    ],
)
def test_what_is_hopeless_is_not_tried(rows, n, reason):
    assert foregone(row(n), rows) == (reason and {"error": reason})


def test_slow_cases_have_one_seed():
    assert foregone(row(100), [row(100, seconds=21.0)]) == {}
    assert foregone(row(100), [row(100, seconds=19.0)]) is None


# Groups ---------------------------------------------------------------------------------------

# Smaller than the quick form: groups that need neither peers nor real data.
SMALL = {
    "headline": [{"n": 6000, "k": 100, "m": 60}],
    "selection": [
        {"data": "roll", "n": n, "k": 20, "bandwidth": 10.0, "seed": 0, "method": name}
        for n in (500, 1000)
        for name in ("trigpoint EfficientDPP", "uniform", "scikit-learn kmeans++")
    ],
    "quality": [
        {"data": "bowl", "bandwidth": 1.0, "k": [10, 20], "seeds": 2, "method": name}
        for name in ("optimum", "EfficientDPP", "EfficientDPP, refined", "uniform")
    ]
    + [{"data": "bowl", "bandwidth": 1.0, "k": [10, 20], "seeds": 1, "method": quality.SEEDING}],
    "pool": [
        {"data": kind, "n": n, "k": 20, "seed": seed}
        for kind, n in (("roll", 3000), ("groups", 3000), ("digits", 1797))
        for seed in range(2)
    ],
    "defaults": [{"data": "wine", "seed": seed} for seed in range(2)],
    "embedding": [
        {"data": "roll", "n": n, "seed": 0, "method": "trigpoint, leading"} for n in (1500, 3000)
    ],
    "maps": [{"data": "roll", "n": n, "method": "LandmarkMap"} for n in (300, 400)],
    "map_speed": [{"method": "LandmarkMap", "n": 500}],
    "memory_map": [{"n": 6000}],
}


@pytest.mark.filterwarnings("ignore:the landmark graph falls", "ignore:coordinate 2")
@pytest.mark.parametrize("name", SMALL)
def test_groups_on_small_data(name, tmp_path):
    module = importlib.import_module(f"experiments.benchmarks.{name}")
    results = Results(tmp_path / f"{name}.json", {})
    results.begin(runner.state_of_the_code())
    for case in SMALL[name]:
        results.add({**case, **module.run(case, Settings(quick=True)), "anonymous_peak": 10**8})
    page = runner.Page(tmp_path, name, "Group")
    module.show(results.rows, Settings(), page)
    text = page.write().read_text()
    assert "nan" not in text
    assert "| ---: |" in text
    drawn = name in ("selection", "quality", "embedding", "maps")
    assert (tmp_path / f"{name}.png").exists() == drawn
    if name == "selection":
        radii = {row["method"]: row["radius"] for row in results.rows[-3:]}
        assert radii["trigpoint EfficientDPP"] < radii["uniform"]


# Scores of maps -------------------------------------------------------------------------------


def test_what_maps_keep_by_hand(rng):
    square = rng.uniform(size=(4000, 2))
    new, shuffled = square[:50] + 0.01, rng.permutation(square)
    assert maps.kept(square, 3 * square, new, 3 * new) == {"kept": 1.0, "kept of new": 1.0}
    assert maps.distances_kept(square, -square) == pytest.approx(1.0)
    assert maps.kept(square, shuffled, square[:50], shuffled[:50])["kept"] < 0.02
    assert maps.distances_kept(square, shuffled) < 0.05


def test_a_point_is_not_its_own_neighbor_even_among_duplicates():
    points = np.repeat(np.arange(20.0)[:, None], 12, axis=0)
    found = maps.neighbors(points, points[:5], np.arange(5)[:, None])
    assert found.shape == (5, 10)
    assert (points[found] == 0).all()
