"""What tests in a browser share."""


def settle(page):
    """Wait until what was asked to be drawn is on the canvas, in full."""
    page.wait_for_timeout(200)
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
