"""A report below the cell of a notebook."""


def test_a_notebook_shows_the_page_in_a_frame(fitted, roll, window, tmp_path):
    page = fitted.report(X=roll[0][:300])
    assert repr(page).startswith("<report of 0.")
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
