"""The page in a browser: names, values and colors can be read."""

import numpy as np
import pandas as pd
import pytest
from browsing import at_widths, settle

import trigpoint as tp

NAMES = ["sepal length (cm)", "petal length (cm)", "petal width (cm)"]


@pytest.fixture(scope="module")
def flowers(roll):
    """Points of which half are landmarks, in columns of long names; and their embedding."""
    X = pd.DataFrame(roll[0][:400], columns=NAMES)
    return X, tp.LaplacianEigenmaps(landmarks=200, random_state=0).fit(X)


@pytest.fixture
def show(flowers, open_page, tmp_path):
    """Open a page of the flowers, in the given colors."""
    X, emb = flowers

    def shown(color=None, **options):
        path = emb.report(tmp_path / "a.html", X, color=color, curve=False, neighborhoods=None)
        return open_page(path, **options)

    return shown


def tip(page, point):
    """What is said of a point under the pointer."""
    page.locator("#original").scroll_into_view_if_needed()
    box = page.locator("#original").bounding_box()
    x, y = page.evaluate(f"trigpoint.placeOf('original', {point})")
    page.mouse.move(box["x"] + x, box["y"] + y)
    return page.locator("#original-plot .tip").inner_text()


def test_names_of_columns_are_not_cut(show):
    page = show()
    for width in at_widths(page, [1200, 920, 390]):
        for name in ("axis-x", "axis-y", "column-x", "column-y"):
            room, text = page.evaluate(
                """(id) => {
                  const field = document.getElementById(id);
                  const style = getComputedStyle(field);
                  const pen = document.createElement("canvas").getContext("2d");
                  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
                  const sides = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
                  const names = [...field.options].map(({ text }) => pen.measureText(text).width);
                  return [field.clientWidth - sides, Math.max(...names)];
                }""",
                name,
            )
            assert text <= room + 1, name
        assert page.locator("#column-x").get_attribute("title") in NAMES
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_both_panels_begin_at_the_same_height(show):
    page = show()
    tops = [page.locator(f"#{name}").bounding_box()["y"] for name in ("embedding", "original")]
    assert tops[0] == pytest.approx(tops[1], abs=1)


def test_landmarks_that_would_hide_the_colours_are_off_at_first(show):
    page = show(np.arange(400.0))
    switch = page.get_by_role("checkbox", name="Landmarks")
    assert not switch.is_checked()
    assert "they would hide the colors" in page.locator("#shown").inner_text()
    without = page.evaluate("document.getElementById('embedding').toDataURL()")
    switch.check()
    settle(page)
    assert page.evaluate("document.getElementById('embedding').toDataURL()") != without


def test_landmarks_that_would_hide_points_of_one_colour_are_off_at_first(show):
    assert "they would hide the points." in show().locator("#shown").inner_text()


