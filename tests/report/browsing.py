"""What tests in a browser share."""

from pathlib import Path


def settle(page):
    """Wait until what was asked to be drawn is on the canvas, in full."""
    page.evaluate(
        """() => new Promise((done) => {
          const look = () => trigpoint.settled() ? done() : requestAnimationFrame(look);
          requestAnimationFrame(() => requestAnimationFrame(look));
        })"""
    )


def state(page):
    """State of the page as plain values."""
    return page.evaluate("trigpoint.state()")


def pixels(page, canvas="embedding"):
    """Everything that is drawn on a canvas, as text."""
    settle(page)
    return page.evaluate(f"document.getElementById('{canvas}').toDataURL()")


def box(page, canvas):
    """Left, top, width and height of a canvas in the window."""
    page.locator(f"#{canvas}").scroll_into_view_if_needed()
    found = page.locator(f"#{canvas}").bounding_box()
    return found["x"], found["y"], found["width"], found["height"]


def point_at(page, point, canvas="embedding"):
    """Where in the window a sampled point is."""
    left, top, _, _ = box(page, canvas)
    x, y = page.evaluate(f"trigpoint.placeOf('{canvas}', {point})")
    return left + x, top + y


def downloaded(page, name):
    """Name and bytes of the file that a button downloads."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name).press("Enter")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def copied(page, name):
    """What a button copies."""
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async (text) => { window.copiedText = text; } } })"
    )
    page.get_by_role("button", name=name).press("Enter")
    page.locator("#taken:not(:empty)").wait_for()
    return page.evaluate("window.copiedText")
