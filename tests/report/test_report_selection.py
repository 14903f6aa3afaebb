"""The page in a browser: a selection leaves it as rows."""

import csv
import io

import numpy as np
import pytest
from browsing import copied, downloaded

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


def test_rows_are_saved_with_all_that_is_known_of_them(page, fitted, roll, hostile):
    name, (head, *lines) = saved(page)
    assert name == "selected-rows.csv"
    coordinates = [f"coordinate {j}" for j in (1, 2, 3)]
    columns = [f"column {j}" for j in (0, 1, 2)]
    derived = ["points in the cell", "neighbors lost"]
    assert head == ["row", "part", "arc length", hostile, *coordinates, *columns, *derived]
    assert [int(line[0]) for line in lines] == selected_rows(page)
    assert 500 < len(lines) < 1500
    assert {line[1] for line in lines} == {"outer"}
    X, rows = roll[0], selected_rows(page)
    for first, values in ((4, fitted.transform(X)[rows]), (7, X[rows])):
        found = np.array([line[first : first + 3] for line in lines], dtype=float)
        np.testing.assert_allclose(found, values, atol=1e-4 * np.ptp(values, axis=0).max())
    assert page.locator("#taken").inner_text() == f"{len(lines):,} rows saved"


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
    page.get_by_role("button", name="Select what is in view").click()
    _, lines = saved(page)
    assert lines[0][:3] == ["row", "coordinate 1", "column 0"]
    assert "(spread out)" not in lines[0]
    assert [line[0] for line in lines[1:]] == ["0", "1", "2", "3", "4"]
