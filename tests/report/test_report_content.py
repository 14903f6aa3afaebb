"""What is computed for a page, and the page as a file, in which no data becomes markup."""

import base64
import hashlib
import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from browsing import unpacked
from sklearn.exceptions import NotFittedError

import trigpoint as tp
from trigpoint._report.content import gather, used_parameters
from trigpoint._report.sample import draw_sample
from trigpoint._report.things import make_tiles


def gathered(estimator, X=None, **options):
    source = None if X is None else tp.open_source(X)
    return gather(estimator._subject(), source, **options)


def values(column):
    return column.codes / column.divisor


def test_coordinates_that_are_known_are_not_computed_again(fitted, roll, tmp_path):
    X, _ = roll
    Y = fitted.transform(X)
    np.save(tmp_path / "Y.npy", Y + 5)
    for known in (Y + 5, tmp_path / "Y.npy"):
        sample = gathered(fitted, X, sample=500, coordinates=known).sample
        np.testing.assert_array_equal(sample.coordinates, Y[sample.rows] + 5)
    with pytest.raises(ValueError, match="coordinates has 9 rows, and X has 3,000"):
        gathered(fitted, X, sample=500, coordinates=Y[:9])


def test_columns_are_exact_and_coordinates_have_six_digits(fitted, roll):
    X, _ = roll
    content = gathered(fitted, X, sample=500)
    rows = content.sample.rows
    Y = fitted.transform(X)
    for j, column in enumerate(content.coordinates):
        atol = 1e-5 * np.abs(Y).max()
        np.testing.assert_allclose(values(column), Y[rows, j], atol=atol)
        np.testing.assert_allclose(column.landmarks, fitted.landmark_embedding_[:, j], atol=atol)
    for j, column in enumerate(content.columns):
        np.testing.assert_array_equal(values(column), X[rows, j])
        np.testing.assert_allclose(column.landmarks, fitted.landmarks_[:, j], rtol=1e-6)


def test_landmarks_are_found_among_the_points(fitted, roll):
    X, _ = roll
    rows = fitted.landmark_indices_
    assert gathered(fitted, X).landmark_positions.tolist() == rows.tolist()
    part = gathered(fitted, X, sample=1500)
    found = part.sample.rows[part.landmark_positions]
    assert 40 < len(found) < 110
    assert set(found) == set(rows) & set(part.sample.rows)
    # Rows of other points have the same numbers.
    assert len(gathered(fitted, X[::-1]).landmark_positions) == 0


def test_memory_does_not_grow_with_the_points(tmp_path, rng, peak_memory):
    """Twice the points in a file take no more memory at the peak."""
    X = rng.normal(size=(200_000, 16)).astype(np.float32)
    emb = tp.LaplacianEigenmaps(landmarks=50, graph="euclidean", random_state=0, n_jobs=1)
    emb.fit(X[:5000])
    peaks = []
    for name, repeats in (("short", 2), ("long", 4)):
        path = tmp_path / f"{name}.npy"
        np.save(path, np.concatenate([X] * repeats))
        source = tp.open_source(path)
        sample, peak = peak_memory(draw_sample, emb._subject(), source, 1000, np.arange(3))
        peaks.append(peak)
        assert (sample.n, len(sample.rows)) == (200_000 * repeats, 1000)
    assert peaks[1] < 1.5 * peaks[0]


def test_rows_beyond_those_that_are_kept_have_their_values(fitted, roll, monkeypatch):
    """Large samples are read in parts, and only some of their points are measured."""
    X, _ = roll
    monkeypatch.setattr("trigpoint._report.sample._MOST_KEPT", 700)
    monkeypatch.setattr("trigpoint._report.sample._READ_BYTES", 24 * 1000)
    content = gathered(fitted, X)
    np.testing.assert_array_equal(values(content.columns[1]), X[:, 1])
    assert [(~column.is_missing).sum() for column in content.derived] == [700] * 3


def test_without_points_the_landmarks_are_shown(fitted):
    content = gathered(fitted)
    assert content.sample is content.quality is None
    assert len(content.coordinates[0].codes) == 150
    with pytest.raises(ValueError, match="X was not passed"):
        gathered(fitted, color=np.ones(150))


def test_many_columns_are_narrowed_to_those_that_vary(rng):
    X = rng.normal(size=(300, 40)) * np.where(np.arange(40) % 4 == 0, 10.0, 0.1)
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0).fit(X)
    names = [column.name for column in gathered(emb, X).columns]
    assert len(names) == 12
    assert {f"column {j}" for j in range(0, 40, 4)} <= set(names)


