"""Classification in the embedding: digits, CT patches, and the graphs behind them."""

import importlib

import numpy as np
import pytest
from reproducing import reproduce

from experiments.framework.experiment import Settings
from experiments.paper.classification import (
    COMPARISONS,
    REFERENCE,
    SCHEMES,
    SLOW,
    nearest_neighbor_scores,
    ordered_schemes,
)
from experiments.paper.patches import Patches, load_patches, split_rows


def test_scores():
    train, labels = np.array([[0.0], [10.0]]), np.array([0, 1])
    test, truth = np.array([[1.0], [2.0], [3.0], [9.0]]), np.array([0, 0, 1, 1])
    accuracy, recall = nearest_neighbor_scores(train, labels, test, truth)
    assert accuracy == 0.75
    assert recall == pytest.approx((1 + 0.5) / 2)


def test_slow_schemes_come_last():
    order = ordered_schemes([5, 6])
    assert len(order) == len(set(order)) == 2 * len(SCHEMES)
    slow = [name in SLOW for name, _ in order]
    assert slow == sorted(slow)


def test_comparisons_are_of_schemes():
    assert {name for pair in COMPARISONS for name in pair} == set(SCHEMES)


@pytest.fixture
def patches():
    rng = np.random.default_rng(0)
    patients = rng.choice(6, 600, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    return Patches(np.zeros((600, 1), np.float32), np.zeros(600, int), patients)


@pytest.mark.parametrize("split", ["patch", "patient"])
def test_split_takes_every_patch_once(patches, split):
    train, test = split_rows(patches, split, 3)
    assert sorted([*train, *test]) == list(range(600))
    assert len(train) == pytest.approx(320, abs=0 if split == "patch" else 60)
    again, _ = split_rows(patches, split, 3)
    other, _ = split_rows(patches, split, 4)
    np.testing.assert_array_equal(train, again)
    assert not np.array_equal(train, other)


def test_patients_are_on_one_side(patches):
    train, test = split_rows(patches, "patient", 0)
    assert not set(patches.patients[train]) & set(patches.patients[test])
    both = split_rows(patches, "patch", 0)
    assert set(patches.patients[both[0]]) & set(patches.patients[both[1]])


def test_patches_have_organs_in_their_share(data_dir):
    patches = load_patches(data_dir / "ct", "rtog", 2000)
    assert patches.X.shape == (2000, 147)
    assert np.mean(patches.y > 0) == pytest.approx(0.3)
    # Clipped to the window, in units of 140 HU.
    assert np.ptp(patches.X) == pytest.approx(500 / 140, rel=1e-3)


@pytest.mark.parametrize("name", ["mnist", "headneck"])
def test_quick_form(name, data_dir, tmp_path, monkeypatch):
    module = importlib.import_module(f"experiments.paper.{name}")
    monkeypatch.setattr(module, "QUICK_COUNTS", (150,))
    settings = Settings(quick=True, runs=1, data=data_dir)
    result = reproduce(name, tmp_path, settings)
    rows = result.rows
    assert {row["scheme"] for row in rows} == {REFERENCE, *SCHEMES}
    accuracies = np.array([row["accuracy"] for row in rows])
    low, high = (0.75, 0.95) if name == "mnist" else (0.65, 0.85)
    assert ((accuracies > low) & (accuracies < high)).all()
    page = result.text
    assert all(scheme in page for scheme in SCHEMES)
    assert len(result.picture) > 10_000
    record = result.record
    assert record["complete"]
    assert record["parameters"]["bandwidth"] == 5.0
    # Runs that are there are not repeated.
    monkeypatch.setattr("experiments.paper.classification.classify", None)
    assert reproduce(name, tmp_path, settings).n_new == 0


def test_graphs_quick_form(data_dir, tmp_path):
    result = reproduce("graphs", tmp_path, Settings(quick=True, runs=1, data=data_dir))
    rows = result.rows
    mnist = [row for row in rows if row["data"] == "mnist"]
    euclidean = [row for row in mnist if row["metric"] == "euclidean"]
    assert all(row["ridge"] is None and row["m"] is None for row in euclidean)
    assert (
        len({row["accuracy"] for row in mnist}) > len(mnist) / 2
    )  # Settings do make a difference.
    assert all(0.8 < row["accuracy"] < 0.96 for row in mnist)
    assert "Bhattacharyya" in result.text
