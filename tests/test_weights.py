"""Weights of rows: a row of weight w counts like w copies of it."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.base import clone
from tests.samplers.subset_statistics import (
    algorithm_2_probabilities,
    determinant,
    ordered_probabilities,
    ratio,
    repulsions,
    subsets,
    welsch,
)
from tests.sources.formats import held

import trigpoint as tp
from trigpoint import _pool

SAMPLERS = [
    tp.EfficientDPP(20),
    tp.EfficientDPP(20, n_neighbors=30, pool=None),
    tp.EfficientDPP(20, refine=True),
    tp.EfficientDPP("auto", tolerance=0.3),
    tp.RPCholesky(20),
    tp.FarthestPoint(20),
    tp.KMeansPlusPlus(20),
    tp.KMeansLandmarks(20),
    tp.KMeansLandmarks(20, snap=False),
]
ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=50),
    tp.LaplacianEigenmaps(landmarks=tp.EfficientDPP(50), metric="seuclidean"),
    tp.DiffusionMaps(landmarks=50),
    tp.Isomap(landmarks=tp.FarthestPoint(50)),
    tp.KernelPCA(landmarks=50, metric="manhattan"),
    tp.LandmarkMap(n_iter=20),
    tp.LandmarkMap(landmarks=50, n_iter=20),
    tp.LandmarkMap(metric="seuclidean", n_iter=20),
]


@pytest.fixture(name="X")
def points(rng):
    return rng.normal(size=(300, 3))


# Copies, to the bit --------------------------------------------------------------------------


def repeated(X):
    """Weights from 0 to 3, the row of each copy, and all copies."""
    w = np.random.default_rng(1).integers(4, size=len(X))
    rows = np.repeat(np.arange(len(X)), w)
    return w, rows, X[rows]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_whole_weights_choose_the_landmarks_of_repeated_rows(sampler, X):
    w, rows, copies = repeated(X)
    sampler = clone(sampler).set_params(random_state=0)
    expected = clone(sampler).fit(copies)
    # Multiples count as much, and only the ratio of weights matters.
    for weights in (w, 7 * w, w / 4):
        sampler.fit(X, sample_weight=weights)
        np.testing.assert_array_equal(sampler.landmarks_, expected.landmarks_)
        if expected.indices_ is not None:
            np.testing.assert_array_equal(sampler.indices_, rows[expected.indices_])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_whole_weights_give_the_coordinates_of_repeated_rows(estimator, X):
    w, rows, copies = repeated(X)
    estimator = clone(estimator).set_params(random_state=0)
    expected = clone(estimator).fit(copies)
    coordinates = estimator.fit_transform(X, sample_weight=w)
    np.testing.assert_array_equal(coordinates[rows], expected.transform(copies))
    # Rows of weight 0 are transformed.
    np.testing.assert_array_equal(coordinates, expected.transform(X))
    np.testing.assert_array_equal(estimator.landmark_indices_, rows[expected.landmark_indices_])
    if hasattr(estimator, "masses_"):
        np.testing.assert_array_equal(estimator.masses_, expected.masses_)


@pytest.mark.parametrize(
    "estimator", [*SAMPLERS, *ESTIMATORS, tp.ExactDPP(), tp.Uniform()], ids=str
)
def test_equal_weights_change_nothing(estimator, X):
    estimator = clone(estimator).set_params(random_state=0)
    if "n_landmarks" in estimator.get_params() and estimator.n_landmarks is None:
        # More copies of all rows are more landmarks.
        estimator.set_params(n_landmarks=20)
    expected = clone(estimator).fit(X)
    name = "landmarks_" if hasattr(expected, "indices_") else "landmark_embedding_"
    found = getattr(estimator.fit(X, sample_weight=np.full(300, 0.3)), name)
    # Masses of 0.3 are rounded.
    rtol = 1e-8 if isinstance(estimator, tp.LandmarkMap) else 0
    np.testing.assert_allclose(found, getattr(expected, name), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("kind", ["points.npy", "points.h5", "points.parquet", "tensor", "dask"])
def test_weights_of_rows_in_any_storage(kind, X, tmp_path):
    w = np.random.default_rng(1).exponential(size=300)
    emb = tp.Isomap(landmarks=30, random_state=0)
    expected = clone(emb).fit_transform(X, sample_weight=w)
    if kind == "dask":
        source = pytest.importorskip("dask.array").from_array(X, chunks=(70, 3))
        found = emb.fit_transform(source, sample_weight=w)
    else:
        with held(kind, tmp_path, X) as source:
            found = emb.fit_transform(source, sample_weight=w)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_rows_of_weight_0_are_never_drawn(X):
    w = np.random.default_rng(1).exponential(size=300)
    w[::2] = 0
    others = [tp.ExactDPP(20), tp.Uniform(100)]
    for sampler in [s for s in [*SAMPLERS, *others] if getattr(s, "snap", True)]:
        chosen = clone(sampler).set_params(random_state=0).fit(X, sample_weight=w).indices_
        assert w[chosen].all()
        assert len(np.unique(chosen)) == len(chosen)
    assert w[tp.select(X, 30, sample_weight=w, random_state=0).indices].all()


# In distribution -----------------------------------------------------------------------------

LEVEL, POWER, RUNS = 0.001, 0.9, 600
POINTS = np.random.default_rng(171).normal(size=(5, 2))
WEIGHTS = np.array([1, 3, 1, 2, 4])
M = 4


def kernel(X):
    return np.exp(-cdist(X, X, "sqeuclidean") / 2)


def algorithm_2(w):
    """Rows of the copies that Algorithm 2 draws, with copies of a landmark excluded."""
    rows = np.repeat(np.arange(len(w)), w)
    found = {}
    factors = repulsions(POINTS[rows], min(M, len(rows)), welsch, 1.0)
    factors[rows[:, None] == rows] = 0
    for outcome, p in algorithm_2_probabilities(factors, 2).items():
        key = tuple(map(int, rows[list(outcome)]))
        found[key] = found.get(key, 0) + p
    return {key: p for key, p in found.items() if len(set(key)) == len(key)}


def determinants(w, sizes):
    L = kernel(POINTS)
    found = {J: w[list(J)].prod() * determinant(L, J) for J in subsets(len(w), sizes)}
    return {J: p / sum(found.values()) for J, p in found.items()}


def one_by_one(w):
    def remaining(J):
        return np.where(np.isin(np.arange(len(w)), J), 0.0, w)

    return ordered_probabilities(len(w), 2, remaining)


def residuals(w):
    L = kernel(POINTS)

    def remaining(J):
        explained = L[:, J] @ np.linalg.solve(L[np.ix_(J, J)], L[J]) if J else 0 * L
        return w * np.maximum(np.diag(L - explained), 0)

    return ordered_probabilities(len(w), 2, remaining)


CASES = {
    "EfficientDPP": (tp.EfficientDPP(2, n_neighbors=M, bandwidth=1.0), algorithm_2, True),
    "k-DPP": (tp.ExactDPP(2, bandwidth=1.0), lambda w: determinants(w, [2]), False),
    "DPP": (tp.ExactDPP(bandwidth=1.0), lambda w: determinants(w, range(6)), False),
    "Uniform": (tp.Uniform(2), one_by_one, True),
    "RPCholesky": (tp.RPCholesky(2, bandwidth=1.0), residuals, True),
}


def deviations(draw, right, wrong):
    """Deviation of the mean log-likelihood ratio from its mean, and its limit at `LEVEL`.

    The limit is checked to have at least the power `POWER` against the `wrong` probabilities.
    """
    values, ((mean, variance), (shifted, spread)) = ratio(right, wrong)
    limit = norm.isf(LEVEL / 2) * np.sqrt(variance / RUNS)
    assert norm.sf((limit - abs(shifted - mean)) / np.sqrt(spread / RUNS)) >= POWER
    return abs(np.mean([values[draw()] for _ in range(RUNS)]) - mean), limit


@pytest.mark.parametrize("rule", [np.ones_like, np.square], ids=["ignored", "squared"])
@pytest.mark.parametrize("name", CASES)
def test_draws_with_weights_have_the_distribution_of_repeated_rows(name, rule):
    sampler, probabilities, is_ordered = CASES[name]
    right, wrong = (
        {J: p for J, p in probabilities(w).items() if p > 1e-12} for w in (WEIGHTS, rule(WEIGHTS))
    )

    def drawn(w, seed):
        own = clone(sampler).set_params(random_state=np.random.default_rng(seed))

        def draw():
            chosen = map(int, own.fit(POINTS, sample_weight=w).indices_)
            return tuple(chosen if is_ordered else sorted(chosen))

        return draw

    away, limit = deviations(drawn(WEIGHTS, 1), right, wrong)
    assert away < limit
    away, limit = deviations(drawn(rule(WEIGHTS), 2), right, wrong)
    assert away > limit


@pytest.mark.parametrize("fraction", [1, np.pi], ids=["whole", "fractions"])
@pytest.mark.parametrize("rule", [np.ones_like, np.square], ids=["ignored", "squared"])
@pytest.mark.parametrize("sampler", [tp.EfficientDPP(1), tp.Uniform(1)], ids=str)
def test_weights_above_the_size_of_the_pool(sampler, rule, fraction, rng, monkeypatch):
    """The first landmark is drawn in proportion to weights from 1 to 5, however few fit in."""
    monkeypatch.setattr(_pool, "LEAST_ROWS", 100)
    X, classes = rng.normal(size=(400, 2)), np.arange(400) % 5
    weights = (1.0 + np.arange(5)) ** (1 if fraction == 1 else 1.1)

    def shares(w):
        return {i: p for i, p in enumerate(w / w.sum())}

    own = clone(sampler).set_params(random_state=np.random.default_rng(0))
    right, wrong = shares(weights), shares(rule(weights))

    def draw(w):
        return int(classes[own.fit(X, sample_weight=w[classes]).indices_[0]])

    away, limit = deviations(lambda: draw(weights), right, wrong)
    assert away < limit
    away, limit = deviations(lambda: draw(rule(weights)), right, wrong)
    assert away > limit


# Bad weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: -w, r"sample_weight is -1.0 in row 0 and in 299 other rows: pass numbers >= 0"),
        (lambda w: np.where(np.arange(300) == 7, np.nan, w), "sample_weight is nan in row 7: "),
        (lambda w: np.where(np.arange(300) == 7, np.inf, w), "sample_weight is inf in row 7: "),
        (lambda w: np.where(np.arange(300) == 7, 1e200, w), r"1e\+200 in row 7: divide all"),
        (lambda w: w[:-1], r"sample_weight has shape \(299,\) and X has 300 rows: pass one value"),
        (lambda w: 0 * w, "every sample_weight is zero: pass weights > 0"),
        (lambda w: 2.0, r"sample_weight has shape \(\) and X has 300 rows"),
        (lambda w: w[:, None], r"values of type float64 and shape \(300, 1\): pass one number"),
        (lambda w: w.astype(str), "sample_weight has values of type <U32"),
        (lambda w: [*w[1:], "b"], "sample_weight has values of type <U32"),
    ],
)
def test_bad_weights(change, message, X):
    w = change(np.ones(300))
    for call in (
        tp.Uniform(5).fit,
        tp.Isomap(landmarks=20).fit,
        tp.LandmarkMap(n_iter=2).fit_transform,
        tp.select,
    ):
        with pytest.raises(tp.ParameterError, match=message):
            call(X, sample_weight=w)


def test_more_landmarks_than_rows_of_positive_weight(X):
    w = np.zeros(300)
    w[:10] = 3
    few = "choose {} <= 10 .the pool holds 10 rows of positive weight."
    for sampler in (tp.Uniform(11), tp.FarthestPoint(11), tp.EfficientDPP(11), tp.ExactDPP(11)):
        with pytest.raises(tp.ParameterError, match=few.format("n_landmarks")):
            sampler.fit(X, sample_weight=w)
    with pytest.raises(tp.ParameterError, match=few.format("landmarks")):
        tp.Isomap(landmarks=11).fit(X, sample_weight=w)


def test_y_is_ignored_but_has_one_value_for_each_row(X):
    y = np.arange(300)
    for estimator in (tp.Isomap(landmarks=20, random_state=0), tp.Uniform(5, random_state=0)):
        fitted = clone(estimator).fit(X)
        name = "landmark_indices_" if hasattr(fitted, "landmark_indices_") else "indices_"
        np.testing.assert_array_equal(
            getattr(clone(estimator).fit(X, y), name), getattr(fitted, name)
        )
        with pytest.raises(tp.ParameterError, match=r"y has shape \(299,\) and X has 300 rows"):
            estimator.fit(X, y[:-1])
