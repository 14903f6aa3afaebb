"""Extension of coordinates from the landmarks to any other point.

An *extension* is prepared once from the fitted landmarks and is then a pure function of a block of
points. `weighted` contains extensions by weighted sums, `published` the formula of the paper,
`extensions` the extension of Isomap, `smooth` the one by local planes, and `placing` the one for
maps.
"""
