"""From the coordinates of the landmarks to those of any other point.

An *extension* is prepared once from the fitted landmarks. After that it is a pure function of a
block of points. `weighted` has those by weights of landmarks, `extensions` that of Isomap, `smooth`
and `placing` those of 2-D embeddings and maps.
"""