def test_columns_of_texts_are_left_out_unless_they_have_names(rng):
    X, text = rng.normal(size=(300, 5)), ["a", "b", "c"] * 100
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0).fit(X)
    assert len(gathered(emb, X).columns) == 5
    assert gathered(emb, X, text=text).columns == []
    table = pd.DataFrame(X, columns=list("abcde"))
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0).fit(table)
    assert [column.name for column in gathered(emb, table, text=text).columns] == list("abcde")


def test_images_and_columns_show_the_data_under_any_metric(rng):
    X = rng.uniform(0, 16, size=(300, 12)) * rng.uniform(0.1, 1, size=(300, 1))
    emb = tp.LaplacianEigenmaps(landmarks=40, metric="cosine", random_state=0).fit(X)
    np.testing.assert_array_equal(values(gathered(emb, X).columns[3]), X[:, 3])
    tiles = gathered(emb, X, images=(3, 4)).tiles
    assert tiles.png == make_tiles(X, np.arange(300), (3, 4), emb.landmark_indices_).png


def test_points_with_texts_are_all_on_the_page(rng):
    X = rng.normal(size=(120_000, 2)).astype(np.float32)
    emb = tp.LaplacianEigenmaps(landmarks=20, graph="euclidean", random_state=0).fit(X[:500])
    assert len(gathered(emb, X).sample.rows) == 100_000
    table = pd.DataFrame(X, columns=["a", "b"])
    content = gathered(emb, table, text=np.arange(len(X)).astype(str), coordinates=X)
    assert content.texts[0].values[119_999] == "119999"
    # So many points leave no room for the columns, unless they are asked for.
    assert (content.columns, content.columns_left_out) == ([], 2)
    content = gathered(emb, table, sample=120_000, coordinates=X)
    assert [len(column.codes) for column in content.columns] == [120_000, 120_000]


def test_a_landmark_of_one_coordinate_lies_on_the_point_that_it_was():
    X = np.random.default_rng(0).normal(size=(30, 3))
    emb = tp.LaplacianEigenmaps(1, landmarks=12, graph="euclidean", random_state=0).fit(X)
    content = gathered(emb, X)
    assert [column.name for column in content.coordinates] == ["coordinate 1", "(spread out)"]
    places = np.column_stack([values(column) for column in content.coordinates])
    marks = np.column_stack([column.landmarks for column in content.coordinates])
    np.testing.assert_allclose(marks, places[emb.landmark_indices_], atol=1e-4)
    assert len(np.unique(places[:, 1])) == 30


def test_progress(roll):
    told = []
    emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(roll[0])
    emb.verbose = lambda *progress: told.append(progress)
    gathered(emb, roll[0], sample=1000)
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["sample", "quality"]
    for stage, total in (("sample", 1000), ("quality", len(roll[0]))):
        assert [(done, of) for name, done, of in told if name == stage][-1] == (total, total)


def test_landmarks_lie_where_the_extension_puts_them():
    """In high dimension the extension smooths, and points are drawn where it puts them."""
    X = np.random.default_rng(0).normal(size=(400, 40))
    emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(X)
    shown = np.column_stack([column.landmarks for column in gathered(emb, X).coordinates])
    spread = np.ptp(emb.transform(X), axis=0).max()
    np.testing.assert_allclose(shown, emb.transform(emb.landmarks_), atol=1e-4 * spread)


def test_columns_have_the_units_of_the_data(roll):
    X = roll[0] * [1, 1000, 1]
    emb = tp.LaplacianEigenmaps(landmarks=60, metric="seuclidean", random_state=0).fit(X)
    column = gathered(emb, X).columns[1]
    np.testing.assert_array_equal(values(column), X[:, 1])
    np.testing.assert_allclose(column.landmarks, X[emb.landmark_indices_, 1], rtol=1e-5)


def test_the_verdict_is_that_of_the_estimator(fitted, roll):
    X, _ = roll
    content = gathered(fitted, X)
    expected = fitted.quality(X)
    assert content.quality.lines() == expected.lines()
    assert content.quality.remedy == expected.remedy
    points = fitted.point_quality(X)
    shares = [points.preserved, points.torn, points.false_neighbors]
    names = ["neighbors preserved", "torn neighbors", "false neighbors"]
    assert [column.name for column in content.derived] == names
    for column, share in zip(content.derived, shares, strict=True):
        np.testing.assert_allclose(values(column), share, atol=1e-4)