def test_landmarks_all_over_a_line_are_off_at_first(open_page, tmp_path):
    """On a ring few of the points are landmarks, and yet they cover it."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 3000)
    X = np.column_stack([np.cos(angles), np.sin(angles), 0 * angles])
    emb = tp.LaplacianEigenmaps(landmarks=400, graph="euclidean", random_state=0).fit(X)
    path = emb.report(tmp_path / "a.html", X, color=angles, curve=False, neighborhoods=None)
    assert not open_page(path).get_by_role("checkbox", name="Landmarks").is_checked()


def test_landmarks_among_many_points_are_on_at_first(open_page):
    page = open_page()
    assert page.get_by_role("checkbox", name="Landmarks").is_checked()
    assert "hide the colors" not in page.locator("#shown").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_others_are_grey_and_empty_labels_are_named(show, theme):
    kinds = np.repeat([*map(str, range(12)), ""], 20).tolist()
    rare = [f"rare {j % 30}" for j in range(400 - len(kinds))]
    page = show(np.array(kinds + rare), color_scheme=theme)
    legend = page.locator("#legend button")
    assert legend.all_inner_texts() == [*map(str, range(12)), "(empty)", "30 others"]
    colors = page.evaluate(
        "[...document.querySelectorAll('#legend i')].map((dot) =>"
        " getComputedStyle(dot).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number))"
    )
    spread = [max(color) - min(color) for color in colors]
    assert spread[-1] < 12 < min(spread[:-1])


def test_dates_are_read_in_the_legend_and_at_a_point(show):
    days = np.datetime64("1999-12-31") + np.arange(400) % 97 * np.timedelta64(40, "D")
    page = show({"collected on": days})
    low, least, high = page.locator("#legend").inner_text().split()
    assert least == "≥"
    assert low.startswith("1999-12-") or low.startswith("2000-0")
    assert high.startswith("2010-")
    for point in (0, 1, 50, 96, 333):
        assert f"collected on: {days[point]}" in tip(page, point)


def test_times_are_read_to_the_minute(show):
    times = np.datetime64("2015-03-29T23:58") + np.arange(400) * np.timedelta64(7, "m")
    page = show({"at": times})
    assert f"at: {str(times[77]).replace('T', ' ')}" in tip(page, 77)


def test_extreme_numbers_are_coloured(show):
    page = show({"far": np.where(np.arange(400) % 2, 1.7e308, -1.7e308)})
    assert page.locator("#legend").inner_text().split() == ["-1.7e+308", "1.7e+308"]
    assert "far: -1.7e+308" in tip(page, 0)
    assert "far: 1.7e+308" in tip(page, 1)


def test_one_point_is_singular(fitted, roll, open_page, tmp_path):
    path = fitted.report(tmp_path / "a.html", roll[0][:1], curve=False, neighborhoods=None)
    page = open_page(path)
    assert page.locator("#shown").inner_text().startswith("The one point is shown.")
    page.get_by_role("button", name="Select what is in view").click()
    assert page.locator("#selected").inner_text() == "1 point selected"


def test_a_column_of_one_huge_number_is_drawn(open_page, tmp_path, roll):
    """Ticks along numbers that adding 1 does not change would never end."""
    X = np.column_stack([roll[0][:200], np.full(200, 1e16)])
    emb = tp.LaplacianEigenmaps(landmarks=40, graph="euclidean", random_state=0).fit(X)
    path = emb.report(tmp_path / "a.html", X, curve=False, neighborhoods=None)
    page = open_page(path)
    page.get_by_label("Column across").select_option(label="column 3")
    settle(page)
    assert page.evaluate("trigpoint.state().columns[0]") == 3


def test_the_marked_number_of_landmarks_is_beside_the_curve(fitted, roll, open_page, tmp_path):
    path = fitted.report(tmp_path / "a.html", roll[0][:300], neighborhoods=None)
    page = open_page(path)
    chart = page.locator(".chart").last
    label = chart.locator(".note").bounding_box()
    for drawn in chart.locator(".curve, circle").all():
        assert label["y"] + label["height"] <= drawn.bounding_box()["y"] + 1


def legend(page):
    return page.locator("#legend").inner_text().replace("\N{NO-BREAK SPACE}", " ").split("\n")


def test_a_colour_bar_says_where_it_is_cut_off(show):
    """One far number above; below, many are least."""
    numbers = np.concatenate([np.zeros(200), np.linspace(0, 1, 199), [1000]])
    page = show(
        {"far above": numbers, "far below": -numbers, "even": np.repeat(np.arange(20.0), 20)}
    )
    assert legend(page)[0] == "0"
    assert legend(page)[1].startswith("≥ 0.98")
    page.select_option("#color", label="far below")
    assert legend(page)[0].startswith("≤ -0.98")
    assert legend(page)[1] == "0"
    page.select_option("#color", label="even")
    assert legend(page) == ["0", "19"]


def test_a_column_of_nothing_but_gaps_has_no_colour_bar(show):
    page = show({"unknown": np.full(400, np.nan)})
    assert page.locator("#legend .ramp").count() == 0
    assert legend(page) == ["missing"]


def test_what_is_grey_is_named_beside_the_dot(show):
    """In a narrow window a line may end before them, and not between."""
    numbers = np.where(np.arange(400) % 3, np.linspace(0.12345, 123.45, 400), np.nan)
    page = show({"some": numbers}, viewport={"width": 390, "height": 800})
    dot = page.locator("#legend .missing i").bounding_box()
    both = page.locator("#legend .missing").bounding_box()
    assert both["y"] <= dot["y"] < dot["y"] + dot["height"] <= both["y"] + both["height"]
    assert both["height"] < 30


@pytest.mark.parametrize("kind", [tp.LaplacianEigenmaps, tp.KernelPCA])
def test_figures_leave_no_cell_empty(kind, roll, open_page, tmp_path):
    X = roll[0][:300]
    emb = kind(landmarks=60, random_state=0).fit(X)
    path = emb.report(tmp_path / "a.html", X, curve=False, neighborhoods=None)
    page = open_page(path)
    for _ in at_widths(page, [1200, 768, 390, 320]):
        inside = page.locator(".figures").bounding_box()
        boxes = [box.bounding_box() for box in page.locator(".figures div").all()]
        for top in {box["y"] for box in boxes}:
            ends = [box["x"] + box["width"] for box in boxes if box["y"] == top]
            assert max(ends) == pytest.approx(inside["x"] + inside["width"], abs=2)


def test_axes_can_be_read_in_a_narrow_window(show):
    page = show(viewport={"width": 390, "height": 800})
    for name in ("axis-x", "axis-y", "column-x", "column-y"):
        assert page.locator(f"label:has(#{name}) span").is_visible()
    page.evaluate(
        """() => {
          const write = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            window.written.push([this.canvas.id, this.textAlign, text]);
            write.call(this, text, x, y);
          };
        }"""
    )
    for panel in ("embedding", "original"):
        for _ in range(6):
            page.evaluate("window.written = []")
            page.locator(f"#{panel}").press("+")
            settle(page)
            ticks = {"center": set(), "left": set()}
            for canvas, align, text in page.evaluate("window.written"):
                if canvas == panel and align in ticks and not text.startswith("↑"):
                    ticks[align].add(text)
            assert all(2 <= len(texts) <= 7 for texts in ticks.values()), ticks


def test_few_points_on_a_line_are_covered_by_the_landmarks_that_they_are(open_page, tmp_path):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.1]])
    emb = tp.LaplacianEigenmaps(1, landmarks=3, graph="euclidean", random_state=0).fit(X)
    page = open_page(emb.report(tmp_path / "a.html", X))
    assert not page.get_by_role("checkbox", name="Landmarks").is_checked()


def test_the_names_of_methods_fit_beside_their_scores(flowers, open_page, tmp_path):
    X, emb = flowers
    tried = tp.compare_methods(X, landmarks=50, random_state=0)
    path = emb.report(tmp_path / "a.html", X, tried=tried, curve=False, neighborhoods=None)
    page = open_page(path)
    for width in at_widths(page, [700, 500, 480, 320]):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
