"""Experiments on digits and CT patches: classification, splits, and the quick form."""

import numpy as np
import pytest
from reproducing import OneRun, reproduce

from experiments.data import Patches, load_patches, split_rows
from experiments.paper import mnist, patients
from experiments.paper.classification import (
    KMEANS,
    KMEANS_ROWS,
    LIBRARY,
    SCHEMES,
    Table,
    Task,
    compared,
    drawn,
    scored,
)


def test_scores():
    test = np.array([0, 0, 1, 1])
    task = Task(np.zeros((1, 1)), np.zeros(1), np.zeros((4, 1)), test)
    found = scored(task, np.array([0, 0, 0, 1]))
    assert found == {"accuracy": 0.75, "mean_recall": 0.75}
    task = Task(np.zeros((1, 1)), np.zeros(1), np.zeros((4, 1)), np.array([0, 1, 1, 1]))
    assert scored(task, np.array([0, 0, 0, 1]))["mean_recall"] == pytest.approx(2 / 3)


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=2000)
    X = (0.7 * rng.normal(size=(8, 20))[labels] + rng.normal(size=(2000, 20))).astype(np.float32)
    return Task(X[:1500], labels[:1500], X[1500:], labels[1500:])


def test_nearest_points_are_those_of_the_centers(task):
    centers, rows = drawn(task, KMEANS, 150, 0), drawn(task, KMEANS_ROWS, 150, 0)
    distances = np.linalg.norm(task.train[rows, None] - centers, axis=2)
    every = np.linalg.norm(task.train[:, None] - centers, axis=2)
    np.testing.assert_allclose(distances.min(axis=0), every.min(axis=0), rtol=1e-5)
    assert len(rows) > 145


def test_comparisons_are_corrected_for_their_number_on_the_page():
    rng = np.random.default_rng(0)
    rows = [
        {"scheme": name, "k": k, "seed": seed, "accuracy": 0.9 + 0.01 * rng.normal()}
        for name in SCHEMES[LIBRARY]
        for k in (1, 2)
        for seed in range(10)
    ]
    one = Table("one", LIBRARY, rows, (1,))
    alone = compared([one], ["accuracy"])
    both = compared([one, Table("other", LIBRARY, rows, (2,))], ["accuracy"])
    assert len(both) == 2 * len(alone) == 2 * len(one.pairs)
    assert all(both[key].p_value >= alone[key].p_value for key in alone)
    assert any(both[key].p_value > alone[key].p_value for key in alone)


def test_intervals_over_test_digits_by_hand():
    first = [{"errors": " ".join(["1"] * 20), "n_test": 400}]
    second = [{"errors": " ".join(["2", "3"] * 10), "n_test": 400}]
    # Groups of 20 digits: differences of 5 and of 10 points, ten of each.
    half = 2.093 * np.std([5, 10] * 10, ddof=1) / np.sqrt(20)
    assert mnist._interval(first, second) == f"+7.50 ± {half:.2f}"


# Splits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["patch", "patient"])
def test_split_takes_every_patch_once(split):
    rng = np.random.default_rng(0)
    owners = rng.choice(6, 600, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    patches = Patches(np.zeros((600, 1), np.float32), np.zeros(600, int), owners)
    train, test = split_rows(patches, split, 3)
    assert sorted([*train, *test]) == list(range(600))
    assert len(train) == pytest.approx(320, abs=0 if split == "patch" else 60)
    np.testing.assert_array_equal(train, split_rows(patches, split, 3)[0])
    assert not np.array_equal(train, split_rows(patches, split, 4)[0])
    assert bool(set(owners[train]) & set(owners[test])) == (split == "patch")


def test_held_out_patients_are_the_same_for_every_count():
    owners = np.repeat(np.arange(20), 5)
    splits = [patients.held_out_rows(owners, count, 3) for count in (2, 4)]
    np.testing.assert_array_equal(splits[0][1], splits[1][1])
    assert len(set(owners[splits[0][1]])) == patients.N_HELD_OUT
    trained = [set(owners[train]) for train, _ in splits]
    assert [len(mine) for mine in trained] == [2, 4]
    assert trained[0] < trained[1]
    assert not trained[1] & set(owners[splits[1][1]])


def test_patches_have_organs_in_their_share(data_dir):
    patches = load_patches(data_dir / "ct", "rtog", 2000)
    assert patches.X.shape == (2000, 147)
    assert np.mean(patches.y > 0) == pytest.approx(0.3)
    # Clipped to the window, in units of 140 HU.
    assert np.ptp(patches.X) == pytest.approx(500 / 140, rel=1e-3)


# Quick form --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("mnist", 0.75, 0.95),
        ("headneck", 0.65, 0.85),
        ("patients", 0.5, 0.9),
        ("readings", 0.6, 0.96),
        ("beyond", 0.5, 0.97),
    ],
)
def test_quick_forms(name, low, high, data_dir, tmp_path):
    result = reproduce(name, tmp_path, OneRun(quick=True, data=data_dir))
    accuracies = np.array([row["accuracy"] for row in result.rows])
    assert ((accuracies > low) & (accuracies < high)).all()
    # Settings change the result.
    assert len(set(accuracies)) > len(accuracies) / 2
    assert "nan" not in result.text
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_quick_runtime(data_dir, tmp_path):
    result = reproduce("runtime", tmp_path, OneRun(quick=True, data=data_dir))
    assert len(result.rows) == 2 * 3 * 6
    for row in result.rows:
        assert 0 < row["seconds"] < 60
        assert (row["iterations"] is not None) == row["method"].startswith("k-means")
