"""Classification in the embedding: digits, CT patches, graphs and methods."""

import importlib

import numpy as np
import pytest
from reproducing import reproduce

from experiments.framework.experiment import Settings
from experiments.paper import beyond, patients
from experiments.paper.classification import (
    COMPARISONS,
    REFERENCE,
    SCHEMES,
    Reading,
    Task,
    classify_scheme,
    compared_schemes,
    ordered_schemes,
    scored,
)
from experiments.paper.patches import Patches, load_patches, split_rows


def test_scores():
    train, labels = np.array([[0.0], [10.0]]), np.array([0, 1])
    test, truth = np.array([[1.0], [2.0], [3.0], [9.0]]), np.array([0, 0, 1, 1])
    assert scored(Task(train, labels, test, truth), train, test)["accuracy"] == 0.75


def test_one_seed_is_done_before_the_next_begins():
    order = ordered_schemes([5, 6])
    assert len(order) == len(set(order)) == 2 * len(SCHEMES)
    assert [seed for _, seed in order] == [5] * len(SCHEMES) + [6] * len(SCHEMES)


@pytest.fixture
def task():
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=2000)
    X = (0.7 * rng.normal(size=(8, 20))[labels] + rng.normal(size=(2000, 20))).astype(np.float32)
    return Task(X[:1500], labels[:1500], X[1500:], labels[1500:])


@pytest.mark.parametrize("name", SCHEMES)
def test_schemes(name, task):
    assert 0.6 < classify_scheme(task, name, 150, 10, 0)["accuracy"] < 0.99


def test_comparisons_are_corrected_for_their_number():
    rng = np.random.default_rng(0)
    rows = [
        {"scheme": name, "k": k, "seed": seed, "accuracy": 0.9 + 0.01 * rng.normal()}
        for name in SCHEMES
        for k in (1, 2)
        for seed in range(10)
    ]
    alone = [row for row in rows if row["k"] == 1]
    both = compared_schemes(rows, Reading((1, 2), ()))
    one = compared_schemes(alone, Reading((1,), ()))
    assert len(both) == 2 * len(one) == 2 * len(COMPARISONS)
    assert all(both[key].p_value >= one[key].p_value for key in one)
    assert any(both[key].p_value > one[key].p_value for key in one)


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
    assert all(row["ridge"] is None for row in euclidean)
    assert (
        len({row["accuracy"] for row in mnist}) > len(mnist) / 2
    )  # Settings do make a difference.
    assert all(0.8 < row["accuracy"] < 0.96 for row in mnist)
    assert "Bhattacharyya" in result.text


# Patients, and what is beyond the paper --------------------------------------------------------


def test_held_out_patients_are_the_same_for_every_count():
    owners = np.repeat(np.arange(20), 5)
    splits = [patients.held_out_rows(owners, count, 3) for count in (2, 4)]
    np.testing.assert_array_equal(splits[0][1], splits[1][1])
    assert len(set(owners[splits[0][1]])) == patients.N_HELD_OUT
    trained = [set(owners[train]) for train, _ in splits]
    assert [len(mine) for mine in trained] == [2, 4]
    assert trained[0] < trained[1]
    assert not trained[1] & set(owners[splits[1][1]])


def test_patients_quick_form(data_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(patients, "QUICK_TRAINED", (4,))
    monkeypatch.setattr(patients, "QUICK_PATCHES", 6000)
    result = reproduce("patients", tmp_path, Settings(quick=True, runs=1, data=data_dir))
    assert len(result.rows) == 1 + len(patients.COMPARED)
    assert all(0.5 < row["accuracy"] < 0.9 for row in result.rows)


def test_what_cannot_be_run_here_is_left_out(data_dir, tmp_path, monkeypatch):
    def missing(*_):
        raise ModuleNotFoundError("umap")

    kept = {"PCA": beyond.METHODS["PCA"], "umap-learn": missing}
    monkeypatch.setattr(beyond, "METHODS", kept)
    monkeypatch.setattr(beyond, "DATA", {"mnist": "MNIST"})
    result = reproduce("beyond", tmp_path, Settings(quick=True, runs=1, data=data_dir))
    assert {row["method"] for row in result.rows} == {*beyond.THE_PAPERS, "PCA"}
    assert "| umap-learn | not run |" in result.text
    assert not result.record["complete"]


@pytest.mark.parametrize(
    "name", [name for name in beyond.METHODS if not name.startswith(("umap", "scikit"))]
)
def test_methods(name, task):
    train, test = beyond.METHODS[name](task, 10, 150, 0)
    assert 0.5 < scored(task, train, test)["accuracy"] < 0.99
