"""The estimators as users meet them."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.manifold
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from trigpoint._estimators.trying import Judge, Tryout, best_of, graphs_to_try
from trigpoint._graph import masses_of

import trigpoint as tp
from experiments.data.mnist import load_mnist
from trigpoint._common.records import EmbeddedLandmarks, LandmarkGraph
from trigpoint._estimators import markov
from trigpoint.metrics import coordinate_recovery

ESTIMATORS = [
    tp.LaplacianEigenmaps,
    tp.DiffusionMaps,
    tp.Isomap,
    tp.KernelPCA,
    tp.LandmarkMap,
]
GRAPH_ESTIMATORS = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap]

# With a graph that is named no others are tried.
ONE_GRAPH = {
    tp.LaplacianEigenmaps: {"graph": "bhattacharyya"},
    tp.DiffusionMaps: {"graph": "bhattacharyya"},
}

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def up_to_sign(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return found * np.sign((found * expected).sum(axis=0))


@pytest.fixture(scope="module")
def big_roll():
    """The roll of 50,000 points."""
    return tp.datasets.make_swiss_roll(50_000, random_state=0)


@pytest.fixture(scope="module")
def default_of_big_roll(big_roll):
    return tp.LaplacianEigenmaps(landmarks=1000, random_state=0).fit(big_roll[0])


@each_estimator
def test_fit_transform_is_transform_of_the_training_points(estimator, roll):
    X = roll[0]
    emb = estimator(n_components=2, landmarks=120, random_state=0, **ONE_GRAPH.get(estimator, {}))
    np.testing.assert_array_equal(emb.fit_transform(X), emb.transform(X))


@each_estimator
def test_landmarks_keep_their_coordinates(estimator, roll):
    one_graph = ONE_GRAPH.get(estimator, {})
    emb = estimator(n_components=3, landmarks=120, random_state=0, **one_graph).fit(roll[0])
    np.testing.assert_array_equal(emb.landmarks_, roll[0][emb.landmark_indices_])
    scale = np.abs(emb.landmark_embedding_).max()
    np.testing.assert_allclose(
        emb.transform(emb.landmarks_), emb.landmark_embedding_, atol=1e-12 * scale
    )


@each_estimator
def test_same_seed_same_answer_with_any_number_of_threads(estimator, roll):
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            emb = estimator(landmarks=100, random_state=7, n_jobs=threads).fit(roll[0])
            results.append((emb.landmark_indices_, emb.transform(roll[0])))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6, atol=1e-9)


# Layouts of a map part ways after a difference in the last digit.
@pytest.mark.parametrize("estimator", ESTIMATORS[:-1])
def test_float32_stays_float32_and_agrees_with_float64(estimator, roll):
    X = roll[0]
    one_graph = ONE_GRAPH.get(estimator, {})
    double = estimator(landmarks=100, random_state=0, **one_graph).fit(X)
    single = estimator(landmarks=double.landmark_indices_, **one_graph).fit(X.astype(np.float32))
    assert single.landmark_embedding_.dtype == np.float32
    found = single.transform(X.astype(np.float32))
    assert found.dtype == np.float32
    expected = double.transform(X)
    atol = 1e-3 * np.abs(expected).max()
    np.testing.assert_allclose(up_to_sign(found, expected), expected, atol=atol)


@pytest.mark.parametrize("source", [np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_any_source_of_random_numbers(source, roll):
    def embed():
        rng = np.random.Generator(source(0))
        emb = tp.LaplacianEigenmaps(landmarks=60, graph="bhattacharyya", random_state=rng)
        return emb.fit_transform(roll[0])

    np.testing.assert_array_equal(embed(), embed())


@each_estimator
def test_inputs_and_global_random_state_are_left_alone(estimator, roll):
    X = roll[0].copy()
    X.setflags(write=False)
    before = np.random.get_state()[1].copy()  # noqa: NPY002  the global state is the point
    estimator(landmarks=100, random_state=0).fit(X).transform(X)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002  as above
    np.testing.assert_array_equal(X, roll[0])


def test_laplacian_eigenmaps_of_all_points_are_scikit_learns(roll):
    X = roll[0][:600]
    emb = tp.LaplacianEigenmaps(3, graph="euclidean", n_neighbors=12).fit(X)
    np.testing.assert_array_equal(emb.landmark_indices_, np.arange(600))
    without_loops = emb.graph_ - csr_array(np.eye(600))
    # Given weights are in units of the largest.
    without_loops /= without_loops.max()
    emb = tp.LaplacianEigenmaps(3, graph=without_loops, eigenvectors="leading")
    with pytest.warns(tp.RedundantEigenvectorsWarning, match="function of the earlier"):
        emb.fit(X)
    peer = sklearn.manifold.SpectralEmbedding(
        3, affinity="precomputed", eigen_solver="arpack", random_state=0
    )
    expected = peer.fit_transform(without_loops.toarray())
    np.testing.assert_allclose(up_to_sign(emb.landmark_embedding_, expected), expected, atol=1e-8)


def test_kernel_pca_of_all_points_is_scikit_learns(roll):
    X = roll[0][:500]
    emb = tp.KernelPCA(n_components=4, bandwidth=3.0)
    peer = sklearn.decomposition.KernelPCA(4, kernel="rbf", gamma=1 / 18, eigen_solver="dense")
    expected = peer.fit_transform(X)
    np.testing.assert_allclose(up_to_sign(emb.fit_transform(X), expected), expected, atol=1e-9)


def test_isomap_of_all_points_is_scikit_learns_on_the_same_graph(roll):
    X = roll[0][:500]
    emb = tp.Isomap(n_components=2, graph="euclidean", n_neighbors=10).fit(X)
    peer = sklearn.manifold.Isomap(
        n_components=2, n_neighbors=499, metric="precomputed", eigen_solver="dense"
    )
    expected = peer.fit_transform(emb.geodesics_)
    np.testing.assert_allclose(up_to_sign(emb.landmark_embedding_, expected), expected, atol=1e-6)


def test_leading_eigenvectors_recover_arc_length_and_the_default_height_too(
    big_roll, default_of_big_roll
):
    """The figures of the README's Swiss roll, at a twentieth of its size."""
    X, intrinsic = big_roll
    emb = tp.LaplacianEigenmaps(landmarks=1000, eigenvectors="leading", random_state=0)
    with pytest.warns(tp.RedundantEigenvectorsWarning, match="choose eigenvectors='independent'"):
        leading = emb.fit_transform(X)
    assert abs(spearmanr(leading[:, 0], intrinsic[:, 0]).statistic) > 0.999
    length, height = coordinate_recovery(leading, intrinsic)
    assert length > 0.999
    assert height < 0.3
    independent = default_of_big_roll.transform(X)
    length, height = coordinate_recovery(independent, intrinsic)
    assert length > 0.999
    assert height > 0.99


