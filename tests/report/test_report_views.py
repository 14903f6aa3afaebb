"""The page in a browser: searching, saving and sharing views, and descriptions of points."""

import numpy as np
import pytest
from browsing import box, copied, downloaded, point_at, settle, state

import trigpoint as tp

WORDS = ["ash", "birch", "cedar", "larch"]


@pytest.fixture(scope="module")
def groups():
    """Four groups of points whose rows are pictures of 4 x 6 pixels, and which group each is in."""
    rng = np.random.default_rng(0)
    kinds = np.arange(400) % 4
    centers = rng.uniform(0, 1, size=(4, 24))
    X = np.clip(centers[kinds] + rng.normal(scale=0.05, size=(400, 24)), 0, 1)
    emb = tp.KernelPCA(landmarks=60, random_state=0).fit(X)
    return X, kinds, emb


@pytest.fixture(scope="module")
def pictured(groups, tmp_path_factory):
    """A page that shows points as images and text."""
    X, kinds, emb = groups
    path = tmp_path_factory.mktemp("things") / "a.html"
    words = np.array(WORDS)[kinds]
    text = [f"Tree {j}, <b>{word}</b>" for j, word in enumerate(words)]
    return emb.report(path, X, color={"tree": words}, images=(4, 6), text=text)


def pixels_of(page, color):
    """How many pixels of the embedding have very nearly this color."""
    settle(page)
    return page.evaluate(
        """([r, g, b]) => {
          const drawn = document.getElementById("embedding");
          const copy = document.createElement("canvas");
          [copy.width, copy.height] = [drawn.width, drawn.height];
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(drawn, 0, 0);
          const { data } = context.getImageData(0, 0, copy.width, copy.height);
          let count = 0;
          for (let at = 0; at < data.length; at += 4) {
            const off = [r, g, b].map((value, c) => Math.abs(data[at + c] - value));
            if (Math.max(...off) < 12 && data[at + 3] > 200) count++;
          }
          return count;
        }""",
        color,
    )


def test_a_selection_keeps_the_colors_of_its_classes(open_page, pictured):
    page = open_page(pictured, color_scheme="light")
    blue, vermillion = [0x00, 0x72, 0xB2], [0xD5, 0x5E, 0x00]
    before = [pixels_of(page, color) for color in (blue, vermillion)]
    assert min(before) > 20
    page.locator("#legend button").first.click()
    assert pixels_of(page, blue) > 0.8 * before[0]
    # Where many points lie above each other, pale ones add up.
    assert pixels_of(page, vermillion) < 0.5 * before[1]


def test_the_classes_of_a_selection_are_listed(open_page, pictured):
    page = open_page(pictured)
    assert not page.locator("#breakdown").is_visible()
    page.locator("#legend button").first.click()
    page.locator("#legend button").nth(1).click(modifiers=["Shift"])
    rows = page.locator("#breakdown tbody tr")
    assert [text.split() for text in rows.all_inner_texts()] == [
        ["ash", "100", "50", "%", "100", "%"],
        ["birch", "100", "50", "%", "100", "%"],
    ]
    page.select_option("#color", label="coordinate 1")
    assert "coordinate 1 of the selection: median " in page.locator("#breakdown").inner_text()
    page.get_by_role("button", name="Clear selection").click()
    assert not page.locator("#breakdown").is_visible()


def test_names_of_classes_are_in_the_plot(open_page, pictured):
    page = open_page(pictured)
    texts = written(page)
    page.get_by_role("checkbox", name="Labels").uncheck()
    redrawn(page)
    assert not set(WORDS) & texts()
    page.get_by_role("checkbox", name="Labels").check()
    settle(page)
    assert set(WORDS) <= texts()


