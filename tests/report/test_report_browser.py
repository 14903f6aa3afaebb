"""The page in a browser: it opens offline, and each control does what it says."""

import pytest
from browsing import box, pixels, point_at, settle, state

import trigpoint as tp

SCREENS = {"desktop": (1280, 860), "frame": (900, 720), "narrow": (640, 832), "phone": (390, 844)}


@pytest.mark.parametrize("screen", SCREENS)
def test_the_map_fills_the_first_screen(open_page, screen):
    width, height = SCREENS[screen]
    page = open_page(viewport={"width": width, "height": height}, has_touch=screen == "phone")
    plot = page.locator("#embedding").bounding_box()
    assert plot["y"] + plot["height"] <= height
    assert plot["height"] > 0.72 * height
    assert plot["width"] > (0.65 if width > 760 else 0.9) * width
    # Nothing scrolls sideways, and the search is at least partly on the first screen.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#search-form").bounding_box()["y"] < height


@pytest.fixture
def page(open_page):
    """The page in a wide window, in light colors."""
    return open_page(color_scheme="light")


def drag(page, canvas, places, *, key=None):
    """Press at the first place, given as shares of the canvas, and release at the last."""
    x, y, width, height = box(page, canvas)
    path = [(x + across * width, y + down * height) for across, down in places]
    if key:
        page.keyboard.down(key)
    page.mouse.move(*path[0])
    page.mouse.down()
    for place in path[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    if key:
        page.keyboard.up(key)


def test_it_opens_and_says_what_it_shows(page, hostile):
    assert page.title() == hostile
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == hostile
    shown = page.locator("#shown").inner_text()
    assert shown.startswith("The page has 2,000 of 3,000 rows, drawn at random.")
    assert "sample=3000, or --sample 3000" in shown
    assert page.locator("#selected").inner_text() == "Nothing selected"
    assert page.locator("#color optgroup").count() == 4


def test_wheel_and_drag_zoom_and_move(page):
    before = pixels(page, "embedding")
    x, y, width, height = box(page, "embedding")
    page.mouse.move(x + width / 3, y + height / 2)
    page.mouse.wheel(0, -300)
    zoomed = state(page)["views"]["embedding"]
    assert zoomed["zoom"] > 1.3
    drag(page, "embedding", [(0.5, 0.5), (0.6, 0.4)])
    moved = state(page)["views"]["embedding"]
    assert moved["zoom"] == zoomed["zoom"]
    assert moved["x"] == pytest.approx(zoomed["x"] + 0.1 * width, abs=2)
    assert moved["y"] == pytest.approx(zoomed["y"] - 0.1 * height, abs=2)
    assert pixels(page, "embedding") != before
    page.get_by_role("button", name="See everything: embedding").click()
    assert state(page)["views"]["embedding"]["zoom"] == 1
    assert pixels(page, "embedding") == before


def test_two_fingers_zoom(open_page):
    page = open_page(has_touch=True)
    x, y, width, height = box(page, "embedding")
    session = page.context.new_cdp_session(page)

    def touch(kind, spread):
        points = (
            []
            if spread is None
            else [
                {"x": x + width / 2 - spread, "y": y + height / 2, "id": 1},
                {"x": x + width / 2 + spread, "y": y + height / 2, "id": 2},
            ]
        )
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 40)
    for spread in (50, 60, 80):
        touch("touchMove", spread)
    touch("touchEnd", None)
    settle(page)
    assert state(page)["views"]["embedding"]["zoom"] == pytest.approx(2, rel=0.05)


def test_keys_zoom_move_and_reset(page):
    page.locator("#embedding").focus()
    page.keyboard.press("+")
    view = state(page)["views"]["embedding"]
    assert view["zoom"] == pytest.approx(1.4)
    page.keyboard.press("ArrowRight")
    assert state(page)["views"]["embedding"]["x"] == pytest.approx(view["x"] - 40)
    page.keyboard.press("ArrowUp")
    assert state(page)["views"]["embedding"]["y"] == pytest.approx(view["y"] + 40)
    page.keyboard.press("-")
    assert state(page)["views"]["embedding"]["zoom"] == pytest.approx(1)
    page.keyboard.press("0")
    assert state(page)["views"]["original"]["zoom"] == 1


def test_rectangle_in_the_embedding_selects_in_both_panels(page):
    before = pixels(page, "original")
    page.get_by_role("radio", name="Rectangle").check()
    drag(page, "embedding", [(0.1, 0.1), (0.5, 0.9)])
    chosen = page.evaluate("trigpoint.selectedPoints()")
    places = page.evaluate(
        "[...Array(2000).keys()].map((point) => trigpoint.placeOf('embedding', point))"
    )
    _, _, width, height = box(page, "embedding")
    inside = [
        point
        for point, (x, y) in enumerate(places)
        if 0.1 * width <= x <= 0.5 * width and 0.1 * height <= y <= 0.9 * height
    ]
    assert 50 < len(chosen) < 1950
    assert abs(len(set(inside) ^ set(chosen))) <= 10
    text = page.locator("#selected").inner_text()
    assert text.startswith(f"{len(chosen):,} of the 2,000 points on this page selected, about ")
    assert text.endswith(" of all 3,000")
    assert pixels(page, "original") != before
    page.get_by_role("button", name="Clear selection").click()
    assert state(page)["selected"] == 0
    assert pixels(page, "original") == before


