"""What the default settings are worth: data sets, scores, and the best of a grid."""

import numpy as np
import pytest

from experiments.benchmarks import collection, defaults
from experiments.benchmarks.defaults import DEFAULT, UNIFORM, cross_fitted
from experiments.runner import MissingDataError, Settings


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
