"""The verdict on an embedding: what is measured, what it is called, what is advised."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import datasets as sk
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

import trigpoint as tp
from trigpoint.datasets import make_swiss_roll
from trigpoint.metrics import _preserved
from trigpoint.metrics._preserved import compare_neighborhoods, ranked_neighbors
from trigpoint.metrics._quality import redundant_coordinates, sample_size
from trigpoint.metrics._suspects import SHORTCUT, judge_edges
from trigpoint.metrics._verdict import GRADES, _many_shortcuts, pca_is_better, score


def slow_neighbors(points, m):
    """Nearest others of each point, nearest first, by sorting all distances."""
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.argsort(apart, axis=1, kind="stable")[:, :m].tolist()


def slow_kept(X, Y, m):
    pairs = zip(slow_neighbors(X, m), slow_neighbors(Y, m), strict=True)
    return np.mean([len(set(a) & set(b)) / m for a, b in pairs])


@pytest.mark.parametrize("d", [4, 40])
def test_figures_by_definition(rng, d, monkeypatch):
    monkeypatch.setattr(_preserved, "WIDE", 0.1)
    X = rng.normal(size=(160, d)) * np.linspace(3, 1, d) + 100
    Y = X[:, :2] + 0.5 * rng.normal(size=(160, 2))
    found = compare_neighborhoods(X, Y, len(X))
    assert (found["n_neighbors"], found["n_wide"]) == (10, 16)
    assert found["neighbors_kept"] == pytest.approx(slow_kept(X, Y, 10))
    scores = [tp.metrics.map_scores(X, Y, n_neighbors=m) for m in (10, 16)]
    shares = [one.neighbors_preserved for one in scores]
    assert shares == pytest.approx([slow_kept(X, Y, m) for m in (10, 16)])
    assert found["neighbors_kept_wide"] == pytest.approx(slow_kept(X, Y, 16))
    by_pca = PCA(2).fit_transform(X)
    assert found["pca_kept"] == pytest.approx(slow_kept(X, by_pca, 10))
    assert found["pca_kept_wide"] == pytest.approx(slow_kept(X, by_pca, 16))
    assert found["trustworthiness"] == pytest.approx(trustworthiness(X, Y, n_neighbors=10))
    assert found["continuity"] == pytest.approx(trustworthiness(Y, X, n_neighbors=10))
    lost = [
        1 - len(set(a) & set(b)) / 10
        for a, b in zip(slow_neighbors(X, 10), slow_neighbors(Y, 10), strict=True)
    ]
    np.testing.assert_allclose(found["distortion"], lost, atol=1e-6)
    squares = np.sort(cdist(X, X), axis=1)[:, 1:11] ** 2
    inverse = np.log(squares[:, -1:] / squares[:, :-1]).mean() / 2
    assert found["dimension"] == pytest.approx(1 / inverse, rel=1e-5)


@pytest.mark.parametrize(("n", "near"), [(5, 2), (12, 5), (300, 10)])
def test_a_small_sample_has_one_kind_of_neighborhood(rng, n, near):
    X = rng.normal(size=(n, 3))
    lines = tp.LaplacianEigenmaps(random_state=0).fit(X).quality(X).lines()
    assert re.fullmatch(rf"[\d.]+% of the nearest {near}", lines["neighbors kept"])
    assert re.fullmatch(r"[\d.]+%", lines["kept by PCA"])


def test_a_tenth_of_the_queries_comes_close(rng):
    X = rng.normal(size=(2000, 3))
    Y = X[:, :2]
    some, all_of_them = (compare_neighborhoods(X, Y, q) for q in (200, 2000))
    assert some["neighbors_kept"] == pytest.approx(all_of_them["neighbors_kept"], abs=0.03)
    assert some["trustworthiness"] == pytest.approx(all_of_them["trustworthiness"], abs=0.01)


def test_copies_tie_and_a_collapse_keeps_nothing(rng):
    X = np.repeat(rng.normal(size=(40, 50)), 30, axis=0)[rng.permutation(1200)]
    assert compare_neighborhoods(X, X[:, :50], 300)["neighbors_kept"] == 1
    assert np.isnan(compare_neighborhoods(X, X, 300)["dimension"])
    spread = rng.normal(size=(1200, 3))
    collapsed = compare_neighborhoods(spread, np.zeros((1200, 2)), 300)
    assert collapsed["neighbors_kept"] < 0.05


def test_ranked_neighbors_take_the_first_of_equal_ones():
    squares = np.array([[3.0, 1.0, 1.0, 1.0, 0.5], [2.0, 2.0, 2.0, 2.0, 2.0]])
    assert ranked_neighbors(squares, 3).tolist() == [[4, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("scale", [2.0**-60, 2.0**60])
def test_units_do_not_matter(rng, scale):
    X = rng.normal(size=(400, 40)) * np.linspace(3, 1, 40)
    Y = X[:, :2]
    one, other = compare_neighborhoods(X, Y, 200), compare_neighborhoods(scale * X, scale * Y, 200)
    assert (one["neighbors_kept"], one["pca_kept"]) == (other["neighbors_kept"], other["pca_kept"])


def test_same_for_any_number_of_threads(rng):
    X = rng.normal(size=(5000, 40))
    one, three = (compare_neighborhoods(X, X[:, :2], 500, n_threads=t) for t in (1, 3))
    assert one["neighbors_kept"] == three["neighbors_kept"]
    assert one["trustworthiness"] == three["trustworthiness"]
    np.testing.assert_array_equal(one["distortion"], three["distortion"])


def test_redundant_coordinates(rng):
    u = rng.uniform(-1, 1, size=(2000, 2))
    bent = u[:, 0] ** 2 + 0.02 * rng.normal(size=2000)
    assert redundant_coordinates(np.column_stack([u[:, 0], bent])) == (2,)
    assert redundant_coordinates(np.column_stack([u[:, 0], u[:, 1], bent])) == (3,)
    assert redundant_coordinates(u) == ()
    circle = np.column_stack([np.cos(3 * u[:, 0]), np.sin(3 * u[:, 0])])
    assert redundant_coordinates(circle) == ()
    assert redundant_coordinates(np.column_stack([u[:, 0], np.zeros(2000)])) == (2,)
    # Neither does the unit of the coordinates matter.
    assert redundant_coordinates(1e-6 * np.column_stack([u[:, 0], u[:, 1], bent])) == (3,)


@pytest.fixture(scope="module")
def long_roll():
    return make_swiss_roll(10_000, random_state=0)[0]


@pytest.fixture(scope="module")
def leading(long_roll):
    with pytest.warns(tp.ParameterWarning, match="coordinate 2"):
        emb = tp.LaplacianEigenmaps(eigenvectors="leading", random_state=0).fit(long_roll)
    return emb.quality(long_roll)


def test_leading_eigenvectors_of_a_roll(leading):
    assert leading.grade == "poor"
    assert leading.redundant == (2,)
    assert "coordinate 2 is a function of coordinate 1" in leading.verdict
    assert leading.remedy == 'eigenvectors="independent"'
    assert leading.verdict.endswith('most likely to help: eigenvectors="independent".')


def test_good_rolls(long_roll):
    emb = tp.LaplacianEigenmaps(eigenvectors="independent", random_state=0).fit(long_roll)
    unrolled = emb.quality(long_roll)
    assert unrolled.grade == "good"
    assert unrolled.redundant == ()
    assert unrolled.remedy == "Isomap(n_components=2)"
    best = tp.Isomap(random_state=0).fit(long_roll).quality(long_roll)
    assert best.grade == "excellent"
    assert best.neighbors_kept > unrolled.neighbors_kept + 0.2


def test_what_is_advised_for_digits_helps():
    X = sk.load_digits().data
    emb = tp.LaplacianEigenmaps(
        landmarks=500, extension="all", graph=tp.KNNGraph(20), random_state=0
    )
    plain = emb.fit(X).quality(X)
    assert plain.grade in ("poor", "fair")
    assert plain.remedy == 'extension="graph"'
    better = emb.set_params(extension="graph").fit(X).quality(X)
    assert better.grade == "good"
    assert better.neighbors_kept > 1.5 * plain.neighbors_kept


def test_a_plane_is_for_pca(rng):
    X = rng.random((2000, 2)) @ rng.normal(size=(2, 20))
    emb = tp.LaplacianEigenmaps(landmarks=300, graph=tp.KNNGraph(10), random_state=0)
    found = emb.fit(X).quality(X)
    assert pca_is_better(found)
    assert found.pca_kept == pytest.approx(1, abs=0.01)
    assert "while PCA of the same dimension keeps 100%" in found.verdict
    assert found.remedy == "scikit-learn's PCA(n_components=2)"


def test_grades_follow_the_expected_share(leading):
    """Thresholds are shares of what can be expected, and PCA costs a grade."""
    flat = replace(leading, n_sampled=10_001, dimension=2.0, pca_kept=0.0)
    shares = {"excellent": 0.76, "good": 0.6, "fair": 0.4, "poor": 0.3}
    assert list(shares) == list(GRADES)
    for word, kept in shares.items():
        assert replace(flat, neighbors_kept=kept).grade == word
    assert replace(flat, neighbors_kept=0.6, pca_kept=0.8).grade == "fair"
    assert replace(flat, neighbors_kept=0.6, pca_kept=0.61).grade == "good"
    high = replace(flat, dimension=18.0, neighbors_kept=0.2)
    assert score(high) == pytest.approx(3 * score(replace(flat, neighbors_kept=0.2)))
    assert high.grade == "good"
    unknown = replace(flat, neighbors_kept=0.6, dimension=float("nan"))
    assert unknown.grade == "good"
    assert unknown.lines()["local dimension"] == "unknown: most points coincide"
    # As many as by chance.
    assert score(replace(flat, n_sampled=101, neighbors_kept=0.1)) == 0
    # Half of what is not by chance.
    assert score(replace(flat, n_sampled=21, neighbors_kept=0.75)) == pytest.approx(0.5)


def test_separate_pieces_are_counted(rng):
    X = np.concatenate([rng.normal(size=(300, 3)) + 50 * i for i in range(3)])
    with pytest.warns(tp.ParameterWarning, match="connected components"):
        emb = tp.LaplacianEigenmaps(landmarks=120, graph=tp.KNNGraph(5), random_state=0).fit(X)
    found = emb.quality(X)
    assert found.pieces == len(emb.bridges_) + 1 >= 3
    assert found.n_edges >= 120
    kernel = tp.KernelPCA(landmarks=100, random_state=0).fit(X).quality(X)
    assert kernel.pieces is kernel.shortcuts is None
    assert found.lines()["pieces"] == f"{found.pieces}, joined by bridges"
    assert "pieces" not in kernel.lines()
    # All columns are their own principal components, and graphs of all pairs have no suspects.
    whole = tp.LaplacianEigenmaps(3, graph="complete", landmarks=100, random_state=0).fit(X)
    assert whole.quality(X).shortcuts is None
    assert whole.quality(X).n_edges == 100 * 99 // 2
    assert judge_edges(whole.fitted_.graph, whole.fitted_.landmarks).count(SHORTCUT) == 0
    assert whole.quality(X).pca_kept == 1
    assert not pca_is_better(whole.quality(X))


def test_kept_until_the_next_fit_and_repeatable(roll):
    X, _ = roll
    emb = tp.LaplacianEigenmaps(landmarks=100, graph=tp.KNNGraph(10), random_state=0).fit(X)
    found = emb.quality(X)
    assert emb.quality_ is found
    again = emb.quality(X)
    assert again.figures() == found.figures()
    np.testing.assert_array_equal(again.rows, found.rows)
    assert len(found.rows) == len(found.distortion) == sample_size(3000, 3, 8) == 2000
    assert emb.quality(X, sample=500).n_sampled == 500
    assert emb.quality(X, random_state=1).neighbors_kept == pytest.approx(
        found.neighbors_kept, abs=0.06
    )
    emb.fit(X)
    assert not hasattr(emb, "quality_")


def test_of_a_file_and_of_a_saved_model(roll, tmp_path):
    X, _ = roll
    np.save(tmp_path / "X.npy", X)
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", fmt="%.18e")
    emb = tp.LaplacianEigenmaps(landmarks=100, graph=tp.KNNGraph(10), random_state=0).fit(X)
    expected = emb.quality(X).figures()
    assert emb.quality(tmp_path / "X.npy").figures() == expected
    assert emb.quality(tmp_path / "X.csv").figures() == expected
    emb.save(tmp_path / "m.trig")
    assert tp.load(tmp_path / "m.trig").quality(X).figures() == expected


def test_distortion_of_any_points(long_roll):
    emb = tp.Isomap(landmarks=300, random_state=0).fit(long_roll)
    found = emb.quality(long_roll)
    Y = emb.transform(long_roll)
    all_of_them = found.distortion_of(long_roll, Y)
    assert all_of_them.shape == (10_000,)
    others = found.rows[found.n_queries :]
    np.testing.assert_allclose(all_of_them[others], found.distortion[found.n_queries :], atol=0.11)
    torn = Y.copy()
    torn[Y[:, 0] > 0, 0] += 100
    torn[:100] = torn[:100].mean(axis=0)
    worse = found.distortion_of(long_roll, torn)
    assert worse[:100].mean() > all_of_them[:100].mean() + 0.2
    with pytest.raises(ValueError, match="embedding has 3 columns, but the sample had 2"):
        found.distortion_of(long_roll, long_roll)


def test_shown_with_the_verdict_first(leading):
    lines = repr(leading).splitlines()
    assert lines[0] == leading.verdict
    assert lines[1].split() == ["neighbors", "kept", *lines[1].split()[2:]]
    assert "measured on" in lines[-1]
    page = leading._repr_html_()
    assert page.index("Poor: ") < page.index("<table>")
    assert "eigenvectors=&quot;independent&quot;" in page


def test_too_few_points():
    X = np.random.default_rng(0).normal(size=(40, 2))
    emb = tp.LaplacianEigenmaps(1, landmarks=20, graph=tp.KNNGraph(5), random_state=0).fit(X)
    with pytest.raises(ValueError, match="sample"):
        emb.quality(X, sample=2)
    with pytest.raises(ValueError, match="sample=4 points are too few"):
        emb.quality(X[:4])
    assert emb.quality(X[:5]).n_neighbors == 2


def test_the_sample_is_larger_where_points_have_many_columns():
    assert [sample_size(n, 3, 4) for n in (500, 5000, 50_000, 10**7)] == [500, 2000, 5000, 10_000]
    assert [sample_size(n, 64, 4) for n in (500, 5000, 50_000)] == [500, 5000, 10_000]
    # Within 134 MB, but never fewer than 2,000.
    assert sample_size(50_000, 5000, 8) == 3355
    assert sample_size(50_000, 50_000, 8) == 2000


@pytest.mark.parametrize(
    ("changes", "advised"),
    [
        ({}, True),
        ({"shortcuts": 1}, False),
        # Those between pieces are bridges.
        ({"pieces": 2}, False),
        ({"parameters": {"graph": tp.KNNGraph(20)}}, False),
    ],
)
def test_shortcuts_are_blamed_if_they_are_many_in_one_piece(leading, changes, advised):
    parameters = {"graph": "bhattacharyya", "n_neighbors": 20}
    many = {"n_edges": 1000, "shortcuts": 200, "pieces": 1, "parameters": parameters}
    assert _many_shortcuts(replace(leading, **(many | changes))) is advised
