"""The page as a file: whole, self-contained, and nothing in the data becomes markup."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import trigpoint as tp
from trigpoint._report.charts import curve_chart, spectrum_chart
from trigpoint._samplers import LandmarkCurve
from trigpoint.plot._eigenvalues import Eigenvalues


class Elements(HTMLParser):
    """Collects elements, attributes and the text of the title."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.titles: list[str] = []
        self._open = ""

    def handle_starttag(self, tag, attrs):
        """Keep an element."""
        self.found.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data):
        """Keep the title."""
        if self._open == "title":
            self.titles.append(data)
            self._open = ""


@pytest.fixture(scope="module")
def text(written):
    return written.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elements(text):
    parser = Elements()
    parser.feed(text)
    return parser


def test_nothing_is_loaded_from_elsewhere(elements, text):
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
    assert elements.titles[0] == hostile
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


def test_an_estimator_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        tp.LaplacianEigenmaps().report(tmp_path / "a.html")


def test_sizes_stay_small(fitted, written):
    """Arrays are bounded by sample, grid and edges, so a page of any data is small."""
    assert written.stat().st_size < 1_500_000


def test_charts_say_in_words_what_they_show():
    values = np.array([0.01, 0.02, 0.5, 0.6])
    chart = spectrum_chart(Eigenvalues(values, np.array([True, True, False, False]), 2, "graph"))
    assert "4 eigenvalues of the graph; in use: 1, 2." in chart
    assert "widest gap by ratio, after 2" in chart
    curve = LandmarkCurve(np.array([10, 100]), np.array([0.5, 0.0]), np.zeros(2), 1.0)
    assert "10 landmarks 50%" in curve_chart(curve, 100)


@pytest.mark.parametrize("values", [[0.4, 0.6], [0.5, 0.5], [1.0]])
def test_stems_of_few_eigenvalues_begin_at_zero(values):
    shown = Eigenvalues(np.array(values), np.ones(len(values), dtype=bool), None, "kernel")
    chart = spectrum_chart(shown)
    stems = re.findall(r'<line class="stem used" [^>]*y1="([\d.]+)" [^>]*y2="([\d.]+)"', chart)
    lengths = np.array([float(y1) - float(y2) for y1, y2 in stems])
    assert lengths / lengths.max() == pytest.approx(values / np.max(values), abs=0.01)
    assert ">0</text>" in chart


def test_eigenvalues_that_crowd_far_from_zero_have_no_stems():
    shown = Eigenvalues(np.array([0.99, 0.98, 0.95]), np.ones(3, dtype=bool), None, "Markov matrix")
    chart = spectrum_chart(shown)
    assert "stem" not in chart
    heights = [float(y) for y in re.findall(r'<circle[^>]* cy="([\d.]+)"', chart)]
    assert heights[2] - heights[0] > 100


def test_it_is_said_when_an_edge_is_suspected_and_that_none_is_no_proof(text, rng, tmp_path):
    no_proof = "If none is suspected, that does not prove there are none."
    assert text.count(no_proof) == 1
    assert "Either its Bhattacharyya distance is more than three times" in text
    emb = tp.LaplacianEigenmaps(landmarks=50, graph="euclidean", random_state=0)
    page = emb.fit(rng.normal(size=(400, 3))).report(tmp_path / "a.html")
    less = page.read_text(encoding="utf-8")
    assert "in only one case: its ends have no neighbor in common" in less
    assert less.count(no_proof) == 1


def test_one_is_singular(fitted, roll, tmp_path):
    path = fitted.report(tmp_path / "a.html", roll[0][:1], curve=False)
    text = path.read_text(encoding="utf-8")
    assert "Laplacian eigenmaps of 1 point<" in text
    assert "1 point, from 3 columns to 3 coordinates, using 150 landmarks." in text
    assert "<dt>point</dt><dd>1</dd>" in text
    assert "1 points" not in text
    curve = LandmarkCurve(np.array([1, 10]), np.array([0.9, 0.5]), np.zeros(2), 1.0)
    assert "1 landmark here" in curve_chart(curve, 1)
    assert "1 landmark 90%" in curve_chart(curve, 1)


def headings(path):
    return re.findall(r"<h2[^>]*>(.*?)</h2>", path.read_text(encoding="utf-8"))


def test_what_was_not_asked_for_has_no_section(fitted, roll, tmp_path):
    everything = fitted.report(tmp_path / "a.html", roll[0][:100])
    assert {"How many landmarks", "Stages"} < set(headings(everything))
    less = fitted.report(tmp_path / "b.html", roll[0][:100], curve=False)
    assert not {"How many landmarks"} & set(headings(less))


def test_stages_are_left_out_where_none_are_known(fitted, tmp_path):
    fitted.save(tmp_path / "roll.trig")
    page = tp.load(tmp_path / "roll.trig").report(tmp_path / "a.html")
    assert "Stages" not in headings(page)


def test_an_option_that_does_not_exist_is_refused(fitted, roll, tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        fitted.report(tmp_path / "a.html", roll[0], colour=roll[1][:, 0])
    assert not list(tmp_path.iterdir())


def test_the_verdict_comes_first(fitted, roll, text, tmp_path):
    """Before the figures and the plots; not on a page without points."""
    judged = fitted.quality(roll[0]).grade.capitalize()
    assert f'<h2 id="verdict-title">{judged}</h2>' in text
    assert text.index('id="verdict-title"') < text.index('class="figures"')
    assert text.index('id="verdict-title"') < text.index('id="explore"')
    alone = fitted.report(tmp_path / "landmarks.html", curve=False)
    assert "verdict-title" not in alone.read_text(encoding="utf-8")
