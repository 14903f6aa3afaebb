"""Distances on the globe."""

from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.sparse import Points
from trigpoint._spaces.space import Space, refuse_values

_DEGREES = "metric='haversine' takes degrees, the latitude (-90 to 90) in column 0 and the "
_DEGREES += "longitude (-180 to 360) in column 1: correct that value, or swap the columns"


class Haversine(Space):
    """Unit vectors, for rows of latitude and longitude in degrees.

    The Euclidean distance between unit vectors is the length of the chord, which increases with
    the great-circle distance: a chord of length c is an angle of ``2 arcsin(c / 2)``.
    """

    name = "haversine"
    keeps_columns = False

    def _map(self, block: Points, rows: Any) -> Points:
        assert isinstance(block, np.ndarray)
        if block.shape[1] != 2:
            raise ParameterValueError(
                f"X has {block.shape[1]} columns, and metric='haversine' takes two, the latitude "
                "and the longitude in degrees: choose these columns, as in X[:, [0, 1]]",
                "X",
            )
        out = np.c_[np.abs(block[:, :1]) > 90, (block[:, 1:] < -180) | (block[:, 1:] > 360)]
        refuse_values(out, block, rows, _DEGREES)
        latitudes, longitudes = (np.radians(c.astype(np.float64, order="C")) for c in block.T)
        around = np.cos(latitudes)
        parts = around * np.cos(longitudes), around * np.sin(longitudes), np.sin(latitudes)
        return np.stack(parts, axis=1).astype(block.dtype)

    def width(self, n_columns: int) -> int:
        return 3
