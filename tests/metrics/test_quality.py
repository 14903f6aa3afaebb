"""The verdict on an embedding: shares among all rows, grades with reasons, and advice."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn import datasets as sk
from sklearn.decomposition import PCA

import trigpoint as tp
from trigpoint.datasets import make_fish_bowl, make_swiss_roll
from trigpoint.metrics import _assess, map_scores
from trigpoint.metrics._assess import redundant_coordinates
from trigpoint.metrics._pointwise import Recalled
from trigpoint.metrics._verdict import GRADES, Advice, score

rng = np.random.default_rng(0)
TORUS = np.stack([f(2 * np.pi * rng.random(1500)) for f in (np.cos, np.sin) * 2], axis=1)
TEN = {
    "digits": sk.load_digits().data,
    "wine": sk.load_wine().data,
    "cancer": sk.load_breast_cancer().data,
    "diabetes": sk.load_diabetes().data,
    "iris": np.unique(sk.load_iris().data, axis=0),
    "roll": make_swiss_roll(3000, random_state=0)[0],
    "bowl": make_fish_bowl(2000, random_state=0)[0],
    "torus": TORUS,
    "noise": rng.normal(size=(1200, 50)).astype(np.float32),
    "groups": sk.make_blobs(2500, 8, centers=5, random_state=0)[0],
}


def obvious(X, Y, m=10):
    """Share of neighbors preserved, where equal rows are one neighbor; with loops over all rows."""
    X, first, counts = np.unique(X, axis=0, return_index=True, return_counts=True)
    Y = Y[first]
    shares = []
    for x, y in zip(X, Y, strict=True):
        in_x, in_y = np.linalg.norm(X - x, axis=1), np.linalg.norm(Y - y, axis=1)
        others = in_x > 0
        radius = np.sort(in_x[others])[m - 1]
        nearest = np.argsort(in_y[others])[:m]
        shares.append(np.mean(in_x[others][nearest] <= radius * (1 + 1e-9)))
    return np.average(shares, weights=counts)


@pytest.mark.parametrize("name", TEN)
def test_shares_are_those_among_all_rows(name):
    X = TEN[name]
    emb = tp.KernelPCA(2, landmarks=100, random_state=0).fit(X)
    found, Y = emb.quality(X, advise=False), emb.transform(X)
    exact = map_scores(X, Y, n_queries=None).neighbors_preserved
    low, high = found.interval
    if len(X) <= found.n_queries:
        assert found.preserved == pytest.approx(exact, abs=1e-12)
        assert low == pytest.approx(high)
    # Ten intervals of 95 % all contain the exact value if they are half as wide again.
    width = high - low + 1e-9
    assert low - width / 4 <= exact <= high + width / 4
    by_pca = map_scores(X, PCA(2).fit_transform(X), n_queries=None).neighbors_preserved
    assert found.by_pca == pytest.approx(by_pca, abs=0.05)


def test_intervals_contain_the_exact_share_as_often_as_they_say():
    X = TEN["groups"]
    emb = tp.KernelPCA(2, landmarks=100, random_state=0).fit(X)
    exact = map_scores(X, emb.transform(X), n_queries=None).neighbors_preserved
    intervals = [emb.quality(X, advise=False, random_state=seed).interval for seed in range(60)]
    hits = sum(low <= exact <= high for low, high in intervals)
    assert hits >= 52


def test_equal_rows_are_one_neighbor_and_ties_are_of_equal_right(rng):
    X = np.repeat(rng.integers(3, size=(150, 4)).astype(float), 2, axis=0)
    emb = tp.KernelPCA(2, landmarks=30, random_state=0).fit(X)
    Y = emb.transform(X) + 0.0
    assert emb.quality(X, advise=False).preserved == pytest.approx(obvious(X, Y))


def test_the_other_measures_by_definition(rng):
    X = rng.normal(size=(400, 5)) * [3, 2, 1, 1, 1]
    emb = tp.KernelPCA(2, landmarks=100, random_state=0).fit(X)
    found, Y = emb.quality(X, advise=False), emb.transform(X)
    in_x, in_y = cdist(X, X), cdist(Y, Y)
    near_x, near_y = (np.argsort(D, axis=1)[:, 1:11] for D in (in_x, in_y))
    far_x, far_y = (np.quantile(D, 0.075, axis=1, method="higher")[:, None] for D in (in_x, in_y))
    torn = np.mean(np.take_along_axis(in_y, near_x, axis=1) > far_y)
    false = np.mean(np.take_along_axis(in_x, near_y, axis=1) > far_x)
    assert (found.torn, found.false_neighbors) == pytest.approx((torn, false), abs=1e-6)
    assert found.chance == pytest.approx(10 / 399)
    correlation = spearmanr(in_x.ravel(), in_y.ravel()).statistic
    assert found.distance_correlation == pytest.approx(correlation, abs=0.03)
    nearest = np.sort(in_x, axis=1)[:, 1:11]
    inverse = np.log(nearest[:, -1:] / nearest).mean()
    assert found.dimension == pytest.approx(0.9 / inverse, rel=1e-6)


def test_the_same_in_blocks_and_from_files(tmp_path, monkeypatch):
    dask_array = pytest.importorskip("dask.array")
    X = make_swiss_roll(2500, random_state=0)[0]
    emb = tp.LaplacianEigenmaps(landmarks=100, graph=tp.KNNGraph(10), random_state=0).fit(X)
    expected = emb.quality(X, advise=False).figures()
    monkeypatch.setattr(_assess, "_PART_BYTES", 2**13)
    np.save(tmp_path / "X.npy", X)
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", fmt="%.18e")
    chunked = dask_array.from_array(X, chunks=(700, 3))
    for other in (X, tmp_path / "X.npy", tmp_path / "X.csv", chunked):
        assert emb.quality(other, advise=False).figures() == expected
    emb.n_jobs = 3
    assert emb.quality(X, advise=False).figures() == expected
    emb.save(tmp_path / "m.trig")
    assert tp.load(tmp_path / "m.trig").quality(X, advise=False).figures() == expected


def test_weights_set_the_share_of_each_row(rng):
    """A row of weight 3 counts as three, and rows of weight 0 are not there."""
    X = rng.normal(size=(1800, 12))
    X[:900, 2:] = 0
    X[900:, 0] += 50
    emb = tp.LandmarkMap().fit(X)
    easy, hard = (emb.quality(part, advise=False).preserved for part in (X[:900], X[900:]))
    assert easy > hard + 0.2
    for weight in (0.0, 3.0):
        weights = np.repeat([1.0, weight], 900)
        found = emb.quality(X, advise=False, sample_weight=weights).preserved
        assert found == pytest.approx((easy + weight * hard) / (1 + weight), abs=0.05)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        emb.quality(X, sample_weight=[1, 2, 3])


@pytest.fixture(scope="module")
def digits():
    X = TEN["digits"]
    return X, tp.KernelPCA(2, random_state=0).fit(X).quality(X)


def test_grades_are_relative_to_the_attainable(digits):
    _, found = digits
    plain = replace(found, torn=0.0, false_neighbors=0.0, by_pca=0.0, chance=0.0, preserved=0.6)
    assert plain.grade == "excellent"
    best = sum(plain.attainable) / 2
    for grade, least in GRADES.items():
        worse = replace(plain, preserved=(least + 0.01) * best)
        assert score(worse) == pytest.approx(least + 0.01)
        # Most neighbors of an excellent embedding are true.
        assert worse.grade == ("good" if grade == "excellent" and worse.preserved < 0.5 else grade)
    # More is attainable with more coordinates, and less in more dimensions or with more rows.
    low, high = plain.attainable
    assert low < 0.55 < high
    assert replace(plain, n_components=3).attainable > (low, high)
    assert replace(plain, dimension=20.0).attainable < (low, high)
    assert replace(plain, n_points=10**6).attainable < (low, high)
    assert replace(plain, by_pca=0.99).attainable == (0.99, 0.99)
    assert replace(plain, by_pca=0.99).grade == "good"


def test_misleading_embeddings_are_never_excellent(digits):
    _, found = digits
    plain = replace(found, torn=0.0, false_neighbors=0.0, preserved=0.7)
    assert plain.grade == "excellent"
    for change, words in (
        ({"torn": 0.2}, "20 % of the true neighbors are far apart in the embedding"),
        ({"false_neighbors": 0.2}, "20 % of the neighbors in the embedding are far apart"),
        ({"redundant": (2,)}, "Coordinate 2 is a function of coordinate 1"),
        ({"dimension": 2.0, "tears": 0.02, "preserved": 0.9}, "torn at some points"),
    ):
        changed = replace(plain, **change)
        assert changed.grade == "good"
        assert words in changed.verdict
    assert replace(plain, false_neighbors=0.6).grade == "fair"
    assert "do not read single neighbors" in replace(plain, preserved=0.4).verdict


def test_the_verdict_gives_reasons_and_the_price_of_its_advice(digits):
    X, found = digits
    assert found.verdict.startswith(
        "Poor: 13 % of the 10 nearest neighbors are preserved; the best"
    )
    assert "of such data (7 local dimensions, 1,797 rows) preserve 4" in found.verdict
    assert found.remedy == "LandmarkMap(n_components=2)"
    advice = found.advice
    assert (
        f"should preserve about {100 * (found.preserved + advice.gain):.0f} % (in about"
        in found.verdict
    )
    # There are so few rows that the advice was tried on all of them.
    emb = tp.LandmarkMap().fit(X)
    followed = emb.quality(X, advise=False)
    assert followed.preserved - found.preserved == pytest.approx(advice.gain, abs=0.03)
    size = 1e-6 * sum(array.nbytes for array in (emb.landmarks_, emb.landmark_embedding_))
    assert size / 2 < advice.megabytes < 2 * size
    assert 0 < advice.seconds < 60
    dear = replace(found, advice=Advice("x", 0.1, 600.0, 1234.0))
    assert "(in about 10 minutes, with a model of 1234 MB)" in dear.verdict


def test_advice_from_a_sample_holds_among_all_rows():
    X, _ = make_swiss_roll(12_000, random_state=0)
    plain = tp.KernelPCA(2, random_state=0).fit(X).quality(X)
    assert plain.remedy == "Isomap(n_components=2)"
    better = tp.Isomap(random_state=0).fit(X).quality(X)
    assert better.preserved - plain.preserved == pytest.approx(plain.advice.gain, abs=0.05)
    assert better.grade == "excellent"
    assert better.remedy == ""


def test_advice_names_the_metric(digits):
    X, _ = digits
    plain = tp.KernelPCA(2, metric="cosine", random_state=0).fit(X).quality(X)
    assert plain.remedy == 'LandmarkMap(n_components=2, metric="cosine")'
    better = eval(f"tp.{plain.remedy}").fit(X).quality(X, advise=False)
    assert better.preserved - plain.preserved == pytest.approx(plain.advice.gain, abs=0.03)


def test_a_map_of_all_rows_looks_them_up(rng, monkeypatch):
    """Looking up gives the coordinates of `transform`, also if some rows are new."""
    X = rng.normal(size=(1500, 12)).astype(np.float32)
    X[7] = X[3]
    for some in (X, X[:, :3]):
        emb = tp.LandmarkMap(random_state=0).fit(some)
        extension, rows = emb.model_.extension, some[::2].copy()
        rows[::5] += np.float32(1e-3)
        expected, known = emb.transform(rows), emb.transform(some)
        recalled = Recalled(extension)
        assert np.array_equal(recalled(rows).astype(np.float32), expected)
        monkeypatch.delattr(type(extension), "__call__")
        assert np.array_equal(recalled(some).astype(np.float32), known)
        emb.quality(some, advise=False)
        emb.point_quality(some)
        monkeypatch.undo()


def test_leading_eigenvectors_of_a_roll():
    X = TEN["roll"]
    with pytest.warns(tp.ParameterWarning, match="coordinate 2"):
        emb = tp.LaplacianEigenmaps(eigenvectors="leading", random_state=0).fit(X)
    found = emb.quality(X)
    assert found.grade in ("fair", "poor")
    assert found.redundant == (2,)
    assert "Coordinate 2 is a function of coordinate 1" in found.verdict
    assert found.remedy in ('eigenvectors="independent"', "Isomap(n_components=2)")


def test_a_plane_is_for_pca(rng):
    X = rng.random((2000, 2)) @ rng.normal(size=(2, 20))
    emb = tp.LaplacianEigenmaps(landmarks=300, graph=tp.KNNGraph(10), random_state=0)
    found = emb.fit(X).quality(X)
    assert found.by_pca == pytest.approx(1, abs=0.01)
    assert found.grade != "excellent"
    assert found.remedy == "scikit-learn's PCA(n_components=2)"
    assert found.advice.gain == pytest.approx(found.by_pca - found.preserved)


def test_separate_pieces_are_counted(rng):
    X = np.concatenate([rng.normal(size=(300, 3)) + 50 * i for i in range(3)])
    with pytest.warns(tp.ParameterWarning, match="connected components"):
        emb = tp.LaplacianEigenmaps(landmarks=120, graph=tp.KNNGraph(5), random_state=0).fit(X)
    found = emb.quality(X, advise=False)
    assert found.pieces == len(emb.bridges_) + 1 >= 3
    assert found.n_edges >= 120
    assert found.lines()["connected components"] == f"{found.pieces}, joined by bridges"
    kernel = tp.KernelPCA(landmarks=100, random_state=0).fit(X).quality(X, advise=False)
    assert kernel.pieces is kernel.shortcuts is None
    assert "connected components" not in kernel.lines()
    whole = tp.LaplacianEigenmaps(3, graph="complete", landmarks=100, random_state=0).fit(X)
    assert whole.quality(X, advise=False).shortcuts is None
    assert whole.quality_.n_edges == 100 * 99 // 2
    assert whole.quality_.by_pca == 1


def test_kept_until_the_next_fit_and_shown_with_the_verdict_first(roll):
    X, _ = roll
    emb = tp.LaplacianEigenmaps(landmarks=100, graph=tp.KNNGraph(10), random_state=0).fit(X)
    found = emb.quality(X)
    assert emb.quality_ is found
    assert len(found.rows) == found.n_queries == 500
    lines = repr(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).startswith(f"{found.verdict}   neighbors preserved")
    assert "500 neighborhoods among 3,000 points" in lines[-1]
    page = found._repr_html_()
    assert page.index(found.grade.capitalize()) < page.index("<table>")
    emb.fit(X)
    assert not hasattr(emb, "quality_")


def test_few_rows():
    X = np.random.default_rng(0).normal(size=(40, 2))
    emb = tp.LaplacianEigenmaps(1, landmarks=20, graph=tp.KNNGraph(5), random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 4 points, too few"):
        emb.quality(X[:4])
    assert emb.quality(X[:5], advise=False).n_neighbors == 2
    with pytest.raises(ValueError, match="all rows of X coincide"):
        emb.quality(np.ones((20, 2)), advise=False)


def test_redundant_coordinates(rng):
    u = rng.uniform(-1, 1, size=(2000, 2))
    bent = u[:, 0] ** 2 + 0.02 * rng.normal(size=2000)
    assert redundant_coordinates(np.column_stack([u[:, 0], bent])) == (2,)
    assert redundant_coordinates(np.column_stack([u[:, 0], u[:, 1], bent])) == (3,)
    assert redundant_coordinates(u) == ()
    circle = np.column_stack([np.cos(3 * u[:, 0]), np.sin(3 * u[:, 0])])
    assert redundant_coordinates(circle) == ()
    assert redundant_coordinates(np.column_stack([u[:, 0], np.zeros(2000)])) == (2,)
    assert redundant_coordinates(1e-6 * np.column_stack([u[:, 0], u[:, 1], bent])) == (3,)
    # A row far from all others does not hide that the others vary in two directions.
    assert redundant_coordinates(np.concatenate([u, [[1e6, 1e6]]])) == ()


def test_the_reference_is_that_of_the_benchmark():
    from experiments.benchmarks import attainable
    from experiments.runner import Results
    from trigpoint.metrics._verdict import COEFFICIENTS, SPREAD

    rows = Results(attainable.RESULTS.with_name("attainable.csv"), {}).rows
    halves = attainable.halves(attainable.best_known(rows))
    coefficients, spread = attainable.regression(halves[False])
    assert coefficients == pytest.approx(COEFFICIENTS, abs=1e-3)
    assert spread < SPREAD
    assert np.abs(attainable.errors(halves[True]).mean()) < 0.2
