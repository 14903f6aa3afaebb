"""What is computed for a page, and the page as a file, in which no data becomes markup."""

import base64
import hashlib
import json
import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import trigpoint as tp
from trigpoint._report.content import gather, used_parameters
from trigpoint._report.density import Grid
from trigpoint._report.sample import draw_sample


def gathered(estimator, X=None, **options):
    source = None if X is None else tp.open_source(X)
    return gather(estimator._subject(), source, **options)


def values(column):
    steps = np.iinfo(column.codes.dtype).max - 1
    return column.low + column.codes / steps * (column.high - column.low)


def test_coordinates_that_are_known_are_not_computed_again(fitted, roll, tmp_path):
    X, _ = roll
    expected = gathered(fitted, X, sample=500).sample
    assert [image.axes for image in expected.images] == [(0, 1), (0, 2), (1, 2)]
    assert all(image.counts.sum() + image.outside == len(X) for image in expected.images)
    Y = fitted.transform(X)
    np.save(tmp_path / "Y.npy", Y)
    for known in (Y, tmp_path / "Y.npy"):
        sample = gathered(fitted, X, sample=500, coordinates=known).sample
        np.testing.assert_array_equal(sample.images[0].counts, expected.images[0].counts)
    far = gathered(fitted, X, sample=500, coordinates=Y + 1e6).sample
    assert far.images[0].outside == len(X)
    with pytest.raises(ValueError, match="coordinates has 9 rows, and X has 3,000"):
        gathered(fitted, X, sample=500, coordinates=Y[:9])


def test_coordinates_and_columns_are_those_of_the_sample(fitted, roll):
    X, _ = roll
    content = gathered(fitted, X, sample=500)
    rows = content.sample.rows
    Y = fitted.transform(X)
    for j, column in enumerate(content.coordinates):
        expected = np.concatenate([Y[rows, j], fitted.landmark_embedding_[:, j]])
        np.testing.assert_allclose(values(column), expected, atol=1e-4 * np.ptp(expected))
    for j, column in enumerate(content.columns):
        expected = np.concatenate([X[rows, j], fitted.landmarks_[:, j]])
        np.testing.assert_allclose(values(column), expected, atol=1e-8 * np.ptp(expected))


def test_cells_and_covering_radius_are_those_of_the_sample(fitted, roll):
    X, _ = roll
    distances = np.linalg.norm(X[:, None] - fitted.landmarks_[None], axis=2)
    cells, sizes = distances.argmin(axis=1), np.bincount(distances.argmin(axis=1), minlength=150)
    whole = gathered(fitted, X).sample
    assert whole.images == []
    assert whole.covering_radius == pytest.approx(distances.min(axis=1).max())
    np.testing.assert_array_equal(whole.cell_sizes, sizes)
    part = gathered(fitted, X, sample=1500).sample
    np.testing.assert_array_equal(part.cells, cells[part.rows])
    assert part.covering_radius == pytest.approx(distances[part.rows].min(axis=1).max())
    assert part.cell_sizes.sum() == pytest.approx(3000, abs=1)


def test_memory_does_not_grow_with_the_points(tmp_path, rng, peak_memory):
    """Twice the points, from a file in several blocks, take no more at the peak."""
    X = rng.normal(size=(200_000, 16)).astype(np.float32)
    # One thread, since what several hold at once is up to chance.
    emb = tp.LaplacianEigenmaps(landmarks=50, graph="euclidean", random_state=0, n_jobs=1)
    emb.fit(X[:5000])
    peaks = []
    for name, repeats in (("short", 2), ("long", 4)):
        path = tmp_path / f"{name}.npy"
        np.save(path, np.concatenate([X] * repeats))
        source = tp.open_source(path)
        sample, peak = peak_memory(draw_sample, emb._subject(), source, 1000)
        peaks.append(peak)
        assert sample.images[0].counts.sum() + sample.images[0].outside == source.n
    assert peaks[1] < 1.5 * peaks[0]


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


def test_a_landmark_of_one_coordinate_lies_on_the_point_that_it_was():
    X = np.random.default_rng(0).normal(size=(30, 3))
    emb = tp.LaplacianEigenmaps(1, landmarks=12, graph="euclidean", random_state=0).fit(X)
    content = gathered(emb, X)
    assert [column.name for column in content.coordinates] == ["coordinate 1", "(spread out)"]
    places = np.column_stack([values(column) for column in content.coordinates])
    np.testing.assert_allclose(places[30:], places[:30][emb.landmark_indices_], atol=1e-4)
    assert len(np.unique(places[:30, 1])) == 30


