"""Model selection: which graph is chosen by default."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone

import trigpoint as tp
from trigpoint._common.records import Fit, LandmarkGraph
from trigpoint._estimators import graph_embedding
from trigpoint._estimators.graph_embedding import Candidate, choose_fit
from trigpoint._graphs.graph import masses_of
from trigpoint._numerics.connectivity import DisconnectedGraphWarning


def graph_of(name, n_neighbors):
    """Return the graph object for a name and a number of neighbors, as in `decided`."""
    if name == "complete":
        return tp.CompleteGraph()
    return tp.KNNGraph(n_neighbors, metric=name)


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
    # The kernel of a complete graph given by name is as wide as the rule makes it.
    given = {"graph": graph if graph == "complete" else graph_of(graph, n_neighbors)}
    by_name = tp.LaplacianEigenmaps(
        n_components, landmarks=80, extension=extension, random_state=0, **given
    )
    np.testing.assert_array_equal(emb.fit_transform(X), by_name.fit_transform(X))
    assert emb.dimension_ == pytest.approx(2, abs=0.3)


@pytest.fixture(scope="module")
def sphere():
    """Return a sphere with a small hole, which no neighborhood graph can unroll."""
    points = np.random.default_rng(0).normal(size=(1500, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points[points[:, 2] < 0.95]


@pytest.mark.parametrize("estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps])
def test_2d_embeddings_select_the_graph_that_preserves_most(estimator, sphere):
    emb = estimator(landmarks=200, random_state=0)
    coordinates = emb.fit_transform(sphere)
    # With few neighbors, planes are not compared.
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
        graph=graph_of(metric, int(count[0]) if count else None),
        extension=extension,
        random_state=0,
    )
    np.testing.assert_array_equal(coordinates, by_name.fit_transform(sphere))
    assert by_name.tried_ == {}
    # There are fewer than 2,000 points, so all are compared.
    kept = tp.metrics.map_scores(sphere, coordinates, n_queries=None).neighbors_preserved
    assert emb.tried_[best] == pytest.approx(kept, abs=1e-9)
    assert emb.fitted_.decided["graph"] == metric


@pytest.mark.parametrize(
    "asked",
    [
        {"graph": "bhattacharyya"},
        {"graph": tp.KNNGraph(10)},
        {"extension": "graph"},
        {"eigenvectors": "independent"},
        {"n_components": 4},
        {"n_components": 6, "extension": "all"},
        {"n_components": 65},
    ],
)
def test_nothing_is_compared_if_a_parameter_is_given(asked, sphere):
    assert tp.LaplacianEigenmaps(landmarks=100, random_state=0, **asked).fit(sphere).tried_ == {}


def test_features_select_the_graph_that_preserves_most(rng):
    """For images of a spot at random positions, distances beyond its width carry no information."""
    gaps = np.abs(rng.uniform(size=(1200, 2, 1)) - np.linspace(0, 1, 10, endpoint=False))
    rows, columns = np.exp(-((np.minimum(gaps, 1 - gaps) / 0.07) ** 2)).transpose(1, 0, 2)
    X = (rows[:, :, None] * columns[:, None, :]).reshape(1200, 100)
    emb = tp.LaplacianEigenmaps(8, landmarks=300, random_state=0)
    coordinates = emb.fit_transform(X)
    assert list(emb.tried_) == ["complete, all", "euclidean 20, graph"]
    assert emb.tried_["euclidean 20, graph"] > emb.tried_["complete, all"] + 0.03
    given = {"graph": tp.KNNGraph(20, metric="euclidean"), "extension": "graph"}
    by_name = tp.LaplacianEigenmaps(8, landmarks=300, random_state=0, **given)
    np.testing.assert_array_equal(coordinates, by_name.fit_transform(X))


@pytest.mark.parametrize("estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps])
def test_landmarks_count_by_the_points_that_they_stand_for(estimator, rng, monkeypatch, tmp_path):
    by_mass = Candidate(tp.KNNGraph(5, by_mass=True), ["graph"])

    def two(self, points, k, dimension, first, extension):
        return [Candidate(first, [extension]), by_mass]

    monkeypatch.setattr(estimator, "_candidates", two)
    X = rng.normal(size=(1500, 6))

    def fitted(n_jobs):
        # The second graph is chosen, whatever it preserves.
        shares = iter((0.1, 0.2))
        monkeypatch.setattr(graph_embedding, "_preserved", lambda *_: next(shares))
        return estimator(landmarks=200, random_state=0, n_jobs=n_jobs).fit(X)

    emb = fitted(1)
    assert list(emb.tried_) == ["bhattacharyya 5, graph", "bhattacharyya by mass 5, graph"]
    assert emb.fitted_.decided["graph"] == "bhattacharyya by mass"
    masses = np.bincount(cdist(X, emb.landmarks_).argmin(axis=1), minlength=200) / (1500 / 200)
    weights = tp.KNNGraph(5).build(emb.fitted_.landmarks).weights.toarray()
    expected = masses[:, None] * weights * masses
    np.testing.assert_allclose(emb.graph_.toarray(), expected, rtol=1e-12)
    # Points are extended along the same graph.
    np.testing.assert_allclose(emb.transform(emb.landmarks_), emb.landmark_embedding_, atol=1e-9)
    np.testing.assert_array_equal(fitted(2).transform(X), emb.transform(X))
    emb.save(tmp_path / "model.trig")
    np.testing.assert_array_equal(tp.load(tmp_path / "model.trig").transform(X), emb.transform(X))
    # The same graph, given by name.
    monkeypatch.undo()
    asked = estimator(landmarks=200, graph=tp.KNNGraph(5, by_mass=True), random_state=0)
    np.testing.assert_array_equal(asked.fit_transform(X), emb.transform(X))
    assert asked.tried_ == {}


def test_masses_are_counted_in_a_sample(rng):
    landmarks = rng.normal(size=(30, 3))
    # Of so many points, only ten per landmark are compared, all of them near the first landmark.
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
def test_masses_are_compared_along_graphs_only(by_rule, tried):
    points = np.zeros((1000, 20))
    first = tp.KNNGraph(10)
    visual = tp.LaplacianEigenmaps(2)._candidates(points, 100, 2.0, first, by_rule)
    features = tp.LaplacianEigenmaps(10)._candidates(points, 100, 2.0, first, "all")
    assert any(getattr(candidate.graph, "by_mass", False) for candidate in visual) == tried
    assert len(features) > 1
    assert not any(getattr(candidate.graph, "by_mass", False) for candidate in features)


def attempt(name, kept, *, note=None, bridges=(), error=None, extended_by="graph"):
    """Return the arguments of `choose_fit` for a graph, with its share instead of an extension."""

    def made():
        if error is not None:
            raise error
        notes = () if note is None else (UserWarning(note),)
        if bridges:
            notes = (*notes, DisconnectedGraphWarning("the graph is in pieces"))
        graph = LandmarkGraph(None, None, np.array(bridges).reshape(-1, 2), None, notes)
        fit = Fit(None, None, 0.0, graph)
        yield replace(fit, extended_by=extended_by, decided={"graph": name}), kept

    return made


@pytest.fixture(autouse=True)
def given_shares(request, monkeypatch):
    """Make fits from `attempt` preserve their given shares."""
    preserved = graph_embedding._preserved

    def told(extension, *rest):
        return extension if isinstance(extension, float) else preserved(extension, *rest)

    monkeypatch.setattr(graph_embedding, "_preserved", told)


def best_of(*attempts):
    fit, _, preserved = choose_fit(attempts, np.arange(60.0).reshape(20, 3), False, 1)
    return fit, preserved


REFUSAL = tp.ParameterError("no such graph")


def smooth(name, kept):
    return attempt(name, kept, extended_by="smooth")


@pytest.mark.parametrize(
    ("first", "others", "taken"),
    [
        # Another graph is chosen if it clearly preserves more.
        (attempt("a", 0.5), [attempt("b", 0.52)], "b"),
        (attempt("a", 0.5), [attempt("b", 0.519)], "a"),
        (attempt("a", 0.5), [attempt("b", 0.9, error=REFUSAL), attempt("c", 0.53)], "c"),
        # A smooth embedding may preserve less.
        (attempt("a", 0.5), [attempt("b", 0.53), smooth("c", 0.525)], "c"),
        (smooth("a", 0.5), [attempt("b", 0.529)], "a"),
        (smooth("a", 0.5), [attempt("b", 0.531)], "b"),
        (smooth("a", 0.5), [smooth("b", 0.519)], "a"),
        (smooth("a", 0.5), [smooth("b", 0.521)], "b"),
    ],
)
def test_which_graph_is_taken(first, others, taken):
    best, kept = best_of(first, *others)
    assert best.decided["graph"] == taken
    assert next(iter(kept.values())) == 0.5


@pytest.mark.parametrize(
    ("first", "taken"),
    [
        (attempt("a", 0.5), "b"),
        (attempt("a", 0.5, bridges=[(2, 3)]), "c"),
        (attempt("complete", 0.5), "c"),
    ],
)
def test_disconnected_graphs_are_compared_only_if_the_first_is_connected(first, taken):
    """A sparse graph may be disconnected where the data is not; its bridges then act as edges."""
    best, kept = best_of(first, attempt("b", 0.9, bridges=[(0, 1)]), attempt("c", 0.53))
    assert best.decided["graph"] == taken
    assert ("b, graph" in kept) == (taken == "b")
    assert len(best.graph.bridges) == len(best.graph.notes) == 0


def test_only_the_graph_that_is_taken_warns():
    attempts = [attempt("a", 0.1, note="of a"), attempt("b", 0.4, note="of b")]
    fit, _ = best_of(*attempts, attempt("c", 0.2, note="of c"))
    assert [str(note) for note in fit.graph.notes] == ["of b"]
    (note,) = best_of(attempt("a", 0.5, bridges=[(2, 3)]))[0].graph.notes
    assert isinstance(note, DisconnectedGraphWarning)
    with pytest.raises(tp.ParameterError, match="no such graph"):
        best_of(attempt("a", 0.1, error=REFUSAL), attempt("b", 0.4))


def test_no_other_graph_is_built_after_a_good_one():
    failing = attempt("b", 0.9, error=AssertionError())
    _, kept = best_of(attempt("a", 0.65), failing)
    assert kept == {"a, graph": 0.65}


def test_more_neighbors_are_not_used_if_they_do_not_connect_the_graph(rng):
    X = rng.normal(size=(400, 2))
    X[200:] += 50
    emb = tp.LaplacianEigenmaps(1, landmarks=80, graph="euclidean", random_state=0)
    by_name = clone(emb).set_params(graph=tp.KNNGraph(10, metric="euclidean"))
    for estimator in (emb, by_name):
        with pytest.warns(DisconnectedGraphWarning):
            estimator.fit(X)
    np.testing.assert_array_equal(emb.graph_.indices, by_name.graph_.indices)


def test_more_neighbors_are_used_if_they_connect_the_graph(rng):
    X = rng.normal(size=(300, 6))
    X[150:, 0] += 6.5
    # If eigenvectors are given, no other graph is compared.
    emb = tp.LaplacianEigenmaps(landmarks=300, eigenvectors="independent", random_state=0)
    with pytest.warns(DisconnectedGraphWarning):
        clone(emb).set_params(graph=tp.KNNGraph(5)).fit(X)
    by_name = clone(emb).set_params(graph=tp.KNNGraph(10)).fit(X)
    np.testing.assert_array_equal(emb.fit(X).graph_.indices, by_name.graph_.indices)


def test_fewer_neighbors_where_points_spread_in_many_directions(rng):
    X = rng.normal(size=(2000, 12))
    emb = tp.LaplacianEigenmaps(landmarks=150, random_state=0).fit(X)
    by_name = tp.LaplacianEigenmaps(landmarks=150, graph=tp.KNNGraph(5), random_state=0).fit(X)
    assert emb.dimension_ > 6
    np.testing.assert_array_equal(emb.graph_.indices, by_name.graph_.indices)


def test_a_kernel_too_wide_for_so_many_coordinates_is_narrowed(rng):
    """Points with two dimensions in 60 columns: a wide kernel has few eigenvalues above zero."""
    X = (rng.normal(size=(1000, 2)) @ rng.normal(size=(2, 60))).astype(np.float32)
    emb = tp.LaplacianEigenmaps(50, landmarks=300, random_state=0).fit(X)
    assert (1 - emb.eigenvalues_).min() > 1e-3
    wide = tp.LaplacianEigenmaps(50, landmarks=300, graph=tp.CompleteGraph(), random_state=0)
    assert (1 - wide.fit(X).eigenvalues_).min() < 1e-3