def test_isomap_unrolls_to_true_scale(big_roll):
    """Isomap's coordinates are lengths: they match arc length and height themselves."""
    X, intrinsic = big_roll
    emb = tp.Isomap(landmarks=500, random_state=0).fit(X)
    Y = emb.transform(X[:5000])
    for column in (0, 1):
        slope = np.polyfit(intrinsic[:5000, column], Y[:, column], 1)[0]
        # Paths over a graph turn left and right: they are a few per cent longer.
        assert 0.99 < abs(slope) < 1.1
        assert abs(np.corrcoef(intrinsic[:5000, column], Y[:, column])[0, 1]) > 0.99


# Speaking for all points, landmarks of the next turn of the roll blur its ends a little.
@pytest.mark.parametrize(("extension", "least"), [("graph", 0.99), (20, 0.99), ("all", 0.98)])
@pytest.mark.parametrize("estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps])
def test_every_extension_recovers_arc_length(estimator, extension, least, roll):
    X, intrinsic = roll
    emb = estimator(landmarks=300, extension=extension, random_state=0)
    assert abs(spearmanr(emb.fit_transform(X)[:, 0], intrinsic[:, 0]).statistic) > least


@pytest.mark.parametrize(
    ("n_components", "n_columns", "graph", "n_neighbors", "extension"),
    [
        (4, 3, "bhattacharyya", 10, "smooth"),
        (5, 20, "bhattacharyya", 10, "graph"),
        (6, 20, "complete", None, "all"),
        (6, 3, "complete", None, "all"),
    ],
)
def test_defaults_depend_on_what_is_asked_for(
    n_components, n_columns, graph, n_neighbors, extension, rng, roll
):
    X = roll[0][:1000]
    if n_columns > 3:
        X = X @ np.linalg.qr(rng.normal(size=(n_columns, 3)))[0].T
    emb = tp.LaplacianEigenmaps(n_components, landmarks=80, random_state=0)
    given = {"graph": graph, "n_neighbors": n_neighbors, "extension": extension}
    by_name = tp.LaplacianEigenmaps(n_components, landmarks=80, random_state=0, **given)
    np.testing.assert_array_equal(emb.fit_transform(X), by_name.fit_transform(X))
    assert emb.dimension_ == pytest.approx(2, abs=0.3)


@pytest.fixture(scope="module")
def sphere():
    """A sphere with a small hole, which no graph of neighbors unrolls."""
    points = np.random.default_rng(0).normal(size=(1500, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points[points[:, 2] < 0.95]


@pytest.mark.parametrize("estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps])
def test_a_picture_takes_the_graph_that_keeps_most(estimator, sphere, tmp_path):
    emb = estimator(landmarks=200, random_state=0)
    coordinates = emb.fit_transform(sphere)
    # Planes are not tried through a few neighbors.
    assert list(emb.tried_) == [
        "bhattacharyya 10, smooth",
        "bhattacharyya 10, graph",
        "bhattacharyya 3, graph",
        "bhattacharyya 5, graph",
        "bhattacharyya 20, smooth",
        "bhattacharyya 20, graph",
        "euclidean 20, smooth",
        "euclidean 20, graph",
        "complete, all",
    ]
    first, *others = emb.tried_
    rated = {name: kept + 0.01 * name.endswith("smooth") for name, kept in emb.tried_.items()}
    best = max(others, key=rated.get)
    assert rated[best] > rated[first] + 0.02
    graph, extension = best.split(", ")
    metric, *count = graph.split()
    by_name = estimator(
        landmarks=200,
        graph=metric,
        n_neighbors=int(count[0]) if count else None,
        extension=extension,
        random_state=0,
    )
    np.testing.assert_array_equal(coordinates, by_name.fit_transform(sphere))
    assert by_name.tried_ == {}
    # All points are looked at, as there are fewer than 2,000.
    kept = tp.metrics.neighbor_preservation(sphere, coordinates, n_neighbors=10)
    assert emb.tried_[best] == pytest.approx(kept, abs=1e-9)
    emb.save(tmp_path / "model.trig")
    loaded = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(loaded.transform(sphere), coordinates)
    assert loaded.fitted_.decided == emb.fitted_.decided
    assert emb.fitted_.decided["graph"] == metric


def test_a_good_picture_is_taken_at_once(rng):
    sheet = np.column_stack([rng.uniform(size=(1500, 2)) * [3, 2], np.zeros(1500)])
    emb = tp.LaplacianEigenmaps(landmarks=200, random_state=0).fit(sheet)
    assert list(emb.tried_) == ["bhattacharyya 10, smooth"]
    assert min(emb.tried_.values()) > 0.65


@pytest.mark.parametrize(
    "asked",
    [
        {"graph": "bhattacharyya"},
        {"n_neighbors": 10},
        {"extension": "graph"},
        {"eigenvectors": "independent"},
        {"n_components": 4},
        {"n_components": 6, "covariance": "diag"},
        {"n_components": 65},
    ],
)
def test_nothing_is_tried_where_something_was_asked_for(asked, sphere):
    assert tp.LaplacianEigenmaps(landmarks=100, random_state=0, **asked).fit(sphere).tried_ == {}


def test_features_take_the_graph_that_keeps_most(rng):
    """Images of a spot anywhere: distances say little beyond its width."""
    gaps = np.abs(rng.uniform(size=(1200, 2, 1)) - np.linspace(0, 1, 10, endpoint=False))
    rows, columns = np.exp(-((np.minimum(gaps, 1 - gaps) / 0.07) ** 2)).transpose(1, 0, 2)
    X = (rows[:, :, None] * columns[:, None, :]).reshape(1200, 100)
    emb = tp.LaplacianEigenmaps(8, landmarks=300, random_state=0)
    coordinates = emb.fit_transform(X)
    assert list(emb.tried_) == ["complete, all", "euclidean 20, graph"]
    assert emb.tried_["euclidean 20, graph"] > emb.tried_["complete, all"] + 0.03
    given = {"graph": "euclidean", "n_neighbors": 20, "extension": "graph"}
    by_name = tp.LaplacianEigenmaps(8, landmarks=300, random_state=0, **given)
    np.testing.assert_array_equal(coordinates, by_name.fit_transform(X))


@pytest.mark.parametrize("estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps])
def test_landmarks_count_by_the_points_that_they_stand_for(estimator, rng, monkeypatch, tmp_path):
    by_mass = Tryout("bhattacharyya", 5, ["graph"], by_mass=True)
    monkeypatch.setattr(markov, "graphs_to_try", lambda *_: [by_mass])
    X = rng.normal(size=(1500, 6))

    def fitted(n_jobs):
        # The second is taken, whatever it keeps.
        shares = iter((0.1, 0.2))
        monkeypatch.setattr(Judge, "kept", lambda *_: next(shares))
        return estimator(landmarks=200, random_state=0, n_jobs=n_jobs).fit(X)

    emb = fitted(1)
    assert list(emb.tried_) == ["bhattacharyya 5, graph", "bhattacharyya by mass 5, graph"]
    assert emb.fitted_.decided["graph"] == "bhattacharyya by mass"
    masses = np.bincount(cdist(X, emb.landmarks_).argmin(axis=1), minlength=200) / (1500 / 200)
    weights = tp.KNNGraph(5).build(emb.fitted_.landmarks).weights.toarray()
    expected = masses[:, None] * weights * masses
    np.testing.assert_allclose(emb.graph_.toarray(), expected, rtol=1e-12)
    # Points are placed by the same walk.
    np.testing.assert_allclose(emb.transform(emb.landmarks_), emb.landmark_embedding_, atol=1e-9)
    np.testing.assert_array_equal(fitted(2).transform(X), emb.transform(X))
    emb.save(tmp_path / "model.trig")
    np.testing.assert_array_equal(tp.load(tmp_path / "model.trig").transform(X), emb.transform(X))
    # The same graph by name.
    asked = estimator(landmarks=200, graph=tp.KNNGraph(5, by_mass=True), random_state=0)
    np.testing.assert_array_equal(asked.fit_transform(X), emb.transform(X))
    assert asked.tried_ == {}


def test_masses_are_counted_in_a_sample(rng):
    landmarks = rng.normal(size=(30, 3))
    # Of so many points only ten for each landmark are looked at, all of them near the first.
    X = landmarks[:1] + 1e-3 * rng.normal(size=(5000, 3))
    masses = masses_of(X, landmarks, 1)
    np.testing.assert_allclose(masses / masses[1], [300, *[1] * 29])
    assert masses.mean() == pytest.approx(1)


@pytest.mark.parametrize("n_columns", [6, 40])
def test_masses_of_sparse_points(n_columns, rng):
    X = rng.poisson(0.5, size=(600, n_columns)).astype(float)
    landmarks = X[:50]
    np.testing.assert_array_equal(masses_of(csr_array(X), landmarks, 2), masses_of(X, landmarks, 1))


@pytest.mark.parametrize(("by_rule", "tried"), [("smooth", False), ("graph", True)])
def test_masses_are_tried_along_graphs_only(by_rule, tried):
    assert any(one.by_mass for one in graphs_to_try(False, by_rule)) == tried
    assert not any(one.by_mass for one in graphs_to_try(True, "all"))


def attempt(name, kept, *, warning=None, bridges=(), error=None, extended_by="graph"):
    """What `best_of` is given for a graph, with the share that is kept in place of an extension."""

    def made():
        if warning is not None:
            warnings.warn(warning, UserWarning, stacklevel=1)
        if bridges:
            warnings.warn(PIECES, stacklevel=1)
        if error is not None:
            raise error
        graph = LandmarkGraph(None, None, bridges, None)
        embedded = EmbeddedLandmarks("LaplacianEigenmaps", None, None, graph)
        yield replace(embedded, decided={"graph": name}, extended_by=extended_by), kept

    return made


JUDGE = SimpleNamespace(kept=lambda extension: extension)
REFUSAL = tp.ParameterError("X", None, "no such graph", "choose another")
PIECES = tp.DisconnectedGraphWarning("the graph is in pieces")


@pytest.mark.parametrize(
    ("others", "taken"),
    [
        ([attempt("b", 0.52)], "b"),
        ([attempt("b", 0.519)], "a"),
        ([attempt("b", 0.53), attempt("c", 0.525, extended_by="smooth")], "c"),
        ([attempt("b", 0.9, error=REFUSAL), attempt("c", 0.53)], "c"),
    ],
)
def test_which_graph_is_taken(others, taken):
    best, kept = best_of([attempt("a", 0.5), *others], JUDGE, 0.65)
    assert best.decided["graph"] == taken
    assert kept["a, graph"] == 0.5


@pytest.mark.parametrize(
    ("other", "taken"),
    [
        (attempt("b", 0.529), "a"),
        (attempt("b", 0.531), "b"),
        (attempt("b", 0.519, extended_by="smooth"), "a"),
        (attempt("b", 0.521, extended_by="smooth"), "b"),
    ],
)
def test_a_smooth_picture_may_keep_less(other, taken):
    best, _ = best_of([attempt("a", 0.5, extended_by="smooth"), other], JUDGE, 0.65)
    assert best.decided["graph"] == taken


def test_only_the_graph_that_is_taken_warns():
    attempts = [attempt("a", 0.1, warning="of a"), attempt("b", 0.4, warning="of b")]
    with pytest.warns(UserWarning, match="of b") as said:
        best_of([*attempts, attempt("c", 0.2, warning="of c")], JUDGE, 0.65)
    assert [str(one.message) for one in said] == ["of b"]


def test_bridges_of_one_piece_are_edges():
    """A sparse graph may fall apart where the points do not, as the first one shows."""
    torn = attempt("b", 0.9, bridges=[(0, 1)])
    # A warning would be an error.
    best, _ = best_of([attempt("a", 0.5), torn, attempt("c", 0.53)], JUDGE, 0.65)
    assert best.decided["graph"] == "b"
    assert len(best.graph.bridges) == 0


@pytest.mark.parametrize("first", [attempt("a", 0.5, bridges=[(2, 3)]), attempt("complete", 0.5)])
def test_graphs_in_pieces_are_not_taken_where_the_points_may_be(first):
    torn = attempt("b", 0.9, bridges=[(0, 1)])
    best, kept = best_of([first, torn, attempt("c", 0.53)], JUDGE, 0.65)
    assert best.decided["graph"] == "c"
    assert "b, graph" not in kept


def test_a_graph_in_pieces_says_so():
    with pytest.warns(tp.DisconnectedGraphWarning):
        best_of([attempt("a", 0.5, bridges=[(2, 3)])], JUDGE, 0.65)


def test_a_graph_by_rule_that_fails_is_an_error():
    with pytest.raises(tp.ParameterError, match="no such graph"):
        best_of([attempt("a", 0.1, error=REFUSAL), attempt("b", 0.4)], JUDGE, 0.65)


def test_after_a_good_graph_no_other_is_made():
    failing = attempt("b", 0.9, error=AssertionError())
    _, kept = best_of([attempt("a", 0.65), failing], JUDGE, 0.65)
    assert kept == {"a, graph": 0.65}


def test_more_neighbors_are_not_taken_where_they_join_no_pieces(rng):
    X = rng.normal(size=(400, 2))
    X[200:] += 50
    emb = tp.LaplacianEigenmaps(1, landmarks=80, graph="euclidean", random_state=0)
    by_name = clone(emb).set_params(n_neighbors=10)
    for estimator in (emb, by_name):
        with pytest.warns(tp.DisconnectedGraphWarning):
            estimator.fit(X)
    np.testing.assert_array_equal(emb.graph_.indices, by_name.graph_.indices)


def test_more_neighbors_are_taken_where_they_join_pieces(rng):
    X = rng.normal(size=(300, 6))
    X[150:, 0] += 6.5
    # With eigenvectors that are asked for, nothing else is tried.
    emb = tp.LaplacianEigenmaps(landmarks=300, eigenvectors="independent", random_state=0)
    with pytest.warns(tp.DisconnectedGraphWarning):
        clone(emb).set_params(n_neighbors=5).fit(X)
    by_name = clone(emb).set_params(n_neighbors=10).fit(X)
    np.testing.assert_array_equal(emb.fit(X).graph_.indices, by_name.graph_.indices)


def test_fewer_neighbors_where_points_spread_in_many_directions(rng):
    X = rng.normal(size=(2000, 12))
    emb = tp.LaplacianEigenmaps(landmarks=150, random_state=0).fit(X)
    by_name = tp.LaplacianEigenmaps(landmarks=150, n_neighbors=5, random_state=0).fit(X)
    assert emb.dimension_ > 6
    np.testing.assert_array_equal(emb.graph_.indices, by_name.graph_.indices)


def test_landmarks_as_number_sampler_rows_or_points(roll):
    X = roll[0]
    emb = tp.LaplacianEigenmaps(landmarks=80, graph="bhattacharyya", random_state=3)
    by_number = clone(emb).fit(X)
    sampler = tp.EfficientDPP(80, covariance="full")
    by_sampler = clone(emb).set_params(landmarks=sampler).fit(X)
    np.testing.assert_array_equal(by_number.landmark_indices_, by_sampler.landmark_indices_)
    by_rows = clone(emb).set_params(landmarks=by_number.landmark_indices_).fit(X)
    np.testing.assert_allclose(by_rows.transform(X), by_number.transform(X), atol=1e-9)
    by_points = clone(emb).set_params(landmarks=by_number.landmarks_).fit(X)
    np.testing.assert_allclose(by_points.transform(X), by_number.transform(X), atol=1e-9)
    assert by_points.landmark_indices_ is None
    assert not hasattr(sampler, "indices_")


@pytest.mark.parametrize(
    "sampler",
    [
        tp.Uniform(60),
        tp.KMeansPlusPlus(60),
        tp.KMeansLandmarks(60, snap=False),
        tp.KDPP(60, bandwidth=2.0),
        tp.ExactDPP(bandwidth=2.0),
        tp.AnnealedDPP(60, bandwidth=2.0, n_sweeps=2),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_every_sampler_can_choose_the_landmarks(sampler, roll):
    X = roll[0][:600]
    emb = tp.LaplacianEigenmaps(landmarks=sampler, graph="bhattacharyya", random_state=0).fit(X)
    assert np.isfinite(emb.transform(X)).all()


def test_graph_by_object_or_matrix(roll):
    X = roll[0]
    by_name = tp.LaplacianEigenmaps(
        landmarks=100, graph="euclidean", n_neighbors=9, bandwidth=2.0, random_state=0
    ).fit(X)
    graph = tp.KNNGraph(9, metric="euclidean", bandwidth=2.0)
    by_object = tp.LaplacianEigenmaps(landmarks=100, graph=graph, random_state=0).fit(X)
    np.testing.assert_array_equal(by_name.landmark_embedding_, by_object.landmark_embedding_)
    by_matrix = tp.LaplacianEigenmaps(
        landmarks=by_name.landmark_indices_, graph=by_name.graph_, bandwidth=2.0
    ).fit(X)
    np.testing.assert_allclose(
        by_matrix.landmark_embedding_, by_name.landmark_embedding_, atol=1e-12
    )


@pytest.mark.parametrize("loops", [0.0, 1.0])
def test_landmarks_keep_their_coordinates_on_a_graph_of_ones_own(loops, roll):
    """A binary graph: its weights are nobody's kernel."""
    X = roll[0][:500]
    emb = tp.LaplacianEigenmaps(landmarks=np.arange(500), graph="bhattacharyya").fit(X)
    links = (emb.graph_ > 0).astype(float)
    links.setdiag(loops)
    emb = tp.LaplacianEigenmaps(landmarks=np.arange(500), graph=links).fit(X)
    np.testing.assert_allclose(emb.transform(X), emb.landmark_embedding_, atol=1e-10)
    isomap = tp.Isomap(landmarks=np.arange(500), graph=links).fit(X)
    np.testing.assert_allclose(isomap.transform(X), isomap.landmark_embedding_, atol=1e-7)


def test_float32_of_separated_clusters_in_high_dimension(rng):
    """A float32 product would lose all distances within a cluster."""
    X = rng.normal(size=(600, 20))
    X[300:] += 3000
    with pytest.warns(tp.DisconnectedGraphWarning):
        emb = tp.LaplacianEigenmaps(
            landmarks=100, n_neighbors=20, extension=20, random_state=0
        ).fit(X)
    difference = emb.transform(X.astype(np.float32)) - emb.transform(X)
    assert np.abs(difference).max() < 1e-2 * emb.landmark_embedding_.std()


def test_duplicated_points_small_data_takes_each_once(rng):
    X = np.repeat(rng.normal(size=(40, 3)), 3, axis=0)
    emb = tp.LaplacianEigenmaps().fit(X)
    assert len(emb.landmarks_) == 40
    Y = emb.transform(X)
    np.testing.assert_array_equal(Y[0::3], Y[1::3])


def test_pipeline_clone_and_grid_search(roll):
    X, intrinsic = roll
    y = (intrinsic[:, 0] > np.median(intrinsic[:, 0])).astype(int)
    pipeline = make_pipeline(
        StandardScaler(),
        tp.LaplacianEigenmaps(landmarks=tp.EfficientDPP(100), random_state=0),
        KNeighborsClassifier(),
    )
    grid = {
        "laplacianeigenmaps__n_neighbors": [8, 15],
        "laplacianeigenmaps__landmarks__n_landmarks": [60, 120],
    }
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X[:1000], y[:1000])
    assert search.score(X[1000:2000], y[1000:2000]) > 0.95
    assert clone(pipeline).get_params()["laplacianeigenmaps__landmarks__n_landmarks"] == 100


@each_estimator
def test_set_output_gives_named_columns(estimator, roll):
    emb = estimator(n_components=2, landmarks=50, random_state=0, **ONE_GRAPH.get(estimator, {}))
    frame = emb.set_output(transform="pandas").fit_transform(roll[0])
    name = type(emb).__name__.lower()
    assert list(frame.columns) == [f"{name}0", f"{name}1"]


def test_memory_maps_are_taken(tmp_path, roll):
    np.save(tmp_path / "points.npy", roll[0].astype(np.float32))
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    emb = tp.LaplacianEigenmaps(landmarks=80, graph="bhattacharyya", random_state=0).fit(mapped)
    in_memory = clone(emb).fit(np.array(mapped))
    np.testing.assert_array_equal(emb.landmark_indices_, in_memory.landmark_indices_)


def test_stage_times_are_kept(roll):
    emb = tp.LaplacianEigenmaps(landmarks=80, random_state=0).fit(roll[0])
    assert list(emb.stage_seconds_) == ["reading", "landmarks", "graph", "spectrum"]


def test_mnist_digits_are_told_apart(data_dir):
    """A small version of the paper's experiment: 1-NN in the embedding."""
    X, y = load_mnist(data_dir / "mnist", split="test")
    emb = tp.LaplacianEigenmaps(n_components=30, landmarks=300, random_state=0)
    X, y = X[5000:], y[5000:]
    Y = emb.fit_transform(X)
    accuracy = tp.metrics.knn_accuracy(Y[:4000], y[:4000], Y[4000:], y[4000:])
    assert accuracy > 0.88


@pytest.mark.parametrize("d", [3, 20])
def test_anchors_embed_every_point_with_an_eigenvector_of_the_points_own_walk(d, rng, roll):
    X = roll[0][:800] @ np.linalg.qr(rng.normal(size=(d, 3)))[0].T
    emb = tp.LaplacianEigenmaps(3, landmarks=60, graph="anchors", random_state=0)
    Y = emb.fit_transform(X)
    # The slow and obvious way: shares of the nearest three, as in the docstring.
    distances = np.linalg.norm(X[:, None] - emb.landmarks_, axis=2)
    order = np.argsort(distances, axis=1)
    near = np.take_along_axis(distances, order[:, :4], axis=1)
    shares = (1 - (near[:, :3] / near[:, 3:]) ** 2) ** 2
    Z = np.zeros(distances.shape)
    np.put_along_axis(Z, order[:, :3], shares / shares.sum(axis=1, keepdims=True), axis=1)
    np.testing.assert_allclose(emb.graph_.toarray(), Z.T @ Z, atol=1e-9)
    walk = Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    np.testing.assert_allclose(walk @ Y, Y * (1 - emb.eigenvalues_), atol=1e-9 * np.abs(Y).max())
    np.testing.assert_allclose(emb.transform(emb.landmarks_), emb.landmark_embedding_, atol=1e-12)


def test_anchors_out_of_core_and_with_any_number_of_threads(roll, tmp_path):
    X = roll[0]
    np.save(tmp_path / "X.npy", X)
    expected = tp.LaplacianEigenmaps(landmarks=80, graph="anchors", random_state=0).fit_transform(X)
    for n_jobs in (1, 4):
        emb = tp.LaplacianEigenmaps(landmarks=80, graph="anchors", random_state=0, n_jobs=n_jobs)
        np.testing.assert_array_equal(emb.fit_transform(tmp_path / "X.npy"), expected)


def test_a_kernel_too_wide_for_so_many_coordinates_is_narrowed(rng):
    """Points of two directions in 60 columns: a wide kernel has few eigenvalues of any size."""
    X = (rng.normal(size=(1000, 2)) @ rng.normal(size=(2, 60))).astype(np.float32)
    emb = tp.LaplacianEigenmaps(50, landmarks=300, random_state=0).fit(X)
    assert (1 - emb.eigenvalues_).min() > 1e-3
    wide = tp.LaplacianEigenmaps(50, landmarks=300, graph=tp.CompleteGraph(), random_state=0)
    assert (1 - wide.fit(X).eigenvalues_).min() < 1e-3


@pytest.mark.parametrize("graph", ["complete", "anchors", tp.AnchorGraph(5), tp.CompleteGraph()])
def test_named_graphs_refuse_a_number_of_neighbors(graph, roll):
    emb = tp.LaplacianEigenmaps(landmarks=50, graph=graph, n_neighbors=5)
    with pytest.raises(tp.ParameterError, match="n_neighbors=5 has no effect"):
        emb.fit(roll[0])


def test_the_default_roll_is_drawn_evenly(default_of_big_roll):
    """Five Euclidean neighbors keep three points more, and would draw it with holes."""
    assert default_of_big_roll.extension_ == "smooth"
    assert int(default_of_big_roll.fitted_.decided["n_neighbors"]) >= 10