def test_points_are_found_by_label_row_and_text(open_page, pictured):
    page = open_page(pictured)
    field = page.get_by_role("combobox", name="Find")
    for query, count, said in (
        ("CEDAR", 100, "tree: cedar: 100 points"),
        ("rch", 200, "tree: birch, larch: 200 points"),
        ("row 17", 1, "Row 17: 1 point"),
        ("300", 1, "Row 300: 1 point"),
        ("TREE 399", 1, "text with “TREE 399”: 1 point"),
        # The selection stays if nothing is found.
        ("400", 1, "There is no row 400: rows are counted from 0 to 399."),
        ("oak", 1, "Nothing on this page matches “oak”."),
    ):
        field.fill(query)
        field.press("Enter")
        assert page.locator("#taken").inner_text() == said
        assert state(page)["selected"] == count
        if count > 1:
            chosen = page.evaluate("trigpoint.selectedPoints()")
            assert all(WORDS[point % 4] in said for point in chosen)


@pytest.fixture(scope="module")
def phrases(groups, tmp_path_factory):
    """A page with a text for each of 20,000 points, and the texts."""
    X, _, emb = groups
    rng = np.random.default_rng(1)
    points = np.repeat(X, 50, axis=0) + rng.normal(scale=0.02, size=(20_000, 24))
    text = np.array([f"{WORDS[j % 4]} no. {j} of the list" for j in range(20_000)], dtype=object)
    text[[11, 12_345]] = "ash tree", "ash"
    path = tmp_path_factory.mktemp("phrases") / "a.html"
    return emb.report(path, points, text={"phrase": text}), text


def redrawn(page):
    """Note only the texts of a drawing that begins now."""
    settle(page)
    page.evaluate("window.written.clear()")
    page.get_by_role("checkbox", name="Landmarks").check()
    settle(page)


def written(page):
    """Note the texts that are written on canvases from now on."""
    page.evaluate(
        """() => {
          window.written = new Set();
          const write = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            window.written.add(text);
            write.call(this, text, x, y);
          };
        }"""
    )
    return lambda: set(page.evaluate("[...window.written]"))


def test_every_text_is_found_the_exact_one_first_and_is_framed(open_page, phrases):
    page = open_page(phrases[0])
    assert not page.locator("#original").is_visible()
    texts = written(page)
    page.locator("#search").fill("Ash")
    page.locator("#search").press("Enter")
    assert page.locator("#taken").inner_text() == (
        "phrase with “Ash”: 5,002 points, 1 of them exactly"
    )
    assert state(page)["found"][:2] == [12_345, 11]
    settle(page)
    assert "ash" in texts()
    _, _, width, height = box(page, "embedding")
    x, y = page.evaluate("trigpoint.placeOf('embedding', 12345)")
    assert (x, y) == pytest.approx((width / 2, height / 2), abs=2)
    results = page.locator("#results button")
    assert results.all_inner_texts()[:2] == ["ash", "ash tree"]
    results.nth(1).click()
    settle(page)
    assert page.evaluate("trigpoint.placeOf('embedding', 11)")[0] == pytest.approx(width / 2, abs=2)


def test_words_are_written_on_the_map(open_page, phrases):
    path, text = phrases
    page = open_page(path)
    texts = written(page)
    switch = page.get_by_role("checkbox", name="Labels")
    switch.uncheck()
    redrawn(page)
    assert not texts() & set(text)
    switch.check()
    settle(page)
    assert len(texts() & set(text)) >= 4


def test_images_are_drawn_on_the_map_on_deep_zoom(open_page, pictured):
    page = open_page(pictured)
    page.evaluate(
        """() => {
          window.drawn = 0;
          const draw = CanvasRenderingContext2D.prototype.drawImage;
          CanvasRenderingContext2D.prototype.drawImage = function (...given) {
            if (this.canvas.id === "embedding" && given.length === 9) window.drawn++;
            draw.apply(this, given);
          };
        }"""
    )
    page.get_by_role("button", name="Zoom in: embedding").click()
    settle(page)
    assert page.evaluate("window.drawn") > 5


