"""What tests in a browser share."""


def at_widths(page, widths, height=900):
    """Give the window one width after another."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        yield width


def settle(page):
    """Wait until what was asked to be drawn is on the canvas, in full."""
    page.evaluate(
        """() => new Promise((done) => {
          const look = () => trigpoint.settled() ? done() : requestAnimationFrame(look);
          requestAnimationFrame(() => requestAnimationFrame(look));
        })"""
    )
