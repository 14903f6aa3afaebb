"""What the default settings are worth: data sets, scores, the best of a grid, and the page."""

import numpy as np
import pytest

from experiments.benchmarks import collection, defaults
from experiments.benchmarks.defaults import DEFAULT, KERNEL, PRINCIPAL, UNIFORM, cross_fitted
from experiments.framework.experiment import Settings
from experiments.framework.page import Page

QUICK = Settings(quick=True)
MADE = [name for name, entry in collection.COLLECTION.items() if not entry.missing(Settings())]
READ = ["mammoth", "lidar", "Frey faces", "cells", "COIL-20", "Isomap faces"]


@pytest.mark.parametrize("name", MADE)
def test_data_sets(name):
    X, _ = check_data_set(name, Settings())
    again, _ = collection.load(name, Settings())
    np.testing.assert_array_equal(X, again)


@pytest.mark.parametrize("name", READ)
def test_data_sets_from_files(name, data_dir):
    settings = Settings(data=data_dir)
    if collection.COLLECTION[name].missing(settings):
        pytest.skip(f"{name} is not in {data_dir}")
    if name == "cells":
        pytest.importorskip("h5py")
    _, labels = check_data_set(name, settings)
    assert (labels is not None) == (name in ("cells", "COIL-20"))


def check_data_set(name, settings):
    X, labels = collection.load(name, settings)
    assert X.dtype == np.float32
    assert X.ndim == 2
    assert len(X) <= collection.SIZE
    assert collection.COLLECTION[name].few == (len(X) < 2500)
    assert np.isfinite(X).all()
    assert np.abs(X.mean(axis=0, dtype=np.float64)).max() < 0.2 * X.std()
    if labels is not None:
        assert labels.shape == (len(X),)
        assert set(labels) == set(range(labels.max() + 1))
    return X, labels


@pytest.mark.parametrize("name", ["bowl", "digits"])
def test_a_row_has_the_scores_of_the_grid(name):
    row = defaults.run({"data": name, "seed": 0}, QUICK)
    assert row["k"] == 210
    assert row["labeled"] == (name == "digits")
    scores = {count: defaults.unpacked(row, count) for count in (2, 10, 50)}
    for count, found in scores.items():
        assert (PRINCIPAL in found) == (count <= row["d"])
        assert len(set(found.values())) > 5
        assert all(0 <= score <= 1 for score in found.values())
    # With 50 coordinates, the default is one of the grid.
    assert scores[50][DEFAULT] in set(scores[50].values()) - {scores[50][UNIFORM]}
    # Planes are for pictures.
    assert any("smooth" in setting for setting in scores[2])
    assert not any("smooth" in setting for setting in scores[10])
    assert "euclidean 200, all" in scores[50]


def test_scores_by_hand():
    line = np.arange(40, dtype=np.float32)[:, None]
    trial = defaults.Trial.split(line, None, 0)
    assert (len(trial.train), len(trial.test)) == (28, 12)
    assert trial.rated(trial.train, trial.test) == 1.0
    # Folded in the middle, half of the ten nearest come from the other side.
    folded = [np.abs(part - 19.5) for part in (trial.train, trial.test)]
    assert 0.3 < trial.rated(*folded) < 0.8

    labels = (line[:, 0] >= 20).astype(int)
    trial = defaults.Trial.split(line, labels, 0)
    assert trial.rated(trial.train, trial.test) >= 11 / 12
    wrong = -np.sign(trial.test - 19.5)
    assert trial.rated(np.sign(trial.train - 19.5), wrong) == 0.0


