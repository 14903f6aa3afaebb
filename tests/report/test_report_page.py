"""The page as a file: whole, self-contained, and nothing in the data becomes markup."""

import base64
import hashlib
import json
import re
from html import escape
from html.parser import HTMLParser

import pytest
from sklearn.exceptions import NotFittedError

import trigpoint as tp


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


def test_it_is_said_when_an_edge_is_suspected_and_that_none_is_no_proof(text, rng, tmp_path):
    no_proof = "If none is suspected, that does not prove there are none."
    assert text.count(no_proof) == 1
    assert "its Bhattacharyya distance is more than three times" in text
    assert "its endpoints have no neighbor in common" in text
    emb = tp.KernelPCA(landmarks=50, random_state=0).fit(rng.normal(size=(400, 3)))
    less = emb.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert no_proof not in less
    assert "No graph is drawn" in less


def headings(path):
    return re.findall(r"<h2[^>]*>(.*?)</h2>", path.read_text(encoding="utf-8"))


def test_stages_are_left_out_where_none_are_known(fitted, written, tmp_path):
    assert "Stages" in headings(written)
    fitted.save(tmp_path / "roll.trig")
    page = tp.load(tmp_path / "roll.trig").report(tmp_path / "a.html")
    assert "Stages" not in headings(page)


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


def test_parameters_that_were_changed_after_the_fit(roll):
    X = roll[0][:600]
    graph = tp.KNNGraph(12)
    emb = tp.DiffusionMaps(landmarks=80, graph=graph, time=2, random_state=0).fit(X)
    page = emb.report(X=X).html
    graph.set_params(n_neighbors=3)
    emb.set_params(time=60, alpha=0.1, n_components=5)
    assert emb.report(X=X).html == page
