"""The scripts of the page as code: their functions, without a page around them."""

import json
from importlib.resources import files

import numpy as np
import pytest

FACTS = (
    '<script type="application/json" id="facts">{"rows": null, "labelColors": ["#0072B2"],'
    ' "accent": {"light": "#000000", "dark": "#ffffff"}}</script>'
    '<script type="text/plain" id="arrays">AAAA</script>'
)


@pytest.fixture(scope="module")
def blank(browser):
    """A page of a report without anything on it."""
    page = browser.new_page()
    page.set_content(FACTS)
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
    ("number", "ends", "text"),
    [
        (4918340.4967, (4918340, 4918380), "4918340.497"),
        (3.0000001, (0, 9), "3"),
        (-0.0123456, (-0.02, 0.06), "-0.01235"),
        (1.7e308, (-1.7e308, 1.7e308), "1.7e+308"),
        (5, (5, 5), "5"),
    ],
)
def test_numbers_have_the_digits_of_their_column(js, number, ends, text):
    column = {"range": ends, "codes": {"type": "u16"}}
    assert js(f"plainText({number!r}, {json.dumps(column)})") == text


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


def test_points_within_a_part_of_a_density(js):
    image = (
        "{ levels: { type: 'u8', start: 0, length: 3 }, width: 3, height: 1, low: [0, 0],"
        " high: [3, 1], most: 99 }"
    )
    count = f"[[0, 3], [0, 1], [2.2, 9]].map(([a, b]) => countWithin({image}, [a, 0], [b, 1]))"
    everything, first, last = js(f"(bytes.set([255, 0, 255]), {count})", "colors", "density")
    assert everything == pytest.approx(198)
    assert first == last == pytest.approx(99)
