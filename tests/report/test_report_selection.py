"""The page in a browser: selections are saved; names, values and colors can be read."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from browsing import copied, downloaded, pixels, point_at

import trigpoint as tp


@pytest.fixture
def page(open_page):
    """The page in a wide window, in which some points are selected by a press of a key."""
    page = open_page()
    page.locator("#legend button").last.press("Enter")
    return page


def selected_rows(page):
    """Rows of the selected points, as the page was given them."""
    sampled = np.sort(np.random.default_rng(0).choice(3000, 2000, replace=False))
    return sampled[page.evaluate("trigpoint.selectedPoints()")].tolist()


def saved(page):
    """What pressing the button downloads: the name of the file, and its lines."""
    name, data = downloaded(page, "Save rows")
    return name, list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_saved_rows_have_the_values_of_the_data(page, fitted, roll, hostile):
    name, (head, *lines) = saved(page)
    assert name == "selected-rows.csv"
    coordinates = [f"coordinate {j}" for j in (1, 2, 3)]
    columns = [f"column {j}" for j in (0, 1, 2)]
    judged = ["neighbors preserved", "torn neighbors", "false neighbors"]
    assert head == ["row", "part", "arc length", hostile, *coordinates, *columns, *judged]
    rows = selected_rows(page)
    assert [int(line[0]) for line in lines] == rows
    assert 500 < len(lines) < 1500
    assert {line[1] for line in lines} == {"outer"}
    X, intrinsic = roll
    numbers = np.array([line[2:10] for line in lines], dtype=float)
    np.testing.assert_array_equal(numbers[:, :2], intrinsic[rows])
    np.testing.assert_array_equal(numbers[:, 5:], X[rows])
    Y = fitted.transform(X)
    np.testing.assert_allclose(numbers[:, 2:5], Y[rows], atol=1e-5 * np.abs(Y).max())
    assert page.locator("#taken").inner_text() == f"{len(lines):,} rows saved"


def test_saved_rows_have_ids_and_no_formulas(open_page, tmp_path, rng):
    X = pd.DataFrame(
        rng.normal(size=(60, 2)).astype(np.float32),
        index=[f"P{j:03}" for j in range(60)],
        columns=["=cmd()", "b"],
    )
    kinds = np.array(["=1+1", "-5", "@x"] * 20)
    emb = tp.LaplacianEigenmaps(landmarks=30, random_state=0).fit(X)
    codes = np.append(np.arange(59.0), 1e9)
    page = open_page(emb.report(tmp_path / "a.html", X, color={"kind": kinds, "code": codes}))
    page.get_by_role("button", name="Select in view").click()
    page.locator("#search").fill("p007")
    page.locator("#search").press("Enter")
    assert page.locator("#taken").inner_text() == "id with “p007”: 1 point"
    _, (head, line) = saved(page)
    assert head[:4] == ["row", "id", "kind", "code"]
    assert head[6:8] == ["'=cmd()", "b"]
    assert line[:4] == ["7", "P007", "-5", "7"]
    assert line[6:8] == [str(value) for value in X.to_numpy()[7]]
    page.locator("#search").fill("P006")
    page.locator("#search").press("Enter")
    assert saved(page)[1][1][2] == "'=1+1"


def test_rows_are_copied(page):
    rows = selected_rows(page)
    assert copied(page, "Copy rows") == ", ".join(map(str, rows))
    assert page.locator("#taken").inner_text() == f"{len(rows):,} rows copied"


@pytest.mark.parametrize("clipboard", ["undefined", "{ writeText: () => Promise.reject() }"])
def test_rows_are_copied_without_a_clipboard_that_can_be_used(page, clipboard):
    page.evaluate(
        f"Object.defineProperty(navigator, 'clipboard', {{ value: {clipboard} }});"
        "document.addEventListener('copy', (event) => { window.copiedText = event.target.value; })"
    )
    button = page.get_by_role("button", name="Copy rows")
    button.press("Enter")
    page.wait_for_function("document.getElementById('taken').textContent")
    assert page.evaluate("window.copiedText") == ", ".join(map(str, selected_rows(page)))
    assert page.evaluate("document.activeElement.id") == "copy-rows"
    assert page.locator("textarea").count() == 0
    page.evaluate("document.execCommand = () => false")
    button.press("Enter")
    page.wait_for_function("document.getElementById('taken').textContent.includes('blocked')")


def test_without_a_selection_there_is_nothing_to_take(page):
    page.get_by_role("button", name="Clear selection").press("Enter")
    for name in ("Copy rows", "Save rows"):
        assert page.get_by_role("button", name=name).is_disabled()
    assert page.locator("#taken").inner_text() == ""


def test_a_single_coordinate_is_saved_without_its_spread(open_page, roll, tmp_path):
    emb = tp.LaplacianEigenmaps(1, landmarks=40, random_state=0).fit(roll[0])
    path = emb.report(tmp_path / "a.html", roll[0][:5])
    page = open_page(path)
    page.get_by_role("button", name="Select in view").click()
    _, lines = saved(page)
    assert lines[0][:3] == ["row", "coordinate 1", "column 0"]
    assert "(spread out)" not in lines[0]
    assert [line[0] for line in lines[1:]] == ["0", "1", "2", "3", "4"]


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
        path = emb.report(tmp_path / "a.html", X, color=color)
        return open_page(path, **options)

    return shown


def tip(page, point):
    """What is said of a point under the pointer."""
    page.mouse.move(*point_at(page, point, "original"))
    return page.locator("#original-plot .tip").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_classes_without_a_color_are_gray_and_are_highlighted_one_at_a_time(show, theme):
    kinds = np.repeat([*map(str, range(39)), ""], 9).tolist()
    rare = [f"rare {j}" for j in range(400 - len(kinds))]
    page = show(np.array(kinds + rare), color_scheme=theme)
    legend = page.locator("#legend .labels button")
    assert legend.all_inner_texts()[:41] == [*map(str, range(39)), "(empty)", "rare 0"]
    colors = page.evaluate(
        "[...document.querySelectorAll('#legend i')].map((dot) =>"
        " getComputedStyle(dot).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number))"
    )
    assert len({tuple(color) for color in colors[:40]}) == 40
    assert max(max(color) - min(color) for color in colors[40:]) < 12
    page.get_by_role("searchbox", name="Find in the legend").fill("RARE 3")
    assert legend.all_inner_texts() == ["rare 3", *(f"rare {j}" for j in range(30, 40))]
    before = pixels(page)
    legend.nth(1).click()
    assert page.evaluate("trigpoint.selectedPoints()") == [390]
    assert pixels(page) != before


def test_names_are_not_cut(show):
    long = "Squamous cell carcinoma of the upper respiratory tract, stage IV"
    page = show(np.array([long, "b"] * 200), viewport={"width": 390, "height": 844})
    button = page.locator("#legend button").last
    assert button.inner_text() == long
    assert button.evaluate("(e) => e.scrollWidth <= e.clientWidth")
    box = button.bounding_box()
    assert box["x"] + box["width"] <= 390


def test_dates_are_read_in_the_legend_and_at_a_point(show):
    days = np.datetime64("1999-12-31") + np.arange(400) % 97 * np.timedelta64(40, "D")
    page = show({"collected on": days})
    low, least, high = page.locator("#legend").inner_text().split()
    assert least == "≥"
    assert low.startswith("1999-12-") or low.startswith("2000-0")
    assert high.startswith("2010-")
    for point in (0, 1, 50, 96, 333):
        assert f"collected on: {days[point]}" in tip(page, point)


def legend(page):
    return page.locator("#legend").inner_text().replace("\N{NO-BREAK SPACE}", " ").split("\n")


def test_a_color_bar_says_where_it_is_cut_off(show):
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
