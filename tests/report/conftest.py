"""Fixtures for reports: small models, a page, and a browser to open it in."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from browsing import settle

import trigpoint as tp

WIDE = {"width": 1200, "height": 900}


@pytest.fixture(scope="session")
def hostile() -> str:
    """A label that would run as a script if it were taken for markup."""
    return "</script><img src=x onerror=\"document.title='injected'\">"


@pytest.fixture(scope="session")
def fitted(roll):
    """Laplacian eigenmaps of a Swiss roll, to three coordinates."""
    X, _ = roll
    return tp.LaplacianEigenmaps(n_components=3, landmarks=150, random_state=0).fit(X)


@pytest.fixture(scope="session")
def written(fitted, roll, hostile, tmp_path_factory) -> Path:
    """A page with colors of each kind and hostile labels, on which part of the points are shown."""
    X, intrinsic = roll
    parts = np.where(intrinsic[:, 0] > np.median(intrinsic[:, 0]), "outer", hostile)
    path = tmp_path_factory.mktemp("report") / "roll.html"
    colors = {"part": parts, "arc length": intrinsic[:, 0], hostile: intrinsic[:, 1]}
    return fitted.report(path, X, color=colors, title=hostile, sample=2000)


@pytest.fixture(scope="session")
def browser():
    """Start Chromium without a window, or skip and say why there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        # In a container there is no user to protect, and often a small /dev/shm.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield started
        started.close()


@pytest.fixture(scope="session")
def free_windows(browser) -> dict[tuple, list]:
    """Windows that tests can reuse, by the options with which they were opened."""
    return {}


@pytest.fixture
def window(browser, free_windows):
    """Take a free window, since opening one takes longer than loading a page."""
    taken = []

    def opened(*, viewport=WIDE, color_scheme="light", **options):
        kind = tuple(sorted(options.items()))
        free = free_windows.setdefault(kind, [])
        page = free.pop() if free else browser.new_page(**options)
        taken.append((free, page))
        page.set_default_timeout(10_000)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme)
        return page

    yield opened
    for free, page in taken:
        # The next page is another document; the pointer alone would stay where it was.
        page.mouse.move(0, 0)
        free.append(page)


@pytest.fixture
def open_page(window, written):
    """Open the page in a window; any request, message or error fails the test."""
    heard, problems = [], []

    def opened(path=written, **options):
        page = window(**options)
        for event, told in listeners.items():
            page.on(event, told)
            heard.append((page, event, told))
        page.goto(path.as_uri())
        settle(page)
        return page

    def asked(request):
        if not request.url.startswith("file:"):
            problems.append(f"request: {request.url}")

    listeners = {
        "console": lambda message: problems.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: problems.append(str(error)),
        "request": asked,
    }
    yield opened
    for page, event, told in heard:
        page.remove_listener(event, told)
    assert problems == []
