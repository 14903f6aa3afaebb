"""Invalid input and parameters: errors name the parameter, the value and the remedy."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
import trigpoint._common.memory
from trigpoint._common.errors import ParameterWarning


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_values(estimator, bad, X):
    emb = estimator().fit(X)
    X[3, 1] = bad
    for call in (emb.transform, emb.fit):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity) .*in row 3, column 1"):
            call(X)


def test_values_whose_squares_overflow_or_vanish(estimator, X):
    overflow = r"values up to .*overflow float64: correct that value, or rescale X"
    with pytest.raises(ValueError, match=overflow):
        estimator().fit(X * 1e200)
    with pytest.raises(ValueError, match=r"vanish in float32: rescale X"):
        estimator().fit((X * 1e-25).astype(np.float32))
    for scale in (1e100, 1e-100):
        assert np.isfinite(estimator().fit_transform(X * scale)).all()


@pytest.mark.parametrize("scale", [1e152, 1e-150])
def test_reports_of_huge_and_tiny_values(scale, X, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=20, random_state=0).fit(X * scale)
    emb.report(tmp_path / "page.html", X * scale)


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda X: [*X.astype(str).tolist()[:-1], ["1", "up"]], ValueError, "'up' .* in row 59"),
        (lambda X: [[*X[0], "x"]], ValueError, r"'x' instead of a number in row 0, column 2"),
        (lambda X: [[1, 2], [3, 10**400]], ValueError, r"in row 1, column 1 \(int too large"),
        (lambda X: np.full((5, 2), {}, dtype=object), TypeError, r"X has {} .* in row 0, column 0"),
        (lambda X: np.array([[X, 1]], dtype=object), ValueError, r"X has array.* row 0, column 0"),
        (lambda X: X.astype("datetime64[D]"), ValueError, r"holds dates \(datetime64\[D\]\)"),
        (lambda X: csr_array(X * 1j), ValueError, r"X holds complex128: .*; pass X\.real"),
        (lambda X: np.zeros(9, "f8,f8"), ValueError, r"array of records: pass pandas.DataFrame\(X"),
        (lambda X: pd.DataFrame(), ValueError, r"0 (sample|feature)\(s\)"),
        (lambda X: X * 1j, ValueError, r"X holds complex128: .*; pass X\.real"),
        (lambda X: X.astype("timedelta64[s]"), ValueError, r"durations .*'timedelta64\[s\]'"),
        (lambda X: np.ma.masked_greater(X, 1.0), ValueError, "X has masked values"),
        (lambda X: [[1, 2], [3], [4, 5]], ValueError, "X has rows of 1 and of 2 values"),
        *[
            (lambda X, thing=thing: thing, TypeError, r"X is (None|of type \w+), not points: pass")
            for thing in (None, 3, (x for x in [[1, 2]]), {"a": [1, 2]}, {1, 2}, np.ndarray)
        ],
    ],
)
def test_arrays_without_numbers(made, error, message, X):
    emb = tp.LaplacianEigenmaps(landmarks=20, random_state=0)
    for use in (emb.fit, tp.EfficientDPP(5).fit, emb.fit(X).transform):
        with pytest.raises(error, match=message) as caught:
            use(made(X))
        assert isinstance(caught.value, tp.ParameterError)
        assert caught.value.parameter == "X"


def test_the_remedy_for_dates_works():
    dates = np.arange(60).astype("datetime64[D]").reshape(30, 2)
    seconds = dates.astype("datetime64[s]").astype(float)
    assert seconds[1, 0] == 2 * 86400
    assert tp.Uniform(5).fit(seconds).landmarks_.shape == (5, 2)


@pytest.mark.parametrize("kind", [str, "S", object], ids=["str", "bytes", "objects"])
def test_numbers_written_as_text_are_not_numbers(kind, X):
    text = X.astype(str).astype(kind)
    emb = tp.LaplacianEigenmaps(landmarks=20, random_state=0)
    for use in (emb.fit, tp.EfficientDPP(5).fit, emb.fit(X).transform):
        with pytest.raises(tp.ParameterError, match=r"written as text: .* pass X\.astype\(float\)"):
            use(text)
        with pytest.raises(tp.ParameterError, match=r"pass np\.array\(X, dtype=float\)"):
            use(text.tolist())
        with pytest.raises(
            tp.ParameterError, match=r"column 'a' of type .* do(es)? not hold numbers"
        ):
            use(pd.DataFrame(text, columns=list("abcdefgh")[: X.shape[1]]))
    np.testing.assert_array_equal(emb.fit_transform(text.astype(float)), emb.fit_transform(X))
    emb.fit(X.astype(object))


def test_new_points_near_the_origin_are_accepted(estimator, X):
    emb = estimator().fit(X)
    near, at = emb.transform([[1e-200, 0.0]]), emb.transform([[0.0, 0.0]])
    np.testing.assert_allclose(near, at, rtol=1e-9)


def test_coinciding_landmarks_of_a_sampler_are_left_out_with_a_warning(estimator, rng):
    X = np.repeat(rng.normal(size=(60, 3)), 10, axis=0)
    emb = estimator(landmarks=tp.Uniform(200), random_state=0)
    with pytest.warns(tp.ParameterWarning, match="coincided with others") as caught:
        Y = emb.fit_transform(X)
    assert np.isfinite(Y).all()
    assert len(np.unique(emb.landmarks_, axis=0)) == len(emb.landmarks_)
    # The warning points to this file, not into a library.
    assert caught[0].filename == __file__


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_default_landmarks_of_many_copies_are_all_distinct_points(estimator, kind, rng):
    X = (rng.normal(size=(50, 20)) * (rng.random((50, 20)) < 0.2))[rng.integers(0, 50, 3000)]
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    np.testing.assert_array_equal(estimator().fit(kind(X)).landmark_indices_, rows)


def test_disconnected_data_warns_and_every_point_has_coordinates(rng):
    X = np.concatenate([rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) + 1000])
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0)
    with pytest.warns(tp.ParameterWarning, match=r"2 connected components.*a larger n_neighbors"):
        Y = emb.fit_transform(X)
    assert np.isfinite(Y).all()
    assert len(emb.bridges_) == 1


def test_landmarks_that_overflow_the_points_type_are_refused(rng):
    """Searching for the neighbors of infinity would not terminate."""
    X = rng.normal(size=(60, 20)).astype(np.float32)
    landmarks = X[:5].astype(np.float64)
    landmarks[0, 0] = 1e60
    with pytest.raises(ValueError, match="landmarks contains infinity"):
        tp.LaplacianEigenmaps(landmarks=landmarks).fit(X)


def test_an_outlier_that_hides_all_others_is_named(X, rng):
    X[17] = 1e12
    with pytest.raises(ValueError, match=r"row 17 of X is so far .*remove it"):
        tp.Isomap(landmarks=40, random_state=0).fit(X)
    # A line is not a set of outliers.
    with pytest.raises(ValueError, match="choose n_components <= 1"):
        tp.Isomap(landmarks=40, random_state=0).fit(np.c_[np.arange(60.0), np.zeros(60)])
    assert "row 17 of X is so far" in tp.compare_methods(X).failures["Isomap"]
    # A map then starts from principal components, which a single row hardly influences.
    X = rng.normal(size=(400, 3))
    others = np.arange(400) != 333
    plain = tp.LandmarkMap(init="pca").fit_transform(X[others])
    X[333] = 1e12
    found = tp.LandmarkMap().fit_transform(X)[others]
    scores = [tp.metrics.map_scores(X[others], Y).neighbors_preserved for Y in (plain, found)]
    assert scores[1] > scores[0] - 0.03


def test_too_few_or_equal_points(estimator):
    with pytest.raises(ValueError, match="minimum of 2"):
        estimator().fit([[1.0, 2.0]])
    for landmarks in (None, 30):
        with pytest.raises(ValueError, match="all 60 points coincide: there is nothing to") as it:
            estimator(landmarks=landmarks).fit(np.ones((60, 2)))
        assert it.value.parameter == "X"


def test_the_call_that_leaves_a_text_column_out_is_one_that_fit_takes(X):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "name": ["x"] * len(X)})
    with pytest.raises(ValueError, match="column 'name'") as refused:
        tp.LaplacianEigenmaps().fit(frame)
    call = str(refused.value).rpartition("leave it out with ")[2]
    points = eval(call, {"tp": tp, "X": frame})
    assert tp.LaplacianEigenmaps(landmarks=20).fit(points).n_features_in_ == 2


def test_more_landmarks_than_points_or_distinct_points(estimator, X):
    with pytest.raises(ValueError, match=r"landmarks=61 is too large.*60 points"):
        estimator(landmarks=61).fit(X)
    with pytest.raises(ValueError, match=r"^landmarks=40 is too large: after 30 landmarks"):
        estimator(landmarks=40, random_state=0).fit(np.repeat(X[:30], 2, axis=0))


# Maps have no extension and at most three coordinates.
@pytest.mark.parametrize(
    "estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA]
)
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0 is too small"),
        ({"n_components": 60}, ValueError, "n_components=60 is too large.*60 landmarks"),
        ({"n_components": "two"}, TypeError, "n_components must be a whole number"),
        ({"landmarks": 0}, ValueError, "landmarks=0 is too small"),
        ({"landmarks": 1}, ValueError, "landmarks=1 is too small: choose landmarks >= 2"),
        ({"landmarks": [["a", "b"]]}, ValueError, "landmarks has 'a' .* in row 0, column 0"),
        ({"landmarks": True}, TypeError, "landmarks=True is not understood"),
        ({"landmarks": []}, ValueError, "landmarks is empty"),
        ({"landmarks": tp.Uniform}, TypeError, "landmarks=.*Uniform.*is not understood"),
        ({"landmarks": np.full((3, 2), 1e200)}, ValueError, "landmarks has values up to 1e.200"),
        ({"landmarks": "many"}, TypeError, "landmarks='many' is not understood"),
        ({"landmarks": [0, 1, 99]}, ValueError, "rows from 0 to 99: choose rows from 0 to 59"),
        ({"landmarks": [0, 1, 1]}, ValueError, "3 entries, only 2 of them distinct"),
        ({"landmarks": np.ma.masked_less(np.eye(2), 1)}, ValueError, "landmarks has masked values"),
        ({"landmarks": np.eye(2) * 1j}, ValueError, "landmarks holds complex128"),
        (
            {"landmarks": [True] * 20 + [False] * 40},
            TypeError,
            r"landmarks=\[True.*\.\.\..* pass np.flatnonzero\(landmarks\)",
        ),
        ({"landmarks": np.ones((3, 5))}, ValueError, "5 columns and X has 2"),
        ({"landmarks": np.full((3, 2), np.nan)}, ValueError, "NaN"),
        ({"random_state": "x"}, TypeError, "random_state must be"),
        ({"random_state": True}, TypeError, "random_state must be .* got True"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0 is too small"),
        ({"n_jobs": np.array([1, 2])}, TypeError, "n_jobs must be a"),
        ({"n_jobs": 10**20}, ValueError, "n_jobs=1.* is too large: choose n_jobs <= 65536"),
    ],
)
def test_bad_parameters_of_every_estimator(estimator, parameters, error, message, X):
    with pytest.raises(error, match=message):
        estimator(**parameters).fit(X)


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (tp.LaplacianEigenmaps, {"graph": "cosine"}, "graph='cosine' is not known"),
        (tp.LaplacianEigenmaps, {"extension": 5}, "extension=5 is not known: choose one of 'auto'"),
        (tp.LaplacianEigenmaps, {"eigenvectors": "best"}, "eigenvectors='best' is not known"),
        (tp.LaplacianEigenmaps, {"graph": np.ones((3, 3))}, r"graph has shape \(3, 3\)"),
        (tp.DiffusionMaps, {"alpha": -1}, "alpha=-1.0 is out of range: choose alpha from 0 to 1$"),
        (tp.DiffusionMaps, {"alpha": 1.5}, "alpha=1.5 is out of range: choose alpha from 0 to 1$"),
        (tp.DiffusionMaps, {"alpha": 1e-300}, "choose alpha 0, or from 2e-154 to 1$"),
        (tp.LandmarkMap, {"n_components": 4}, "n_components=4 is too large.*<= 3"),
        (tp.LandmarkMap, {"n_neighbors": 0}, "n_neighbors=0 is too small"),
        (tp.LandmarkMap, {"n_neighbors": 70}, "=70 is too large: choose n_neighbors <= 59"),
        (tp.LandmarkMap, {"exaggeration": -1.0}, "exaggeration=-1.0 is out of range"),
        (tp.LandmarkMap, {"n_iter": 0}, "n_iter=0 is too small"),
        (tp.LandmarkMap, {"n_iter": 10**20}, "0 is too large: choose n_iter <= 1000000$"),
        (tp.LandmarkMap, {"init": "random"}, "init='random' is not known: choose one of 'auto', "),
        (tp.DiffusionMaps, {"time": -1}, "time=-1.0 is out of range: choose time >= 0$"),
        (tp.DiffusionMaps, {"time": 1e-200}, "choose time >= 2e-154, or 0$"),
        (tp.DiffusionMaps, {"time": np.inf}, r"time=inf is out of range: choose time <= 6e\+153$"),
        (tp.Isomap, {"extension": "all"}, "extension='all' is not known: choose one of 'auto'"),
        (tp.KernelPCA, {"bandwidth": 1e-3}, "bandwidth=0.001 is too small.*choose one near"),
        (tp.KernelPCA, {"bandwidth": 1e8}, "bandwidth=100000000.0 is too large.*choose one near"),
        (
            tp.LaplacianEigenmaps,
            {"graph": tp.KNNGraph(bandwidth=0.01)},
            "bandwidth=0.01 is too small.*landmarks without",
        ),
        (
            tp.LaplacianEigenmaps,
            {"graph": np.ones((10, 10)), "landmarks": 10},
            "graph is a matrix.*pass the row numbers or the points of its landmarks",
        ),
        (tp.KernelPCA, {"bandwidth": -2}, "bandwidth=-2.0 is out of range"),
    ],
)
def test_bad_parameters_of_one_estimator(estimator, parameters, message, X):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X)


@pytest.mark.parametrize("graph", [None, tp.KNNGraph, 0.5, [1.0, 2.0]])
def test_parameters_of_another_kind(graph, X):
    with pytest.raises(TypeError, match=r"graph=.* is not understood: pass one of 'auto', 'bhatt"):
        tp.LaplacianEigenmaps(graph=graph).fit(X)
    with pytest.raises(TypeError, match=r"init=.* is neither a name nor a 2-D array: pass coord"):
        tp.LandmarkMap(init=graph).fit(X)


@pytest.mark.parametrize("scale", [1e151, 1e152])
def test_a_bandwidth_far_too_small_is_refused_without_warnings(scale, X):
    with pytest.raises(tp.ParameterError, match=r"bandwidth=0\.001 is too small"):
        tp.KernelPCA(landmarks=20, bandwidth=1e-3, random_state=0).fit(X * scale)


@pytest.mark.parametrize("kernel", ["gaussian", "geodesic"])
def test_neighbors_are_checked_whatever_the_kernel(kernel, X):
    with pytest.raises(ValueError, match=r"n_neighbors=0 is too small: choose n_neighbors >= 1"):
        tp.ExactDPP(kernel=kernel, n_neighbors=0).fit(X[:, :2].repeat(2, axis=0))


def test_a_diffusion_time_after_which_nothing_is_left(X):
    maps = tp.DiffusionMaps(landmarks=40, random_state=0)
    with pytest.raises(ValueError, match=r"time=1000000.0 makes all coordinates vanish") as caught:
        maps.set_params(time=1e6).fit(X)
    longest = float(str(caught.value).split()[-1])
    with pytest.warns(ParameterWarning, match="makes 1 of the 2 coordinates vanish") as warned:
        found = maps.set_params(time=longest).fit_transform(X.astype(np.float32))
    assert found[:, 0].any()
    longest = float(str(warned[0].message).partition("choose time below ")[2].split()[0])
    found = maps.set_params(time=longest).fit_transform(X.astype(np.float32))
    assert found.any(axis=0).all()


def test_parameters_are_checked_before_any_work(X):
    """The sampler must not be called."""
    sampler = tp.EfficientDPP(10, repulsion=lambda *_: pytest.fail("sampled"))
    for wrong, message in (
        ({"n_components": 0}, "n_components=0"),
        ({"extension": "x"}, "extension='x'"),
        ({"graph": tp.KNNGraph(0)}, "n_neighbors=0"),
        ({"graph": tp.RadiusGraph(-1)}, "radius=-1"),
        ({"graph": tp.CompleteGraph(mean_weight=2)}, "mean_weight=2"),
    ):
        with pytest.raises(ValueError, match=message):
            tp.LaplacianEigenmaps(landmarks=sampler, **wrong).fit(X)


@pytest.mark.parametrize("estimator", [tp.Isomap, tp.KernelPCA])
def test_dense_work_that_cannot_fit_is_refused_before_it_starts(estimator, X, monkeypatch):
    monkeypatch.setattr(trigpoint._common.memory, "physical_memory", lambda: 1e3)
    with pytest.raises(ValueError, match=r"60 landmarks need a dense matrix.*fewer landmarks"):
        estimator().fit(X)
