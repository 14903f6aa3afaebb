"""Comparison of methods on a sample: the choice, its reproducibility, and what is skipped."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

import trigpoint as tp
from trigpoint._estimators import comparison
from trigpoint.metrics import neighborhood_agreement


@pytest.fixture(scope="module", autouse=True)
def fewer_compared():
    """Compare the neighborhoods of fewer points, which halves the time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comparison, "_COMPARED", 700)
        yield


@pytest.fixture(scope="module")
def compared(roll):
    return tp.compare_methods(roll[0], landmarks=200, random_state=0, n_jobs=1)


def test_a_roll_comes_out_unrolled(compared, roll):
    assert next(iter(compared.scores)) == "Isomap"
    assert set(compared.scores) == {"LaplacianEigenmaps", "Isomap", "KernelPCA", "LandmarkMap"}
    assert sorted(compared.scores.values(), reverse=True) == list(compared.scores.values())
    assert compared.scores["Isomap"] > 0.9 > compared.scores["LandmarkMap"]
    Y = compared.best.set_params(landmarks=200, random_state=0).fit_transform(roll[0])
    assert tp.metrics.coordinate_recovery(Y, roll[1]).min() > 0.99


def test_digits_come_out_in_groups():
    X, labels = (values[:1000] for values in load_digits(return_X_y=True))
    compared = tp.compare_methods(X, landmarks=200, random_state=0)
    assert repr(compared.best) == "LandmarkMap()"
    Y = compared.attempts[0].coordinates
    known, asked = compared.rows[:560], compared.rows[560:]
    accuracy = tp.metrics.knn_accuracy(Y[:560], labels[known], Y[560:], labels[asked])
    assert accuracy > 0.9


def test_scores_are_the_stated_ones(compared, roll):
    """Scores belong to the stored coordinates of the stored rows."""
    for attempt in compared.attempts:
        score = neighborhood_agreement(roll[0][compared.rows], attempt.coordinates)
        assert attempt.score == pytest.approx(score, rel=1e-12)
    centered = roll[0] - roll[0].mean(axis=0)
    axes = np.linalg.svd(centered[compared.rows], full_matrices=False)[2][:2]
    by_pca = neighborhood_agreement(roll[0][compared.rows], centered[compared.rows] @ axes.T)
    assert compared.pca_score == pytest.approx(by_pca, abs=0.02)


def test_the_same_seed_gives_the_same_scores(compared, roll, tmp_path):
    """Files and more threads give the same scores."""
    np.save(tmp_path / "roll.npy", roll[0])
    again = tp.compare_methods(tmp_path / "roll.npy", landmarks=200, random_state=0, n_jobs=2)
    assert again.scores == compared.scores
    np.testing.assert_array_equal(again.rows, compared.rows)


def test_representation(compared):
    lines = repr(compared).splitlines()
    assert lines[0].startswith("Isomap preserves neighborhoods best, on ")
    assert lines[1].split()[0] == "Isomap"
    assert lines[-1].split()[:1] == ["PCA,"]


class Unwilling(tp.LandmarkMap):
    """A sampler that rejects sparse points."""

    _takes_sparse = False


def test_what_cannot_be_tried_is_named(rng, monkeypatch):
    X = csr_array(np.where(rng.uniform(size=(300, 60)) < 0.05, rng.uniform(size=(300, 60)), 0))
    compared = tp.compare_methods(X, landmarks=100, random_state=0)
    assert compared.failures == {}
    assert len(compared.attempts) == 4
    others = tuple(kind for kind in comparison._COMPARED_METHODS if kind is not tp.LandmarkMap)
    monkeypatch.setattr(comparison, "_COMPARED_METHODS", (*others, Unwilling))
    compared = tp.compare_methods(X, landmarks=100, random_state=0)
    assert compared.failures == {"Unwilling": "does not take sparse points"}
    assert "does not take sparse points" in repr(compared)
    assert len(compared.attempts) == 3


def test_progress_metric_and_three_coordinates(rng):
    stages = []
    X = rng.normal(size=(200, 5))
    euclidean, cosine = (
        tp.compare_methods(
            X, 3, landmarks=100, metric=metric, random_state=0, verbose=lambda *a: stages.append(a)
        )
        for metric in ("euclidean", "cosine")
    )
    assert euclidean.scores != cosine.scores
    # The next fit uses what was compared.
    assert cosine.best.metric == "cosine"
    assert cosine.best.n_components == cosine.attempts[0].coordinates.shape[1] == 3
    assert ("comparing methods", 4, 4) in stages


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda X: X[:19], {}, "19 points, too few"),
        (lambda X: X, {"n_components": 4}, "n_components=4"),
        (lambda X: X, {"metric": "hamming"}, "metric='hamming'"),
        (lambda X: np.where(np.arange(300)[:, None] == 217, np.nan, X), {}, "row 217"),
        (lambda X: np.zeros((300, 3)), {}, "coincide.*nothing to embed"),
        (lambda X: X, {"landmarks": 301}, "landmarks=301"),
    ],
)
def test_refusals(change, options, message, rng):
    with pytest.raises(tp.ParameterError, match=message):
        tp.compare_methods(change(rng.normal(size=(300, 3))), **options)


def test_copies_and_lists(rng):
    """If there are few distinct points, all of them are landmarks."""
    X = np.repeat(rng.normal(size=(60, 3)), 4, axis=0)
    compared = tp.compare_methods(X, random_state=0)
    assert len(compared.attempts) == 4
    assert tp.compare_methods(X.tolist(), random_state=0).scores == compared.scores
