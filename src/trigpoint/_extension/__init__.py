"""Extension of coordinates from the landmarks to any other point.

An *extension* is prepared once from the fitted landmarks and is then a pure function of a block of
points. `weighted` has extensions by weighted sums, `extensions` that of Isomap, `smooth` that by
local planes, and `placing` that of maps.
"""
