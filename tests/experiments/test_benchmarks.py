"""Benchmarks: separate processes, their limits, and all groups on small data."""

import importlib
import os

import numpy as np
import pandas as pd
import pytest
from worker import do

from experiments.benchmarks import gpu, peers, peers_page, samplers, sets, tables
from experiments.benchmarks.measuring import apart, measure
from experiments.pages import Page
from experiments.runner import MissingDataError, Settings

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
    # Preparation is not timed, and settings are passed on.
    found = short({"do": "prepare"}, Settings(data=tmp_path))
    assert (found["quick"], found["data"]) == (False, str(tmp_path))
    quick = apart(do, quick_limit=0.2)
    assert quick({"do": "sleep", "sleep": 60}, Settings(quick=True)) == {"error": "> 0.2 s"}


def test_memory_is_the_peak_above_the_start():
    size, cost = measure(lambda: len(bytearray(BYTES)))
    assert size == BYTES
    assert 0.9 * BYTES < cost["peak"] < 1.5 * BYTES
    assert cost["seconds"] > 0


# Groups ---------------------------------------------------------------------------------------

# Even smaller than the quick form, for groups that need neither peers nor real data.
SMALL = {
    "headline": [{"n": 6000, "k": 100, "m": 60}],
    "selection": [
        {"data": "roll", "n": n, "k": 20, "bandwidth": 10.0, "seed": 0, "method": name}
        for n in (500, 1000)
        for name in ("trigpoint EfficientDPP", "uniform", "scikit-learn kmeans++")
    ],
    "samplers": [{"data": name, "seed": 0} for name in ("bowl", "wine", "digits")],
    "embedding": [
        {"data": "roll", "n": n, "seed": 0, "method": "trigpoint, leading"} for n in (1500, 3000)
    ],
    "attainable": [
        {"data": "digits", "n": 500, "n_components": count, "method": name}
        for count in (1, 2)
        for name in ("LandmarkMap", "Isomap")
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
    rows = [{**case, **module.run(case, Settings(quick=True))} for case in SMALL[name]]
    # A failed case has only the columns of the case, and no values elsewhere.
    nothing = dict.fromkeys(rows[-1]) | SMALL[name][-1] | {"error": "> 600 s"}
    failed = [] if name in ("samplers", "attainable") else [nothing | {"method": "geosketch"}]
    if name in ("embedding", "peers"):
        failed[0]["method"] = "PHATE" if name == "embedding" else "openTSNE"
    page = Page(tmp_path, name, "Group")
    module.show([*rows, *failed], Settings(), page)
    text = page.write().read_text()
    assert "nan" not in text
    assert "| ---: |" in text
    assert ("> 600 s" in text) == bool(failed)
    assert (tmp_path / f"{name}.png").exists() == (name in ("selection", "embedding", "peers"))
    if name == "selection":
        radii = {row["method"]: row["radius"] for row in rows[-3:]}
        assert radii["trigpoint EfficientDPP"] < radii["uniform"]


def test_tables_with_categories(tmp_path, monkeypatch, rng):
    classes = rng.integers(2, size=60)
    frame = pd.DataFrame({"x": rng.normal(size=60) + 9 * classes, "kind": ["a", "b", None] * 20})
    monkeypatch.setattr(tables, "load", lambda name: (frame, classes))
    monkeypatch.setattr(tables, "TABLES", ["made"])
    cases = list(tables.cases(Settings(quick=True)))
    assert len(cases) == 3
    rows = [{**case, **tables.run(case, Settings())} for case in cases]
    assert all(row["accuracy"] > 0.9 for row in rows)
    assert tables.encoded(frame, scaled=False).shape == (60, 4)
    page = Page(tmp_path, "tables", "Tables")
    tables.show(rows, Settings(), page)
    assert "is better than" in page.write().read_text()
    groups = np.repeat([0, 1], 10)
    line = np.arange(20.0)[:, None] + 100 * groups[:, None]
    assert tables.accuracy(line, groups) == 1.0
    assert tables.accuracy(line, np.arange(20) % 2) < 0.5


def test_rows_on_a_gpu_that_was_measured(tmp_path):
    case = next(gpu.cases(Settings()))
    row = case | {"seconds": 1.5, "memory": 3e9, "device": "GPU", "fit: start": 0.25}
    row |= {"repeated": 1, "preserved": 0.5, "transform": 0.1}
    failed = dict.fromkeys(row) | case | {"error": "> 600 s"}
    page = Page(tmp_path, "gpu", "Group")
    gpu.show([row, failed], Settings(), page)
    text = page.write().read_text()
    assert "| fit: start | 0.250 |" in text
    assert "failed: > 600 s" in text


def test_scores_by_hand():
    line = np.arange(40, dtype=np.float32)[:, None]
    trial = samplers.Trial(line, None, 0)
    assert (len(trial.train), len(trial.test)) == (28, 12)
    assert trial.hits(trial.train, trial.test).mean() == 1.0
    # Folded in the middle, half of the ten nearest neighbors come from the other side.
    folded = [np.abs(part - 19.5) for part in (trial.train, trial.test)]
    assert 0.3 < trial.hits(*folded).mean() < 0.8

    trial = samplers.Trial(line, (line[:, 0] >= 20).astype(int), 0)
    assert trial.hits(trial.train, trial.test).mean() >= 11 / 12
    assert not trial.hits(np.sign(trial.train - 19.5), -np.sign(trial.test - 19.5)).any()


# Data sets ------------------------------------------------------------------------------------


# Maps compared with other methods --------------------------------------------------------------


def row_of(data, method, seed=0, *, kept=0.5, seconds=1.0):
    Y = np.random.default_rng(seed if method == "umap-learn" else 9).normal(size=(50, 2))
    shares = dict.fromkeys(("preserved", "area", "distances", "triplets"), kept)
    case = {"data": data, "n": sets.SETS[data].n, "method": method, "seed": seed}
    return {**case, "seconds": seconds, "memory": 10**6, **shares} | {"shape": peers.packed(Y)}


def test_the_page_says_where_others_win(tmp_path):
    rows = [row_of(data, "LandmarkMap", seed) for data in ("digits", "frey") for seed in range(2)]
    rows += [row_of("digits", "umap-learn", seed, kept=0.6, seconds=0.5) for seed in range(2)]
    rows += [row_of("frey", "umap-learn", seed, kept=0.4, seconds=2.0) for seed in range(2)]
    rows += [row_of(data, "PCA", kept=0.1, seconds=0.01) for data in ("digits", "frey")]
    # Large and held-out data sets, with fewer methods.
    rows += [row_of(data, "LandmarkMap") for data in ("tree", "soils", "beats")]
    rows += [row_of("tree", "umap-learn", kept=0.52, seconds=99.0)]
    rows += [row_of("soils", "PCA", kept=0.2), row_of("beats", "PCA", kept=0.7)]
    failed = {"data": "frey", "n": 1965, "method": "openTSNE", "seed": 0, "error": "> 600 s"}
    page = Page(tmp_path, "peers", "Maps")
    peers_page.show([*rows, failed], Settings(), page)
    text = page.write().read_text()
    place = "umap-learn, Digits 8 x 8, 1,797 rows"
    fast = f"2.0 times as fast | 2.0 times as fast ({place})"
    assert f"| seconds | 1 of 2 | 0 of 1 | umap-learn (1) | {fast} |" in text
    most = "20.0 points (PCA, Heartbeats, 6,838 rows)"
    by = "umap-learn (2), PCA (1)"
    assert f"| preserved | 1 of 3 | 2 of 2 | {by} | 10.0 points | {most} |" in text
    assert "| R² | 0 of 2 | 0 of 0 |  | - | - |" in text
    assert "| Indian Pines, 21,025 rows | 1.00 s, 50.0 % | not run | 1.00 s, 20.0 % |" in text
    assert "| Tree, 200,000 rows | 1.00 s, 50.0 % | 99.0 s, 52.0 % | not run |" in text
    assert "| openTSNE | > 600 s | - |" in text
    # Of the first half, all methods were run on one data set, on which openTSNE failed and ranks
    # last.
    assert "| openTSNE | 4.0 (4.0 to 4.0) |" in text
    assert "| LandmarkMap | 2.0 (2.0 to 2.0) | **1.0 (1.0 to 1.0)** |" in text
    assert "| LandmarkMap | **1.5 (1.5 to 1.5)** | 2.0 (2.0 to 2.0) |" in text