def test_the_best_is_chosen_on_splits_that_do_not_count():
    scores = {
        "good in even splits": np.array([9.0, 0.0, 9.0, 1.0]),
        "good in odd splits": np.array([2.0, 8.0, 3.0, 8.0]),
        "good in all": np.array([7.0, 7.0, 7.0, 7.0]),
    }
    best, chosen = cross_fitted(scores)
    # Even splits have the best setting of the odd ones, and the other way round.
    assert best.tolist() == [2.0, 0.0, 3.0, 1.0]
    assert chosen == ("good in even splits", "good in odd splits")

    best, chosen = cross_fitted({"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0, 3.0, 4.0])})
    assert best.tolist() == [2.0, 3.0, 4.0]
    assert chosen == ("b",)


# Two settings of the grid.
A, B = "euclidean 5, graph", "euclidean 20, all"


def row(data, seed, d, labeled, scores):
    sizes = {"d": d, "dimension": 2.0, "labeled": labeled}
    units = [scores.get(name) for name in defaults.names(2)]
    packed = [None if score is None else round(100 * score) for score in units]
    return {"data": data, "seed": seed, **sizes, "scores": {"2": packed}}


def page_of(rows, tmp_path):
    page = Page(tmp_path, "page", "Page")
    defaults.show(rows, Settings(), page)
    return page.write().read_text()


def test_the_page_counts_where_the_default_is_behind(tmp_path):
    names = {"default": DEFAULT, "uniform": UNIFORM, "pca": PRINCIPAL, "kpca": KERNEL}
    names |= {"a": A, "b": B}

    def rows(data, d, labeled, **means):
        for seed in range(4):
            scores = {names[name]: mean + seed for name, mean in means.items()}
            yield row(data, seed, d, labeled, scores)

    text = page_of(
        [
            # Known, and within a point; PCA and uniform landmarks are better, by little.
            *rows("digits", 64, True, a=90.5, b=80, default=90, uniform=90.4, pca=90.9, kpca=50),
            # Not known: behind all.
            *rows("tube", 3, False, a=30, b=44.5, default=40, uniform=41, pca=60, kpca=50),
            *rows("chirps", 384, True, a=93, b=91, default=91, uniform=90, pca=92.5, kpca=50),
            # A single split cannot be compared, a failed one has no scores.
            row("bowl", 0, 3, False, {DEFAULT: 50, A: 60}),
            {"data": "bowl", "seed": 1, "error": "> 600 s"},
        ],
        tmp_path,
    )
    assert "| 2 coordinates | all | 3 | 1 | 1 | 1 | 1 of 2 |" in text
    assert "| 2 coordinates | in italics | 2 | 0 | 1 | 1 | 1 of 1 |" in text
    assert "- 2 coordinates, more than 3 behind: *tube* (4.5)\n" in text
    assert "- 2 coordinates, below uniform landmarks: *tube* (1.0)\n" in text
    assert "below PCA by more than 1: *chirps* (1.5)\n" in text
    lines = [line for line in text.splitlines() if line.startswith(("| digits", "| *"))]
    # Those with few columns first; scores are means over the seeds.
    assert lines == [
        f"| *tube* | 3 | 2.0 | neighbors kept | 41.5 | 46.0 | {B} | 42.5 | 61.5 | 51.5 |",
        f"| digits | 64 | 2.0 | accuracy | 91.5 | 92.0 | {A} | 91.9 | 92.4 | 51.5 |",
        f"| *chirps* | 384 | 2.0 | accuracy | 92.5 | 94.5 | {A} | 91.5 | 94.0 | 51.5 |",
    ]
    assert "bowl" not in text
    # Means of what each is better than the default.
    assert "| PCA | +7.5 | - | - | - |" in text
    assert f"| {A} | -2.5 | - | - | - |" in text
    assert "### 10 coordinates" not in text


def test_noise_is_not_taken_for_a_difference(tmp_path):
    default, uniform = (80, 80, 80, 80), (86, 78, 85, 77)
    rows = [
        row("digits", seed, 64, True, {DEFAULT: a, UNIFORM: b, A: a})
        for seed, (a, b) in enumerate(zip(default, uniform, strict=True))
    ]
    text = page_of(rows, tmp_path)
    assert "| 2 coordinates | all | 1 | 1 | 0 | 0 | 0 of 0 |" in text
    assert f"| digits | 64 | 2.0 | accuracy | 80.0 | 80.0 | {A} | 81.5 | - | - |" in text