def test_lasso_in_the_original_columns_selects_and_shift_adds(page):
    before = pixels(page, "embedding")
    page.get_by_role("radio", name="Lasso").check()
    drag(page, "original", [(0.1, 0.1), (0.5, 0.1), (0.5, 0.9), (0.1, 0.9)])
    first = set(page.evaluate("trigpoint.selectedPoints()"))
    assert first
    assert pixels(page, "embedding") != before
    drag(page, "original", [(0.5, 0.1), (0.9, 0.1), (0.9, 0.9), (0.5, 0.9)], key="Shift")
    both = set(page.evaluate("trigpoint.selectedPoints()"))
    assert first < both
    page.locator("#original").focus()
    page.keyboard.press("Escape")
    assert state(page)["selected"] == 0


def test_colors_and_their_legend(page, hostile):
    assert state(page)["colorName"] == "part"
    assert page.locator("#legend button").all_inner_texts() == [hostile, "outer"]
    page.locator("#legend button").last.click()
    assert state(page)["selected"] == pytest.approx(1000, abs=100)
    page.get_by_role("button", name="Clear selection").click()
    seen = {pixels(page, "embedding")}
    for name in ("one color", "torn neighbors", "arc length", "column 1", "coordinate 1"):
        page.select_option("#color", label=name)
        assert state(page)["colorName"] == name
        seen.add(pixels(page, "embedding"))
    assert len(seen) == 6
    assert page.locator("#legend .ramp").count() == 1


def test_landmarks_and_graph_are_switched(page):
    """Both are hidden at first."""
    plain = pixels(page, "embedding")
    page.get_by_role("checkbox", name="Graph").check()
    assert page.locator("#edge-key").is_visible()
    with_graph = pixels(page, "embedding")
    page.get_by_role("checkbox", name="Landmarks").check()
    with_both = pixels(page, "embedding")
    page.get_by_role("checkbox", name="Graph").uncheck()
    page.get_by_role("checkbox", name="Landmarks").uncheck()
    assert pixels(page, "embedding") == plain
    assert len({plain, with_graph, with_both}) == 3
    assert not page.locator("#edge-key").is_visible()


def test_axes_and_columns_are_chosen(page):
    first = pixels(page, "embedding")
    page.get_by_label("Vertical coordinate").select_option(label="coordinate 3")
    assert state(page)["axes"] == [0, 2]
    assert pixels(page, "embedding") != first
    page.get_by_label("Horizontal coordinate").select_option(label="coordinate 3")
    assert state(page)["axes"] == [2, 0]
    original = pixels(page, "original")
    page.get_by_label("Vertical column").select_option(label="column 1")
    assert state(page)["columns"][1] == 1
    assert pixels(page, "original") != original


def test_three_coordinates_turn(page):
    page.get_by_label("3-D").check()
    first = pixels(page, "embedding")
    turned = state(page)["turned"]
    drag(page, "embedding", [(0.4, 0.5), (0.6, 0.5)])
    assert state(page)["turned"][0] > turned[0] + 0.5
    assert state(page)["views"]["embedding"]["zoom"] == 1
    assert pixels(page, "embedding") != first
    assert page.locator("#axis-x").is_disabled()


def test_dark_and_light(open_page):
    page = open_page(color_scheme="dark")
    button = page.locator("#theme")
    # It says what pressing it does, to readers and to listeners.
    assert (button.inner_text(), button.get_attribute("aria-label")) == ("Light", "Light colors")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark, drawn = page.evaluate(paper), pixels(page, "embedding")
    button.click()
    assert state(page)["theme"] == "light"
    assert (button.inner_text(), button.get_attribute("aria-label")) == ("Dark", "Dark colors")
    assert page.evaluate(paper) != dark
    assert pixels(page, "embedding") != drawn
    page.emulate_media(color_scheme="light")
    # Changes that follow each other within a frame would pass for none.
    settle(page)
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert state(page)["theme"] == "dark"


def test_a_point_under_the_pointer_is_described(page):
    x, y = point_at(page, 5, "original")
    page.mouse.move(x + 1, y)
    tip = page.locator("#original-plot .tip")
    assert tip.is_visible()
    assert tip.inner_text().startswith("row ")
    assert "column 0: " in tip.inner_text()


def test_every_control_is_reached_by_tab_in_order(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "document.activeElement.id || document.activeElement.value"
            " || document.activeElement.getAttribute('aria-label')"
            " || document.activeElement.textContent.slice(0, 40)"
        )
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(name)
        outline = page.evaluate(
            "(() => { const e = document.activeElement;"
            " const seen = e.matches('.segments input') ? e.nextElementSibling : e;"
            " return getComputedStyle(seen).outlineStyle; })()"
        )
        assert outline != "none", name
    wanted = ["theme", "move", "axis-x", "three", "embedding", "search", "color", "outer"]
    wanted += ["show-graph", "select-view", "original"]
    order = [reached.index(name) for name in wanted]
    assert order == sorted(order)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, select, input, canvas[tabindex]')].filter((e) =>"
        " !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).length"
    )
    assert unnamed == 0


def test_landmarks_alone(open_page, roll, tmp_path):
    """Landmarks that are rows of nothing are not offered as rows."""
    emb = tp.LaplacianEigenmaps(landmarks=roll[0][:40] + 0.01, graph="euclidean").fit(roll[0])
    page = open_page(emb.report(tmp_path / "alone.html"))
    assert "only the landmarks" in page.locator("#shown").inner_text()
    page.get_by_role("button", name="Select in view").click()
    assert page.locator("#selected").inner_text() == "40 landmarks selected"
    page.get_by_role("checkbox", name="Graph").check()
    settle(page)
    for name in ("Copy rows", "Save rows"):
        assert page.get_by_role("button", name=name).count() == 0


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
    frame.get_by_role("button", name="Select in view").click()
    assert frame.locator("#selected").inner_text() == "300 points selected"
    frame.get_by_role("button", name="Copy link").click()
    frame.locator("#taken:not(:empty)").wait_for()
    shown.remove_listener("pageerror", failed)
    assert problems == []
