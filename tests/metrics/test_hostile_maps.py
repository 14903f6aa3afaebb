"""What embeddings of awkward data are called, and where they are wrong."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint.metrics import map_scores

rng = np.random.default_rng(0)
TURNS = 2 * np.pi * rng.random(2000)
CIRCLE = np.column_stack([np.cos(TURNS), np.sin(TURNS)])
LINE = np.outer(TURNS, [1.0, 2.0, 3.0])
EIGHT = np.column_stack([np.sin(TURNS), np.sin(TURNS) * np.cos(TURNS)])
FLAT = np.column_stack([CIRCLE, np.zeros(2000)])
RINGS = np.concatenate([FLAT[:1000], FLAT[1000:, [0, 2, 1]] + [1, 0, 0]])
U, V = 2 * np.pi * rng.random((2, 3000))
TORUS = np.column_stack([(3 + np.cos(U)) * np.cos(V), (3 + np.cos(U)) * np.sin(V), np.sin(U)])
SPHERE = rng.normal(size=(3000, 3))
SPHERE /= np.linalg.norm(SPHERE, axis=1, keepdims=True)
NOISE = rng.normal(size=(1500, 50))
ROLL = tp.datasets.make_swiss_roll(3000, random_state=0)[0]
DENSITIES = np.concatenate(
    [s * rng.normal(size=(400, 10)) + c for s, c in ((1e-3, 0), (0.1, 5), (1, 20), (5, 60))]
)


def judged(estimator, X):
    return estimator.fit(X).quality(X, advise=False)


@pytest.mark.parametrize(
    ("X", "estimator"),
    [
        (LINE, tp.Isomap(1)),
        (CIRCLE, tp.Isomap(2)),
        (EIGHT, tp.Isomap(2)),
        (ROLL, tp.Isomap(2)),
        (RINGS, tp.LandmarkMap()),
    ],
)
def test_faithful_embeddings_are_excellent(X, estimator):
    found = judged(estimator, X)
    assert found.grade == "excellent"
    assert found.preserved > 0.9


@pytest.mark.filterwarnings("ignore:the landmark graph has")
@pytest.mark.parametrize(
    ("X", "estimator", "fault"),
    [
        # A circle folded flat, and one cut open.
        (CIRCLE, tp.Isomap(1), "lie on top of each other"),
        (CIRCLE, tp.LaplacianEigenmaps(1, random_state=0), "torn"),
        (CIRCLE, tp.LandmarkMap(1), "torn at some points"),
        (EIGHT, tp.Isomap(1), "lie on top of each other"),
        (RINGS, tp.Isomap(2), "lie on top of each other"),
        (TORUS, tp.Isomap(2), "lie on top of each other"),
        (TORUS, tp.LandmarkMap(), "tear"),
        (SPHERE, tp.Isomap(2), "lie on top of each other"),
        (SPHERE, tp.LandmarkMap(), "tear"),
        (NOISE, tp.LandmarkMap(), "lie on top of each other"),
        (NOISE, tp.Isomap(2), "do not read single neighbors"),
        (DENSITIES, tp.LandmarkMap(), "do not read single neighbors"),
        (DENSITIES, tp.KernelPCA(2), "lie on top of each other"),
    ],
)
def test_misleading_embeddings_are_not_excellent_and_say_why(X, estimator, fault):
    found = judged(estimator, X)
    assert found.grade != "excellent"
    assert fault in found.verdict
    if X is NOISE:
        assert found.grade in ("fair", "poor")


@pytest.mark.filterwarnings("ignore:1 of 3,001 points")
@pytest.mark.parametrize("X", [NOISE[:, :5], ROLL], ids=["noise", "roll"])
@pytest.mark.parametrize(
    "estimator", [tp.KernelPCA(2, random_state=0), tp.LaplacianEigenmaps(random_state=0)]
)
def test_a_sentinel_row_hides_nothing(X, estimator):
    """A row of 1e12 neither makes an embedding look good, nor PCA."""
    X = np.concatenate([X, np.full((1, X.shape[1]), 1e12)])
    found = judged(estimator, X)
    exact = map_scores(X, estimator.transform(X), n_queries=None).neighbors_preserved
    assert found.preserved == pytest.approx(exact, abs=0.06)
    assert found.by_pca < 0.6
    if exact < 0.1:
        assert found.grade == "poor"


@pytest.mark.parametrize("estimator", [tp.LandmarkMap(), tp.Isomap(2), tp.KernelPCA(2)])
def test_every_row_twenty_times_is_no_better(estimator):
    X = NOISE[:300]
    once, often = judged(estimator, X), judged(estimator, np.repeat(X, 20, axis=0))
    assert often.preserved == pytest.approx(once.preserved, abs=0.05)
    assert often.by_pca == pytest.approx(once.by_pca, abs=0.03)
    assert often.grade == once.grade != "excellent"
    assert often.redundant == once.redundant == ()


def test_rows_without_neighborhoods_say_so():
    """All distances are equal, so every embedding preserves all neighbors."""
    found = judged(tp.KernelPCA(2), np.eye(200))
    assert (found.preserved, found.chance, found.grade) == (1.0, 1.0, "poor")
    assert "the data has no neighborhoods" in found.verdict


# Single points ----------------------------------------------------------------------------------


def test_the_cut_through_a_circle_is_found():
    """Tears are where neighbors on the circle are at different ends of the line."""
    emb = tp.LandmarkMap(1, landmarks=800).fit(CIRCLE)
    found, Y = emb.point_quality(CIRCLE), emb.transform(CIRCLE)[:, 0]
    order = np.argsort(TURNS)
    jumps = np.abs(np.diff(Y[order], append=Y[order[0]])) > 0.02 * np.ptp(Y)
    cuts = TURNS[order][jumps]
    apart = np.abs(np.angle(np.exp(1j * (TURNS[:, None] - cuts)))).min(axis=1)
    assert 1 <= len(cuts) < 60
    assert found.torn[apart < 0.01].mean() > 0.3
    assert found.torn[apart > 0.2].mean() < 0.02


def test_the_cuts_through_a_torus_are_found():
    emb = tp.LandmarkMap(landmarks=1500).fit(TORUS)
    found, Y = emb.point_quality(TORUS), emb.transform(TORUS)
    near = np.linalg.norm(TORUS[:, None] - TORUS, axis=2).argsort(axis=1)[:, 1:11]
    stretched = np.linalg.norm(Y[near] - Y[:, None], axis=2).max(axis=1) > 0.12 * np.ptp(Y)
    assert 0.01 < stretched.mean() < 0.3
    assert found.torn[stretched].mean() > 0.2
    assert found.torn[~stretched].mean() < 0.05


def test_a_flattened_sphere_and_a_roll_seen_from_the_side():
    top = tp.KernelPCA(2, random_state=0).fit(SPHERE)
    found = top.point_quality(SPHERE)
    inside = np.linalg.norm(top.transform(SPHERE), axis=1)
    inside /= inside.max()
    # Halves of the sphere lie on each other in the middle, and not at the edge.
    assert found.false_neighbors[inside < 0.7].mean() > 0.3
    assert found.false_neighbors[inside > 0.98].mean() < 0.3
    assert found.torn.mean() < 0.01
    unrolled = tp.Isomap(random_state=0).fit(ROLL).point_quality(ROLL)
    assert unrolled.preserved.mean() > 0.95
    assert max(unrolled.torn.mean(), unrolled.false_neighbors.mean()) < 0.001


def test_a_roll_cut_open_is_torn_at_the_cut():
    emb = tp.Isomap(random_state=0).fit(ROLL)
    whole = emb.transform(ROLL)
    # Move half of the landmarks away, as an embedding does that separates the halves.
    left = emb.fitted_.spectrum.coordinates[:, 0] < 0
    emb.fitted_.spectrum.coordinates[left, 0] -= np.ptp(whole)
    emb._set_fitted(emb.fitted_, type(emb.model_)(*_parts(emb)))
    found = emb.point_quality(ROLL)
    at_cut = np.abs(whole[:, 0]) < 0.01 * np.ptp(whole)
    away = np.abs(whole[:, 0]) > 0.1 * np.ptp(whole)
    assert found.torn[at_cut].mean() > 0.2
    assert found.torn[away].mean() < 0.01


def _parts(emb):
    return emb.model_.columns, emb.model_.space, emb._extension(emb.fitted_)


def test_points_of_new_rows_and_files(tmp_path):
    emb = tp.LandmarkMap(landmarks=800).fit(TORUS[:2000])
    np.save(tmp_path / "X.npy", TORUS)
    found = emb.point_quality(tmp_path / "X.npy")
    new = emb.point_quality(TORUS[2000:])
    for name in ("preserved", "torn", "false_neighbors"):
        values = getattr(found, name)
        assert values.shape == (3000,)
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values[2000:], getattr(new, name))
        assert getattr(new, name).mean() == pytest.approx(values[:2000].mean(), abs=0.05)


@pytest.mark.parametrize("d", [3, 60])
def test_points_by_definition(d, rng):
    """The ten landmarks around each landmark, with loops."""
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, d))
    emb = tp.KernelPCA(2, landmarks=np.arange(300), random_state=0).fit(X)
    found, Y = emb.point_quality(X), emb.transform(X)
    for i in rng.choice(300, 30, replace=False):
        in_x, in_y = np.linalg.norm(X - X[i], axis=1), np.linalg.norm(Y - Y[i], axis=1)
        near_x, near_y = np.argsort(in_x)[1:11], np.argsort(in_y)[1:11]
        assert found.preserved[i] == pytest.approx(np.isin(near_y, near_x).mean(), abs=0.11)
        far_x, far_y = (np.quantile(some, 0.1, method="higher") for some in (in_x, in_y))
        assert found.torn[i] == pytest.approx(np.mean(in_y[near_x] > far_y), abs=0.11)
        assert found.false_neighbors[i] == pytest.approx(np.mean(in_x[near_y] > far_x), abs=0.11)