def test_parameters_are_shown_as_they_were_used(roll):
    emb = tp.LaplacianEigenmaps(landmarks=100, random_state=0, n_jobs=1).fit(roll[0])
    emb.set_params(n_components=7)
    shown = gathered(emb).parameters
    assert not {"None", "None (default)"} & set(shown.values())
    assert not {"verbose", "n_jobs"} & set(shown)
    assert (shown["n_components"], shown["landmarks"], shown["random_state"]) == ("2", "100", "0")
    assert shown["extension"] == f"{emb.extension_} (default)"
    assert shown["graph"] == f"{emb.fitted_.decided['graph']} (default)"
    assert shown["eigenvectors"] == f"{emb.fitted_.decided['eigenvectors']} (default)"
    own = {"graph": tp.KNNGraph(13), "random_state": None, "landmarks": np.arange(50)}
    chosen = emb.set_params(**own, n_components=2).fit(roll[0])
    shown = used_parameters(chosen.fitted_)
    assert shown["graph"] == "KNNGraph(n_neighbors=13)"
    assert shown["random_state"] == "not fixed"
    assert shown["landmarks"] == "array of shape (50,)"
    kernel = tp.KernelPCA().fit(roll[0][:300])
    shown = used_parameters(kernel.fitted_)
    assert shown["bandwidth"] == f"{kernel.bandwidth_:.4g} (default)"
    assert shown["landmarks"] == "300 (default)"


def test_sparse_points(rng):
    from scipy import sparse

    X = sparse.csr_array(rng.poisson(0.3, size=(400, 60)).astype(float) + np.eye(400, 60))
    emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(X)
    content = gathered(emb, X, sample=300)
    shown = values(content.columns[0])
    column = int(content.columns[0].name.removeprefix("column "))
    np.testing.assert_array_equal(shown, X.toarray()[content.sample.rows, column])
    assert content.quality.n_points == 400


class Elements(HTMLParser):
    """Collects elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs):
        """Keep an element."""
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def text(written):
    return written.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elements(text):
    parser = Elements()
    parser.feed(text)
    return parser


def test_nothing_is_loaded_from_elsewhere(elements, text):
    # Arrays are bounded by the sample and the edges, so pages of any data are small.
    assert len(text) < 400_000
    for tag, attributes in elements.found:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith("#"), tag
    assert "@import" not in text
    assert "url(" not in text


def test_labels_and_titles_stay_text(elements, text, hostile):
    tags = [tag for tag, _ in elements.found]
    assert "img" not in tags
    assert tags.count("script") == 2
    assert all(not name.startswith("on") for _, attributes in elements.found for name in attributes)
    assert f"<title>{escape(hostile)}</title>" in text
    facts, _ = unpacked(text)
    assert [column["name"] for column in facts["colors"]] == ["part", "arc length", hostile]
    assert hostile in facts["colors"][0]["labels"]


def test_only_the_own_script_may_run(text):
    script = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in text


def test_slots_in_the_data_are_not_filled(fitted, tmp_path):
    path = fitted.report(tmp_path / "a.html", title="{{style}}")
    assert "<title>{{style}}</title>" in path.read_text(encoding="utf-8")


def test_a_failed_report_leaves_nothing_behind(fitted, roll, tmp_path):
    X, _ = roll
    path = tmp_path / "a.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="color 'color' has shape"):
        fitted.report(path, X, color=[1, 2, 3])
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]
    with pytest.raises(FileExistsError, match="force=True"):
        fitted.report(path, X, force=False)


def test_wrong_arguments_are_refused(fitted, roll, tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        fitted.report(tmp_path / "a.html", roll[0], colour=roll[1][:, 0])
    with pytest.raises(TypeError, match=r"path must be a file path, .*points follow it"):
        fitted.report(roll[0])
    with pytest.raises(NotFittedError):
        tp.LaplacianEigenmaps().report(tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_the_verdict_follows_the_map(fitted, roll, text, tmp_path):
    """Its grade is in the header; a page without points has none."""
    judged = fitted.quality(roll[0]).grade.capitalize()
    assert f'href="#verdict-title">{judged}</a>' in text
    assert f'<h2 id="verdict-title">{judged}</h2>' in text
    assert text.index('id="explore"') < text.index('id="verdict-title"')
    alone = fitted.report(tmp_path / "landmarks.html")
    assert "verdict-title" not in alone.read_text(encoding="utf-8")
