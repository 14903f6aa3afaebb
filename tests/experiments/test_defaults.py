"""What the default settings are worth: data sets, scores, the best of a grid, and the page."""

import numpy as np
import pytest

from experiments.benchmarks import collection, defaults
from experiments.benchmarks.defaults import DEFAULT, KERNEL, PRINCIPAL, UNIFORM, cross_fitted
from experiments.pages import Page
from experiments.runner import MissingDataError, Settings

# Two settings of the grid.
A, B = "euclidean 5, graph", "euclidean 20, all"


@pytest.mark.parametrize("name", [name for name in collection.COLLECTION if "MNIST" not in name])
def test_data_sets(name, data_dir):
    if name.startswith("CT"):
        pytest.skip("they take long to cut")
    try:
        X, labels = collection.load(name, Settings(data=data_dir))
    except (MissingDataError, ModuleNotFoundError) as error:
        pytest.skip(str(error))
    assert X.dtype == np.float32
    assert len(X) <= collection.SIZE
    assert collection.COLLECTION[name].few == (len(X) < 2500)
    assert np.isfinite(X).all()
    assert np.abs(X.mean(axis=0, dtype=np.float64)).max() < 0.2 * X.std()
    if labels is not None:
        assert labels.shape == (len(X),)
        assert set(labels) == set(range(labels.max() + 1))


def test_a_row_has_the_scores_of_the_grid():
    row = defaults.run({"data": "digits", "seed": 0}, Settings(quick=True))
    assert row["k"] == 210
    assert row["labeled"]
    scores = {count: defaults.unpacked(row, count) for count in (2, 10, 50)}
    for found in scores.values():
        assert len(set(found.values())) > 5
        assert all(0 <= score <= 1 for score in found.values())
    # With 50 coordinates, the default is one of the grid.
    assert scores[50][DEFAULT] in set(scores[50].values()) - {scores[50][UNIFORM]}
    # Local planes are for two coordinates only.
    assert any("smooth" in setting for setting in scores[2])
    assert not any("smooth" in setting for setting in scores[10])


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


def rows(data, d, labeled, *, noise=(0, 0, 0, 0), **means):
    names = {"default": DEFAULT, "uniform": UNIFORM, "pca": PRINCIPAL, "kpca": KERNEL, "a": A}
    names["b"] = B
    for seed, extra in enumerate(noise):
        scores = {names[name]: mean + seed for name, mean in means.items()}
        scores[UNIFORM] += extra
        packed = [scores.get(name) and round(100 * scores[name]) for name in defaults.names(2)]
        sizes = {"d": d, "dimension": 2.0, "labeled": labeled}
        yield {"data": data, "seed": seed, **sizes, "scores": {"2": packed}}


def test_the_page_counts_where_the_default_is_behind(tmp_path):
    page = Page(tmp_path, "page", "Page")
    found = [
        # Known, and within a point; PCA and uniform landmarks are better, by little.
        *rows("digits", 64, True, a=90.5, b=80, default=90, uniform=90.4, pca=90.9, kpca=50),
        # Not known: behind all.
        *rows("tube", 3, False, a=30, b=44.5, default=40, uniform=41, pca=60, kpca=50),
        # Uniform landmarks are better by 1.5 in the mean, which may be noise.
        *rows("chirps", 384, True, noise=(9, -6, 8, -5), a=93, default=91, uniform=91, pca=92.5),
    ]
    defaults.show(found, Settings(), page)
    text = page.write().read_text()
    assert "| 2 coordinates | all | 3 | 1 | 1 | 1 | 1 of 2 |" in text
    assert "| 2 coordinates | in italics | 2 | 0 | 1 | 1 | 1 of 1 |" in text
    assert "- 2 coordinates, more than 3 behind: *tube* (4.5)\n" in text
    assert "- 2 coordinates, below uniform landmarks: *tube* (1.0)\n" in text
    assert "below PCA by more than 1: *chirps* (1.5)\n" in text
    # Those with few columns first; scores are means over the seeds.
    assert [line for line in text.splitlines() if line.startswith(("| digits", "| *"))] == [
        f"| *tube* | 3 | 2.0 | neighbors kept | 41.5 | 46.0 | {B} | 42.5 | 61.5 | 51.5 |",
        f"| digits | 64 | 2.0 | accuracy | 91.5 | 92.0 | {A} | 91.9 | 92.4 | 51.5 |",
        f"| *chirps* | 384 | 2.0 | accuracy | 92.5 | 94.5 | {A} | 94.0 | 94.0 | - |",
    ]
    # Mean of how much better than the default it is.
    assert "| PCA | +7.5 | - | - | - |" in text
