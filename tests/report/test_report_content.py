"""What is computed for a page."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import trigpoint as tp
from trigpoint._points import inputs
from trigpoint._report.charts import spectrum_chart
from trigpoint._report.content import gather
from trigpoint._report.streaming import stream


def gathered(estimator, X, **options):
    source = None if X is None else inputs.points_to_transform(estimator, X)
    return gather(estimator._subject(), source, **options)


def quick(estimator, X=None, **options):
    return gathered(estimator, X, **{"curve": False, "neighborhoods": None, **options})


def values(column):
    return column.low + column.codes / 65534 * (column.high - column.low)


def test_every_point_counts_and_the_sample_is_theirs(fitted, roll):
    X, _ = roll
    content = quick(fitted, X, sample=500)
    assert content.n_points == len(X)
    assert [image.axes for image in content.images] == [(0, 1), (0, 2), (1, 2)]
    for image in content.images:
        assert image.counts.sum() + image.outside == len(X)
    Y = fitted.transform(X)
    for j, column in enumerate(content.coordinates):
        expected = np.concatenate([Y[content.rows, j], fitted.landmark_embedding_[:, j]])
        np.testing.assert_allclose(values(column), expected, atol=1e-4 * np.ptp(expected))
    for j, column in enumerate(content.columns):
        expected = np.concatenate([X[content.rows, j], fitted.landmarks_[:, j]])
        np.testing.assert_allclose(values(column), expected, atol=1e-4 * np.ptp(expected))


def test_cells_and_covering_radius_are_exact(fitted, roll):
    X, _ = roll
    content = quick(fitted, X, sample=500)
    distances = np.linalg.norm(X[:, None] - fitted.landmarks_[None], axis=2)
    assert content.covering_radius == pytest.approx(distances.min(axis=1).max())
    np.testing.assert_array_equal(content.cells, distances[content.rows].argmin(axis=1))
    np.testing.assert_array_equal(
        content.cell_sizes, np.bincount(distances.argmin(axis=1), minlength=150)
    )


def test_few_points_are_all_shown(fitted, roll):
    X, _ = roll
    content = quick(fitted, X)
    assert content.images == []
    np.testing.assert_array_equal(content.rows, np.arange(len(X)))


def test_a_file_gives_the_same_as_its_array(fitted, roll, tmp_path):
    X, _ = roll
    np.save(tmp_path / "roll.npy", X)
    pd.DataFrame(X, columns=["x", "y", "z"]).to_csv(tmp_path / "roll.csv", index=False)
    from_array = quick(fitted, X, sample=300)
    for name in ("roll.npy", "roll.csv"):
        content = quick(fitted, tmp_path / name, sample=300)
        np.testing.assert_array_equal(content.rows, from_array.rows)
        np.testing.assert_array_equal(content.images[0].counts, from_array.images[0].counts)
    assert [column.name for column in content.columns] == ["x", "y", "z"]


def test_memory_does_not_grow_with_the_points(tmp_path, rng, monkeypatch):
    """Twice the points, from a file in several blocks, take no more at the peak."""
    monkeypatch.setattr(inputs, "block_rows", lambda bytes_per_row: 20_000)
    X = rng.normal(size=(100_000, 16)).astype(np.float32)
    # One thread, since what several hold at once is up to chance.
    emb = tp.LaplacianEigenmaps(landmarks=50, graph="euclidean", random_state=0, n_jobs=1)
    emb.fit(X[:5000])
    peaks = []
    for name, repeats in (("short", 2), ("long", 4)):
        path = tmp_path / f"{name}.npy"
        np.save(path, np.concatenate([X] * repeats))
        tracemalloc.start()
        source = tp.read_points(path)
        streamed = stream(emb._subject(), source, np.arange(12), 1000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert streamed.images[0].counts.sum() + streamed.images[0].outside == source.shape[0]
    assert peaks[1] < 1.1 * peaks[0]


def test_without_points_the_landmarks_are_shown(fitted):
    content = quick(fitted)
    assert content.n_points is None
    assert content.covering_radius is None
    assert len(content.cells) == len(content.coordinates[0].codes) == 150
    with pytest.raises(ValueError, match="X was not passed"):
        quick(fitted, color=np.ones(150))


def test_many_columns_are_narrowed_to_those_that_vary(rng):
    X = rng.normal(size=(300, 40)) * np.where(np.arange(40) % 4 == 0, 10.0, 0.1)
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0).fit(X)
    content = quick(emb, X)
    names = [column.name for column in content.columns]
    assert len(names) == 12
    assert {f"column {j}" for j in range(0, 40, 4)} <= set(names)


@pytest.mark.parametrize("kind", [tp.DiffusionMaps, tp.Isomap, tp.KernelPCA])
def test_every_estimator_has_content(kind, roll):
    X, _ = roll
    emb = kind(landmarks=60, random_state=0).fit(X)
    content = gathered(emb, X, neighborhoods=(10, 20), curve=False)
    np.testing.assert_allclose(content.eigenvalues.values[:2], emb.eigenvalues_, rtol=1e-6)
    assert content.eigenvalues.used.tolist()[:3] == [True, True, False]
    if kind is tp.KernelPCA:
        assert content.edges is None
        assert "has no graph whose neighbors" in content.neighborhoods.notes[0]
    else:
        assert len(content.neighborhoods.embeddings) == 4


def test_one_coordinate_is_spread_out(roll):
    X, _ = roll
    emb = tp.LaplacianEigenmaps(n_components=1, landmarks=60, random_state=0).fit(X)
    content = quick(emb, X)
    assert [column.name for column in content.coordinates] == ["coordinate 1", "(spread out)"]


def test_a_landmark_of_one_coordinate_lies_on_the_point_that_it_was():
    X = np.random.default_rng(0).normal(size=(30, 3))
    emb = tp.LaplacianEigenmaps(1, landmarks=12, graph="euclidean", random_state=0).fit(X)
    places = np.column_stack([values(column) for column in quick(emb, X).coordinates])
    np.testing.assert_allclose(places[30:], places[:30][emb.landmark_indices_], atol=1e-6)
    assert len(np.unique(places[:30, 1])) == 30


def test_neighborhoods_are_those_of_estimators_fitted_so(fitted, roll):
    """Same landmarks, other graph: up to signs, what fitting with it gives."""
    X, _ = roll
    content = gathered(fitted, X, neighborhoods=(10, 500), curve=False)
    found = {(one.metric, one.n_neighbors): one for one in content.neighborhoods.embeddings}
    assert set(found) == {("bhattacharyya", 10), ("euclidean", 10)}
    assert "too large for 150 landmarks" in content.neighborhoods.notes[0]
    again = tp.LaplacianEigenmaps(
        landmarks=fitted.landmark_indices_, graph="euclidean", n_neighbors=10
    ).fit(X)
    own = found["euclidean", 10].coordinates
    np.testing.assert_allclose(abs(own), abs(again.fitted_.spectrum.coordinates), atol=1e-8)
    assert (np.sum(own * fitted.landmark_embedding_[:, :2], axis=0) > 0).all()


def test_a_loaded_model_knows_its_covariances(fitted, tmp_path):
    fitted.save(tmp_path / "roll.trig")
    alone = gathered(tp.load(tmp_path / "roll.trig"), None, neighborhoods=(10,))
    metrics = {one.metric for one in alone.neighborhoods.embeddings}
    assert metrics == {"euclidean", "bhattacharyya"}
    assert alone.covariances == "kept from fit"
    assert alone.curve is None


def test_covariances_that_no_file_keeps_are_estimated_from_points(rng, tmp_path):
    X = rng.normal(size=(600, 20))
    tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(X).save(tmp_path / "wide.trig")
    loaded = tp.load(tmp_path / "wide.trig")
    alone = gathered(loaded, None, neighborhoods=(10,))
    assert {one.metric for one in alone.neighborhoods.embeddings} == {"euclidean"}
    assert "Only Euclidean" in alone.neighborhoods.notes[0]
    with_points = gathered(loaded, X, neighborhoods=(10,), curve=False)
    metrics = {one.metric for one in with_points.neighborhoods.embeddings}
    assert metrics == {"euclidean", "bhattacharyya"}
    assert with_points.covariances == "estimated from 600 points of the sample"


def test_the_gap_of_clusters_is_found(rng):
    """Four far clusters: three eigenvalues are tiny, the fourth is not."""
    centers = 50 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    X = np.concatenate([rng.normal(size=(200, 2)) + center for center in centers])
    with pytest.warns(tp.DisconnectedGraphWarning):
        emb = tp.LaplacianEigenmaps(landmarks=80, n_neighbors=8, random_state=0).fit(X)
    content = quick(emb, X)
    assert content.eigenvalues.gap == 3
    assert content.edges.count(2) == len(emb.bridges_) >= 3


@pytest.mark.parametrize(
    "estimator",
    [
        tp.LaplacianEigenmaps(5),
        tp.LaplacianEigenmaps(2, eigenvectors="independent", n_neighbors=10),
        tp.DiffusionMaps(5),
        tp.DiffusionMaps(2, eigenvectors="independent", n_neighbors=10),
        tp.Isomap(5),
        tp.KernelPCA(5),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{estimator.n_components}",
)
def test_the_page_and_the_picture_name_the_same_gap(estimator, roll):
    emb = estimator.set_params(landmarks=100, random_state=0).fit(roll[0])
    axes = tp.plot.spectrum(emb, ax=Figure().subplots())
    (named,) = (text.get_text() for text in axes.get_legend().get_texts()[2:])
    found = quick(emb).eigenvalues
    assert f">{named}<" in spectrum_chart(found)
    assert named == f"widest gap by ratio, after {found.gap}"


def test_long_work_tells_how_far_it_is(roll):
    told = []
    emb = tp.LaplacianEigenmaps(
        landmarks=60, callback=lambda *progress: told.append(progress), random_state=0
    ).fit(roll[0])
    told.clear()
    content = gathered(emb, roll[0], neighborhoods=(10, 20))
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert stages == ["report", "quality", "landmark curve", "neighborhoods"]
    for stage, total in (("landmark curve", len(content.curve.errors)), ("neighborhoods", 4)):
        progress = [(done, of) for name, done, of in told if name == stage]
        assert progress == [(done, total) for done in range(total + 1)]


def test_the_curve_passes_through_the_number_of_landmarks(fitted, roll):
    content = gathered(fitted, roll[0], neighborhoods=None)
    assert 150 in content.curve.n_landmarks
    assert (np.diff(content.curve.errors) < 0).all()


def test_landmarks_lie_where_the_extension_puts_them():
    """In high dimension the extension smooths, and points are drawn where it puts them."""
    X = np.random.default_rng(0).normal(size=(400, 40))
    emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(X)
    shown = np.column_stack([values(column) for column in quick(emb, X).coordinates])[-60:]
    spread = np.ptp(emb.transform(X), axis=0).max()
    np.testing.assert_allclose(shown, emb.transform(emb.landmarks_), atol=1e-4 * spread)


def test_parameters_are_those_of_the_fit_without_how_it_was_run(roll):
    emb = tp.LaplacianEigenmaps(landmarks=100, random_state=0, callback=lambda *_: None)
    emb.fit(roll[0]).set_params(n_components=7)
    shown = gathered(emb, None, neighborhoods=None, curve=False).parameters
    assert shown["n_components"] == "2"
    assert shown["landmarks"] == "100"
    assert not {"callback", "verbose", "n_jobs"} & set(shown)


def test_the_verdict_is_that_of_the_estimator(fitted, roll):
    X, _ = roll
    content = quick(fitted, X)
    found = content.quality
    assert found.figures() == fitted.quality(X).figures()
    lost = next(column for column in content.derived if column.name == "neighbors lost")
    Y = fitted.transform(X[content.rows])
    np.testing.assert_allclose(values(lost), found.distortion_of(X[content.rows], Y), atol=1e-4)


def test_points_without_whole_rows_have_the_distortion_of_their_cell(fitted, roll, monkeypatch):
    X, _ = roll
    monkeypatch.setattr("trigpoint._report.streaming._MOST_ROWS", 1000)
    content = quick(fitted, X)
    lost = values(next(column for column in content.derived if column.name == "neighbors lost"))
    exact = content.quality.distortion_of(X, fitted.transform(X))[content.rows]
    same = np.abs(lost - exact) < 1e-3
    assert 1000 <= same.sum() < 2500
    assert np.corrcoef(lost, exact)[0, 1] > 0.6


def test_without_points_there_is_no_verdict(fitted):
    assert quick(fitted).quality is None
