"""Every promise about bad input: an error that names the parameter, the value and the remedy."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import trigpoint as tp


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
        with pytest.raises(
            tp.ParameterError, match=r"column 'a' of type .* do(es)? not hold numbers"
        ):
            use(pd.DataFrame(text, columns=list("abcdefgh")[: X.shape[1]]))
    np.testing.assert_array_equal(emb.fit_transform(text.astype(float)), emb.fit_transform(X))
    emb.fit(X.astype(object))


def test_new_points_next_to_the_origin_are_no_matter(estimator, X):
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
    # The warning points here, not into a library.
    assert caught[0].filename == __file__


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_default_landmarks_of_many_copies_are_all_distinct_points(estimator, kind, rng):
    X = (rng.normal(size=(50, 20)) * (rng.random((50, 20)) < 0.2))[rng.integers(0, 50, 3000)]
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    np.testing.assert_array_equal(estimator().fit(kind(X)).landmark_indices_, rows)


def test_disconnected_data_warns_and_every_point_is_placed(rng):
    X = np.concatenate([rng.normal(size=(100, 3)), rng.normal(size=(100, 3)) + 1000])
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0)
    with pytest.warns(tp.ParameterWarning, match=r"2 connected components.*a larger n_neighbors"):
        Y = emb.fit_transform(X)
    assert np.isfinite(Y).all()
    assert len(emb.bridges_) == 1


def test_landmarks_that_overflow_the_points_type_are_refused(rng):
    """A search for the neighbors of infinity would not end."""
    X = rng.normal(size=(60, 20)).astype(np.float32)
    landmarks = X[:5].astype(np.float64)
    landmarks[0, 0] = 1e60
    with pytest.raises(ValueError, match="landmarks contains infinity"):
        tp.LaplacianEigenmaps(landmarks=landmarks).fit(X)


def test_an_outlier_that_hides_all_others_is_named(X, rng):
    X[17] = 1e12
    with pytest.raises(ValueError, match=r"row 17 of X is so far .*remove it"):
        tp.Isomap(landmarks=40, random_state=0).fit(X)
    # A line is a line, not an outlier.
    with pytest.raises(ValueError, match="choose n_components <= 1"):
        tp.Isomap(landmarks=40, random_state=0).fit(np.c_[np.arange(60.0), np.zeros(60)])
    assert "row 17 of X is so far" in tp.compare_methods(X).failures["Isomap"]
    # A map then starts from principal components, on which one row has little influence.
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
