"""Functions of the scripts, without a page."""

from importlib.resources import files

import numpy as np
import pytest


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture
def js(blank):
    """Evaluate an expression with the functions of some scripts."""

    def evaluated(expression, *names):
        assets = files("trigpoint._report").joinpath("assets")
        sources = [assets.joinpath(f"{name}.js").read_text() for name in ("data", *names)]
        return blank.evaluate("() => {" + "\n".join(sources) + f"\nreturn {expression};" + "}")

    return evaluated


AXES = [
    (4918340.2, 4918379.9),
    (515368.1, 515401.3),
    (-0.021, 0.0634),
    (0, 1),
    (-1e-9, 3e-9),
    (1e16, 1.0002e16),
    (1.7e9, 1.7e9 + 40),
    (-3e20, 5e20),
    (123.4561, 123.4569),
    (1e9 + 0.5, 1e9 + 0.50004),
]


@pytest.mark.parametrize(("low", "high"), AXES)
def test_ticks_differ_and_mean_what_they_say(js, low, high):
    expression = (
        f"(() => {{ const ticks = niceTicks({low!r}, {high!r}, 5);"
        " return [ticks, tickTexts(ticks)]; })()"
    )
    ticks, found = js(expression, "ticks")
    ticks = np.array(ticks, dtype=float)
    assert 2 <= len(ticks) == len(set(found["texts"]))
    assert max(map(len, found["texts"])) <= 10
    meant = [float(text) + float(found["shared"] or 0) for text in found["texts"]]
    np.testing.assert_allclose(meant, ticks, atol=0.01 * (ticks[1] - ticks[0]), rtol=1e-15)


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (4918340.4967, "f64", "4918340.4967"),
        (0.1 + 0.2, "f64", "0.30000000000000004"),
        (float(np.float32(0.1)), "f32", "0.1"),
        (float(np.float32(1 / 3)), "f32", str(np.float32(1 / 3))),
        (-1.7e308, "f64", "-1.7e+308"),
        (12345678, "i32", "12345678"),
    ],
)
def test_numbers_are_written_with_their_own_digits(js, number, kind, text):
    assert js(f"exactText({number!r}, {{ codes: {{ type: '{kind}' }} }})") == text


@pytest.mark.parametrize(
    ("number", "ends", "text"),
    [
        (4918340.4967, (4918340, 4918380), "4918340.5"),
        (3.0000001, (0, 9), "3"),
        (-0.0123456, (-0.02, 0.06), "-0.01235"),
        (1.7e308, (-1.7e308, 1.7e308), "1.70e+308"),
        (5, (5, 5), "5"),
    ],
)
def test_summaries_have_the_digits_of_their_range(js, number, ends, text):
    assert js(f"roundedText({number!r}, {list(ends)})") == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+49 30 1234", "'+49 30 1234"),
        ("-x", "'-x"),
        ("\t=1", "'\t=1"),
        ("-1.5e3", "-1.5e3"),
        ("+7", "+7"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_cells_are_no_formulas(js, text, cell):
    assert js(f"disarmed({text!r})", "table") == cell


def test_exact_matches_come_first(js):
    """Then texts that begin with the query, shorter ones before longer ones."""
    texts = ["blue monday", "mondays", "Monday", "tuesday", "monday morning", "monday"]
    named = f"[{{ name: 't', values: {texts} }}]"
    page = f"{{ points: 6, usable: 6, sampled: 6, labeled: [], rows: null, texts: {named} }}"
    found = js(f"found('monday', {page})", "search")
    assert found["points"] == found["best"] == [2, 5, 1, 4, 0]
    assert found["exact"] == 2
    missing = js(f"found('sunday', {{ ...{page}, points: 900, usable: 900 }})", "search")
    assert missing["points"] == []
    assert "6 of 900 rows" in missing["what"]
    assert "sample=900" in missing["what"]
    assert "--sample 900" in missing["what"]


def test_names_of_rows_precede_row_numbers(js):
    named = "[{ name: 'id', values: ['2', '7', '1'] }]"
    page = f"{{ points: 3, usable: 3, sampled: 3, labeled: [], rows: [0, 1, 2], texts: {named} }}"
    queries = ["2", "row 2", "0", "5"]
    points = js(f"{queries}.map((query) => found(query, {page}).points)", "search")
    assert points == [[0], [2], [0], []]


def test_long_names_are_written_in_lines(js):
    name = "Squamous cell carcinoma of the upper respiratory tract, stage IV"
    lines = js(f"linesOf({name!r})", "labels")
    assert " ".join(lines) == name
    assert max(map(len, lines)) <= 26


def test_outliers_are_left_out_of_a_range_and_others_are_not(js):
    usual = [j / 999 for j in range(1000)]
    ends = js(f"withoutOutliers({[*usual, 50]}, [0, 50])", "bounds")
    assert ends == [0, 1]
    assert js(f"withoutOutliers({usual}, [0, 1])", "bounds") == [0, 1]
    # A tenth of the points is no outlier, however far it is.
    assert js(f"withoutOutliers({[*usual, *[50] * 100]}, [0, 50])", "bounds") == [0, 50]
    assert js("withoutOutliers([0, 1, 50], [0, 50])", "bounds") == [0, 50]


def test_what_a_link_says_is_read_or_ignored(js):
    assert js("parametersOf(hashOf({ color: 'a & b', view: '1,2' }))", "address") == {
        "color": "a & b",
        "view": "1,2",
    }
    texts = ["1,2", "1,x", "", "1,2,3", "1,Infinity"]
    found = js(f"{texts}.map((text) => numbersFrom(text, 2))", "address")
    assert found == [[1, 2], None, None, None, None]
