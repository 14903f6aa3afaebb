"""Helpers of the tests that open a page in a browser."""

import base64
import gzip
import json
import re
from pathlib import Path

import numpy as np


def settle(page):
    """Wait until the page has loaded its data and drawn the current view in full."""
    page.evaluate(
        """() => new Promise((done) => {
          const look = () => window.trigpoint?.settled() ? done() : requestAnimationFrame(look);
          requestAnimationFrame(() => requestAnimationFrame(look));
        })"""
    )


def state(page):
    """State of the page as plain values."""
    return page.evaluate("trigpoint.state()")


def pixels(page, canvas="embedding"):
    """Return the image on a canvas, as text."""
    settle(page)
    return page.evaluate(f"document.getElementById('{canvas}').toDataURL()")


def box(page, canvas):
    """Left, top, width and height of a canvas in the window."""
    page.locator(f"#{canvas}").scroll_into_view_if_needed()
    found = page.locator(f"#{canvas}").bounding_box()
    return found["x"], found["y"], found["width"], found["height"]


def point_at(page, point, canvas="embedding"):
    """Return the position of a sampled point in the window."""
    left, top, _, _ = box(page, canvas)
    x, y = page.evaluate(f"trigpoint.placeOf('{canvas}', {point})")
    return left + x, top + y


def downloaded(page, name):
    """Name and bytes of the file that a button downloads."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name).press("Enter")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def copied(page, name):
    """Return the text that a button copies."""
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async (text) => { window.copiedText = text; } } })"
    )
    page.get_by_role("button", name=name).press("Enter")
    page.locator("#taken:not(:empty)").wait_for()
    return page.evaluate("window.copiedText")


def unpacked(html):
    """Return the facts that a page carries, and a function that reads its arrays."""
    carried = re.search(r'id="data">(.*?)</script>', html)[1]
    data = gzip.decompress(base64.b64decode(carried))
    end = 4 + int.from_bytes(data[:4], "little")

    def array(place):
        dtype = np.dtype(place["type"].replace("64", "8").replace("32", "4").replace("16", "2"))
        dtype = np.dtype("u1") if place["type"] == "u8" else dtype
        size = place["length"] * dtype.itemsize
        stored = np.frombuffer(data, np.uint8, size, end + place["start"])
        return stored.reshape(dtype.itemsize, -1).T.copy().view(dtype)[:, 0]

    return json.loads(data[4:end]), array
