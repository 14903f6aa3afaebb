"""From the coordinates of the landmarks to those of any other point.

An *extension* is prepared once from the fitted landmarks. After that it is a pure function of a
block of points. `extensions` has one for each method, `smooth` and `placing` those of 2-D
embeddings and maps, and `support` the landmarks that take part in them.
"""