def test_progress(roll):
    told = []
    emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(roll[0])
    emb.verbose = lambda *progress: told.append(progress)
    gathered(emb, roll[0], sample=1000)
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["density", "quality"]
    for stage, total in (("density", len(roll[0])), ("quality", 1)):
        assert [(done, of) for name, done, of in told if name == stage][-1] == (total, total)


def test_landmarks_lie_where_the_extension_puts_them():
    """In high dimension the extension smooths, and points are drawn where it puts them."""
    X = np.random.default_rng(0).normal(size=(400, 40))
    emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(X)
    shown = np.column_stack([values(column) for column in gathered(emb, X).coordinates])[-60:]
    spread = np.ptp(emb.transform(X), axis=0).max()
    np.testing.assert_allclose(shown, emb.transform(emb.landmarks_), atol=1e-4 * spread)


def test_columns_have_the_units_of_the_data(roll):
    X = roll[0] * [1, 1000, 1]
    emb = tp.LaplacianEigenmaps(landmarks=60, metric="seuclidean", random_state=0).fit(X)
    shown = values(gathered(emb, X).columns[1])
    expected = np.concatenate([X[:, 1], X[emb.landmark_indices_, 1]])
    np.testing.assert_allclose(shown, expected, rtol=1e-5)


def test_the_verdict_is_that_of_the_estimator(fitted, roll):
    X, _ = roll
    content = gathered(fitted, X)
    assert content.quality.figures() == fitted.quality(X).figures()
    lost = next(column for column in content.derived if column.name == "neighbors lost")
    expected = content.quality.distortion_of(X, fitted.transform(X))
    np.testing.assert_allclose(values(lost), expected, atol=1e-4)


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
    shown = values(content.columns[0])[:300]
    column = int(content.columns[0].name.removeprefix("column "))
    np.testing.assert_allclose(shown, X.toarray()[content.sample.rows, column], atol=1e-6)
    assert content.quality.n_sampled == 300


CORNERS = np.array([[0.0, 0.0], [1.0, 2.0]])


def test_counts_are_those_of_a_histogram(rng):
    points = rng.uniform(size=(5000, 3)) * [1, 9, 2]
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
    grid = Grid((0, 2), corners, points[:100], 64)
    for block in np.array_split(points, 7):
        grid.add(block)
    edges = [np.linspace(grid.low[axis], grid.high[axis], 65) for axis in (0, 1)]
    expected = np.histogram2d(points[:, 2], points[:, 0], bins=[edges[1], edges[0]])[0]
    np.testing.assert_array_equal(grid.counts, expected)
    assert (grid.counts.sum(), grid.outside, grid.axes) == (5000, 0, (0, 2))


def test_the_extent_follows_the_points_within_reach():
    far = np.array([[2.0, 1.0], [1e6, -1e6]])
    grid = Grid((0, 1), CORNERS, far, 32)
    grid.add(far)
    np.testing.assert_allclose(grid.low, [-0.06, -3.12])
    np.testing.assert_allclose(grid.high, [2.56, 2.12])
    assert (grid.counts.sum(), grid.outside) == (1, 1)
    # Landmarks on a line have an extent, too.
    line = np.array([[1.0, 5.0], [2.0, 5.0]])
    grid = Grid((0, 1), line, line, 16)
    grid.add(np.array([[1.5, 5.0]]))
    assert grid.counts.sum() == 1


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
    # Arrays are bounded by sample, grid and edges, so a page of any data is small.
    assert len(text) < 1_500_000
    for tag, attributes in elements.found:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith("#"), tag
    assert "@import" not in text
    assert "url(" not in text


def test_labels_and_titles_stay_text(elements, text, hostile):
    tags = [tag for tag, _ in elements.found]
    assert "img" not in tags
    assert tags.count("script") == 3
    assert all(not name.startswith("on") for _, attributes in elements.found for name in attributes)
    assert f"<title>{escape(hostile)}</title>" in text
    carried = re.search(r'id="facts">(.*?)</script>', text)[1]
    assert not set("<>&") & set(carried)
    facts = json.loads(carried)
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


def test_the_verdict_comes_first(fitted, roll, text, tmp_path):
    """Before the figures and the plots; not on a page without points."""
    judged = fitted.quality(roll[0]).grade.capitalize()
    assert f'<h2 id="verdict-title">{judged}</h2>' in text
    assert text.index('id="verdict-title"') < text.index('class="figures"')
    assert text.index('id="verdict-title"') < text.index('id="explore"')
    alone = fitted.report(tmp_path / "landmarks.html")
    assert "verdict-title" not in alone.read_text(encoding="utf-8")
