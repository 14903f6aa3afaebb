"""Benchmarks: cases in processes of their own, their limits, and groups on small data."""

import importlib
import os

import numpy as np
import pytest
from worker import do

from experiments import runner
from experiments.benchmarks import judging, map_sets, measuring, peers, peers_page, quality
from experiments.benchmarks.measuring import apart, foregone, measure
from experiments.runner import MissingDataError, Results, Settings
from trigpoint.metrics import procrustes_r2

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
    "peers": [
        {"data": "digits", "n": 500, "method": name, "seed": seed}
        for name in ("LandmarkMap", "PCA", "random")
        for seed in range(2)
    ],
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
    drawn = name in ("selection", "quality", "embedding", "peers")
    assert (tmp_path / f"{name}.png").exists() == drawn
    if name == "selection":
        radii = {row["method"]: row["radius"] for row in results.rows[-3:]}
        assert radii["trigpoint EfficientDPP"] < radii["uniform"]


# Maps beside others ---------------------------------------------------------------------------


def test_cases_of_maps(monkeypatch):
    found = list(peers.cases(Settings()))
    assert len({tuple(case.values()) for case in found}) == len(found)
    assert {case["data"] for case in found} == set(map_sets.MAP_SETS)
    several = [case for case in found if case["seed"] > 0]
    assert all(case["n"] <= 20_000 and case["method"] not in ("PCA", "random") for case in several)
    halves = [
        {entry.kind for entry in map_sets.MAP_SETS.values() if entry.held_out == held_out}
        for held_out in (False, True)
    ]
    assert halves[0] == halves[1]
    assert len(list(peers.cases(Settings(quick=True)))) < 10

    digits = {"data": "digits", "n": 1797, "method": "openTSNE", "seed": 0}
    words = {"data": "words", "n": 341_479, "method": "openTSNE", "seed": 0}
    assert peers.foregone(digits, []) is None
    assert peers.foregone(words, [])["error"].startswith("left out")
    monkeypatch.setenv("SETS", "words coil")
    assert peers.foregone(digits, []) == {}
    monkeypatch.setenv("SETS", "digits")
    monkeypatch.setenv("METHODS", "PCA PaCMAP")
    assert peers.foregone(digits, []) == {}
    monkeypatch.setenv("METHODS", "PCA openTSNE")
    assert peers.foregone(digits, []) is None


def test_sets_of_maps():
    X = map_sets.load("digits", Settings())
    assert X.shape == (1797, 64)
    assert X.dtype == np.float32
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-5)
    for make in (map_sets.bent_groups, map_sets.tree):
        X = make(3000, Settings())
        assert X.shape == (3000, 50)
        assert np.isfinite(X).all()
        np.testing.assert_array_equal(X, make(3000, Settings()))
    with pytest.raises(MissingDataError, match="mnist"):
        map_sets.load("mnist_5k", Settings())


def test_missing_packages_and_words_are_no_failures(monkeypatch, tmp_path):
    monkeypatch.setattr(map_sets, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="chemotools"):
        map_sets.load("fermentation", Settings())
    monkeypatch.setenv("TRIGPOINT_WORDS", str(tmp_path))
    with pytest.raises(MissingDataError, match="make words"):
        map_sets.load("words_20k", Settings())


def test_coordinates_are_kept_with_three_digits(rng):
    Y = 1e4 + 100 * rng.normal(size=(1000, 2))
    some = judging.unpacked(judging.packed(Y))
    assert some.shape == (300, 2)
    rows = Y[np.sort(np.random.default_rng(0).permutation(1000)[:300])]
    assert procrustes_r2(some, rows) == pytest.approx(1, abs=1e-6)
    assert np.isfinite(judging.unpacked(judging.packed(np.zeros((9, 2))))).all()


def row_of(data, method, seed=0, *, kept=0.5, seconds=1.0):
    Y = np.random.default_rng(seed if method == "umap-learn" else 9).normal(size=(50, 2))
    shares = dict.fromkeys(("area", "distances", "triplets"), kept)
    case = {"data": data, "n": map_sets.MAP_SETS[data].n, "method": method, "seed": seed}
    return {**case, "seconds": seconds, "peak": 10**6, "kept": kept, **shares} | {
        "shape": judging.packed(Y)
    }


def test_the_page_says_where_others_win(tmp_path):
    rows = [row_of(data, "LandmarkMap", seed) for data in ("digits", "frey") for seed in range(2)]
    rows += [row_of("digits", "umap-learn", seed, kept=0.6, seconds=0.5) for seed in range(2)]
    rows += [row_of("frey", "umap-learn", seed, kept=0.4, seconds=2.0) for seed in range(2)]
    rows += [row_of(data, "PCA", kept=0.1, seconds=0.01) for data in ("digits", "frey")]
    failed = {"data": "frey", "n": 1965, "method": "openTSNE", "seed": 0, "error": "> 600 s"}
    page = runner.Page(tmp_path, "peers", "Maps")
    peers_page.show([*rows, failed], Settings(), page)
    text = " ".join(page.write().read_text().split())
    assert (
        "On 1 of 2 sets another method preserves more neighbors than LandmarkMap: umap-learn on "
        "Digits 8 x 8 (1,797 rows; 60.0 % instead of 50.0 %)." in text
    )
    assert "On 1 of 2 sets another method is faster than LandmarkMap: umap-learn on Digits" in text
    assert "On 0 of 2 sets another method differs less between seeds than LandmarkMap." in text
    # In the second half openTSNE failed, and has the last rank.
    assert "| openTSNE | 4.0 (4.0 to 4.0) |" in text
    assert "| openTSNE | > 600 s | - |" in text
    assert "| LandmarkMap | 2.0 (2.0 to 2.0) | **1.0 (1.0 to 1.0)** |" in text
