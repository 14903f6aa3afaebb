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
from trigpoint.report.charts import curve_chart, spectrum_chart
from trigpoint.report.spectra import Eigenvalues


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
    path = fitted.report(tmp_path / "a.html", title="{{style}}", neighborhoods=None)
    assert "<title>{{style}}</title>" in path.read_text(encoding="utf-8")


def test_a_failed_report_leaves_nothing_behind(fitted, roll, tmp_path):
    X, _ = roll
    path = tmp_path / "a.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="color 'colour' has shape"):
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


def test_the_page_says_what_was_done(text, fitted):
    for words in ("covering radius", "suspected shortcuts", "seconds to fit", "scikit-learn"):
        assert words in text
    assert f"{len(fitted.landmarks_):,} landmarks" in text


def test_charts_say_in_words_what_they_show():
    values = np.array([0.01, 0.02, 0.5, 0.6])
    chart = spectrum_chart(Eigenvalues(values, np.array([True, True, False, False]), 2, "graph"))
    assert "4 eigenvalues of the graph; in use: 1, 2." in chart
    assert "widest gap by ratio, after 2" in chart
    curve = tp.LandmarkCurve(np.array([10, 100]), np.array([0.5, 0.0]), np.zeros(2), 1.0)
    assert "10 landmarks 50%" in curve_chart(curve, 100)
