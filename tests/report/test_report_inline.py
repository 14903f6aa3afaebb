"""A report below the cell of a notebook."""

import numpy as np
import pytest


def test_a_notebook_shows_the_page_in_a_frame(fitted, roll, window, tmp_path):
    page = fitted.report(X=roll[0][:300])
    assert page.save(tmp_path / "kept.html").read_text(encoding="utf-8") == page.html
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<h1>Notebook</h1>{page._repr_html_()}", encoding="utf-8")
    shown, problems = window(), []

    def failed(error):
        problems.append(str(error))

    shown.on("pageerror", failed)
    shown.goto(notebook.as_uri())
    frame = shown.frame_locator("iframe")
    frame.get_by_text("All 300 points are shown.").wait_for()
    frame.get_by_role("button", name="Select what is in view").click()
    assert frame.locator("#selected").inner_text() == "300 points selected"
    frame.get_by_role("button", name="Copy link").click()
    frame.locator("#taken:not(:empty)").wait_for()
    shown.remove_listener("pageerror", failed)
    assert problems == []


def test_it_says_what_it_is_where_it_cannot_be_shown(fitted):
    page = fitted.report()
    assert repr(page).startswith("<report of 0.")


def test_points_in_the_place_of_the_path_are_refused(fitted, roll):
    with pytest.raises(TypeError, match=r"path must be a file path, .*points follow it"):
        fitted.report(np.asarray(roll[0]))
