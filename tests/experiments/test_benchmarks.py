"""Benchmarks: cases in processes of their own, their limits, and the page of the results."""

import json
import sys
from pathlib import Path

import pytest

from experiments import benchmarks
from experiments.benchmarks import quality, report
from experiments.framework import worker
from experiments.framework.experiment import Settings, load_experiment
from experiments.framework.measuring import measure
from experiments.framework.worker import run_apart

COMMITTED = Path(report.__file__).parent
BYTES = 50_000_000

# Cases that do what a peer might; run in processes that have it on their path.
GROUP = """
import os, time
import numpy as np
from experiments.framework.experiment import Experiment
from experiments.framework.measuring import timed

def run(case, settings):
    if case["do"] == "settings":
        return {"quick": settings.quick, "data": str(settings.data)}
    if case["do"] == "raise":
        raise ValueError("no  such\\nthing")
    if case["do"] == "memory":
        np.empty(10**15)
    if case["do"] == "die":
        os._exit(3)
    if case["do"] == "print":
        print("noise")
    if case["do"] == "prepare":
        time.sleep(0.6)
    seconds, _ = timed(lambda: time.sleep(case.get("sleep", 0)))
    return {"seconds": seconds}

EXPERIMENT = Experiment("group", "Group", None, run, None)
"""


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """Run a case of the group above in a process."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "group.py").write_text(GROUP)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    def run(limit=30, settings=None, **case):
        return run_apart("made", "group", {"limit": limit, **case}, settings or Settings())

    return run


def test_a_case_apart_gives_its_result(apart, tmp_path):
    assert apart(do="print")["seconds"] >= 0
    found = apart(do="settings", settings=Settings(quick=True, data=tmp_path))
    assert found["quick"] is True
    assert found["data"] == str(tmp_path)
    assert apart(do="settings")["data"] == "None"


def test_failures_are_results(apart):
    assert apart(do="raise")["error"] == "ValueError: no such thing"
    assert apart(do="memory")["error"].startswith("out of memory (asked for 7.")
    assert apart(do="die")["error"].startswith("ended with status 3")


def test_the_limit_of_time_is_for_what_is_timed(apart):
    assert apart(do="sleep", sleep=60, limit=0.2) == {"error": "> 0.2 s"}
    assert "error" not in apart(do="prepare", limit=0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="memory of others is read from /proc")
def test_the_limit_of_memory(apart, monkeypatch):
    monkeypatch.setattr(worker, "MEMORY_LIMIT", 1e6)
    assert apart(do="prepare")["error"] == "> 0 GB"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak cannot be reset")
def test_memory_is_the_peak_above_the_start():
    def fit():
        return len(bytearray(BYTES))

    size, cost = measure(fit)
    assert size == BYTES
    assert 0.9 * BYTES < cost["peak"] < 1.5 * BYTES
    assert cost["seconds"] > 0


# Leaving out ----------------------------------------------------------------------------------


def row(n, seed=0, **result):
    return {"family": "roll umap", "n": n, "k": 10, "seed": seed, "limit": 600, **result}


@pytest.mark.parametrize(
    ("rows", "n", "reason"),
    [
        ([row(100, seconds=1.0)], 1000, None),
        ([row(100, seconds=61.0)], 1000, "not tried: 61 s at n = 100"),
        ([row(100, seconds=61.0)], 100, None),
        ([row(100, error="> 600 s")], 1000, "not tried: > 600 s at n = 100"),
        ([row(100, error="> 600 s")], 100, "> 600 s"),
        (
            [row(1000, error="not tried: > 600 s at n = 100")],
            10**4,
            "not tried: > 600 s at n = 100",
        ),
        # The largest says most.
        ([row(100, seconds=61.0), row(1000, seconds=62.0)], 2000, None),
        ([row(100, error="died") | {"family": "mnist umap"}], 1000, None),
    ],
)
def test_what_is_hopeless_is_not_tried(rows, n, reason):
    assert report._hopeless(row(n), rows) == reason


def test_without_a_family_everything_is_tried():
    case = {"n": 1000, "limit": 600}
    assert report._hopeless(case, [{"n": 100, "error": "> 600 s"}]) is None
    assert not report._slow(case, [{"n": 1000, "seconds": 100.0}])


def test_slow_cases_have_one_seed():
    assert report._slow(row(100, seed=1), [row(100, seconds=21.0)])
    assert not report._slow(row(100, seed=1), [row(100, seconds=19.0)])
    assert not report._slow(row(200, seed=1), [row(100, seconds=21.0)])


# Groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", benchmarks.NAMES)
@pytest.mark.parametrize("quick", [True, False])
def test_cases_go_through_json_and_are_distinct(name, quick):
    group = load_experiment("experiments.benchmarks", name)
    assert group.name == name
    cases = list(group.cases(Settings(quick=quick)))
    assert [json.loads(json.dumps(case)) for case in cases] == cases
    assert len({json.dumps(case) for case in cases}) == len(cases)
    assert cases


def test_a_group_goes_on_is_finished_and_starts_anew(tmp_path, monkeypatch):
    measured = []
    settings = Settings(quick=True)

    def fails(package, name, case, settings):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(case["data"])
        return {"error": "> 10 s"}

    monkeypatch.setattr(report, "run_apart", fails)
    with pytest.raises(KeyboardInterrupt):
        report.run("pool", tmp_path, settings, quiet=True)
    text = report.show("pool", tmp_path, settings).read_text()
    assert "Interrupted: rows are missing" in text

    measured.clear()
    assert report.run("pool", tmp_path, settings, quiet=True) == 1
    assert measured == ["digits"]
    table = report.table(tmp_path, "pool")
    assert [row["data"] for row in table.rows] == ["roll", "groups", "digits"]
    assert {row["limit"] for row in table.rows} == {report.QUICK_FIT_LIMIT}
    text = report.show("pool", tmp_path, settings).read_text()
    assert "`make bench ONLY=pool`, run 2" in text
    assert text.count("> 10 s") == 3
    assert "Interrupted" not in text

    measured.clear()
    with pytest.raises(KeyboardInterrupt):
        report.run("pool", tmp_path, settings, quiet=True)
    assert measured == ["roll", "groups"]


# Smaller than the quick form: groups that need neither peers nor real data.
SMALL = {
    "headline": [{"n": 6000, "k": 100, "m": 60}],
    "selection": [
        {"data": "roll", "n": n, "k": 20, "bandwidth": 10.0, "seed": 0, "method": name}
        | {"options": {}, "family": f"roll {name}"}
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
        {"data": "roll", "n": n, "seed": 0, "method": "trigpoint, leading", "family": "a"}
        for n in (1500, 3000)
    ],
    "maps": [
        {"data": "roll", "n": 300, "method": name}
        for name in ("LandmarkMap", "LandmarkMap, refined")
    ],
    "map_speed": [{"method": "LandmarkMap", "n": 500}],
    "memory_map": [{"n": 6000}],
}


@pytest.mark.filterwarnings("ignore:the landmark graph falls")
def test_groups_on_small_data(tmp_path):
    for name, cases in SMALL.items():
        group = load_experiment("experiments.benchmarks", name)
        table = report.table(tmp_path, name)
        table.path.parent.mkdir(exist_ok=True)
        table.start("2026-01-01 00:00 UTC", report._environment())
        for case in cases:
            limits = {"limit": 600, "anonymous_peak": 10**8}
            table.add(case, group.run(case, Settings(quick=True)) | limits)
        table.finish("2026-01-01 00:01 UTC", "01234567")
    text = report.show("headline", tmp_path, Settings()).read_text()
    assert "nan" not in text
    for name in SMALL:
        assert f"\n\n`make bench ONLY={name}`, run 2026-01-01 00:00 UTC" in text
    assert {path.stem for path in (tmp_path / "plots").iterdir()} == {
        *("selection", "quality", "embedding", "maps")
    }
    radii = {row["method"]: row["radius"] for row in report.table(tmp_path, "selection").rows[-3:]}
    assert radii["trigpoint EfficientDPP"] < radii["uniform"]


def test_committed_page_is_that_of_the_committed_measurements(tmp_path):
    (tmp_path / "results").symlink_to(COMMITTED / "results")
    written = report.show("headline", tmp_path, Settings())
    assert written.read_text() == (COMMITTED / "RESULTS.md").read_text()
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        path.name for path in (COMMITTED / "plots").iterdir()
    }