def test_the_view_is_saved_as_a_picture(open_page, pictured):
    page = open_page(pictured)
    _, png = downloaded(page, "Save PNG")
    assert png.startswith(b"\x89PNG")
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    _, _, drawn_width, drawn_height = box(page, "embedding")
    assert width == pytest.approx(2 * (drawn_width + 40), abs=4)
    assert height > 2 * drawn_height


def test_a_link_shows_the_same_view(open_page):
    page = open_page(color_scheme="light")
    page.select_option("#color", label="arc length")
    page.get_by_label("Vertical coordinate").select_option(label="coordinate 3")
    page.get_by_role("checkbox", name="Graph").check()
    page.locator("#embedding").focus()
    for key in ("+", "+", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    page.evaluate("location.hash = '#rows=100-120'")
    settle(page)
    chosen = page.evaluate("trigpoint.selectedPoints()")
    assert 5 < len(chosen) < 21
    link = copied(page, "Copy link")
    assert link.startswith("file:")
    assert page.url == link
    shown = state(page)
    page.goto("about:blank")
    page.goto(link)
    settle(page)
    for name in ("colorName", "axes", "columns", "showGraph", "showLandmarks"):
        assert state(page)[name] == shown[name], name
    view, wanted = state(page)["views"]["embedding"], shown["views"]["embedding"]
    assert view == pytest.approx(wanted, rel=1e-4, abs=0.5)
    assert page.evaluate("trigpoint.selectedPoints()") == chosen


def test_a_point_is_shown_as_its_image_and_text(open_page, pictured, groups):
    page = open_page(pictured)
    page.mouse.move(*point_at(page, 5))
    tip = page.locator("#embedding-plot .tip")
    assert "Tree 5, <b>birch</b>" in tip.inner_text()
    assert "tree: birch" in tip.inner_text()
    shown = page.evaluate(
        """() => {
          const canvas = document.querySelector("#embedding-plot .tip canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return [canvas.width, canvas.height, [...data].filter((_, at) => at % 4 === 0)];
        }"""
    )
    assert shown[:2] == [6, 4]
    np.testing.assert_allclose(np.array(shown[2]) / 255, groups[0][5], atol=0.02)


def test_images_are_seen_together_instead_of_pixel_against_pixel(open_page, pictured):
    page = open_page(pictured)
    assert not page.locator("#original").is_visible()
    assert "column" not in page.locator("#color").inner_text()
    assert page.locator("#gallery button canvas").count() == 96
    assert page.locator("#gallery-note").inner_text() == "Images: 96 of 400 in view"
    page.locator("#legend button").first.click()
    titles = page.locator("#gallery button").evaluate_all("all => all.map((one) => one.title)")
    assert all(title.endswith("tree: ash") for title in titles)
    page.locator("#gallery button").nth(3).click()
    assert state(page)["selected"] == 1


def test_images_elsewhere_are_loaded_only_when_asked(window, groups, tmp_path):
    X, _, emb = groups
    images = [f"https://example.invalid/{j}.png" for j in range(400)]
    path = emb.report(tmp_path / "a.html", X, images=images)
    page, asked = window(), []

    def note(request):
        asked.append(request.url)

    page.on("request", note)
    page.route("https://**", lambda route: route.abort())
    page.goto(path.as_uri())
    settle(page)
    page.mouse.move(*point_at(page, 5))
    settle(page)
    assert [url for url in asked if not url.startswith("file:")] == []
    page.get_by_role("button", name="Load images").click()
    page.wait_for_timeout(200)
    assert "https://example.invalid/0.png" in asked
    page.remove_listener("request", note)
    page.unroute_all()


def test_on_a_phone_a_tap_shows_a_point(open_page, pictured):
    page = open_page(pictured, viewport={"width": 390, "height": 844}, has_touch=True)
    page.touchscreen.tap(*point_at(page, 5))
    tip = page.locator("#embedding-plot .tip")
    assert tip.is_visible()
    assert "row " in tip.inner_text()
    settle(page)
    assert tip.is_visible()
    left, top, _, height = box(page, "embedding")
    page.touchscreen.tap(left + 30, top + height - 6)
    assert not tip.is_visible()
