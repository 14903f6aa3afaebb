"""Explanations, each behind a question mark."""

from trigpoint._report.content import Content

_NO_PROOF = (
    "Odd edges are found by comparison with the median edge, so they do not stand out if most are "
    "shortcuts. If none is suspected, that does not prove there are none."
)

KEYS = (
    '<p id="keys">Scroll, pinch or press <kbd>+</kbd> <kbd>&minus;</kbd> to zoom, drag or use '
    "arrow keys to move, <kbd>0</kbd> to see everything, <kbd>Shift</kbd> to add to a selection, "
    "<kbd>Esc</kbd> to clear it.</p><p>On a touch screen, one finger scrolls the page and taps "
    "points; two move and zoom.</p><p>Press a label of the legend to select its points.</p>"
)

LANDMARKS = "Triangles are landmarks: the few points that determine the positions of all others."

# What the numbers at the top mean.
_TERMS = {
    "kept": "share of the nearest neighbors of a point that are among its nearest in the "
    "embedding, too; the other bar is the same for principal components",
    "trustworthiness": "1 if no distant points have become neighbors",
    "continuity": "1 if no neighbors have become distant",
    "local dimension": "directions in which the points vary around a point",
    "redundant": "coordinates that are functions of others",
    "covering radius": "largest distance from a point on this page to its nearest landmark",
}
_TERMS_OF_GRAPH = {
    "suspected shortcut": "an edge between landmarks that may not be near along the data",
    "bridge": "an edge added to join connected components",
}


def explained(about: str, html: str) -> str:
    """Return an explanation behind a question mark."""
    return (
        f'<details class="help"><summary aria-label="About {about}">?</summary>'
        f"<div>{html}</div></details>"
    )


def terms(content: Content) -> str:
    """Explain the numbers at the top."""
    known = {} if content.quality is None else _TERMS
    if content.edges is not None:
        known = known | _TERMS_OF_GRAPH
    if not known:
        return f"<p>{LANDMARKS}</p>"
    return "".join(f"<p><b>{term}</b>: {meaning}.</p>" for term, meaning in known.items())


def graph_note(content: Content) -> str:
    """Explain when an edge is suspected of being a shortcut."""
    if content.edges is None:
        return "All pairs of landmarks are compared, so there is no graph to draw."
    apart = "its ends have no neighbor in common, while those of the median edge have three or more"
    if not content.covariances:
        return (
            "There are no local covariances, so an edge is suspected of being a shortcut in only "
            f"one case: {apart}. {_NO_PROOF}"
        )
    return (
        "An edge is suspected of being a shortcut in two cases. Either its Bhattacharyya distance "
        "is more than three times that of the median edge, and not only because it is long: this "
        "still holds after dividing both by the distance that the edge would have along the "
        f"direction in which the points vary most. Or {apart}. {_NO_PROOF} "
        f"Covariances: {content.covariances}."
    )
