"""Metrics, implemented as maps to Euclidean rows.

A space is fitted on the pool, applied as the first step of `transform`, and saved with the model.
All later stages compute Euclidean distances, whatever metric the user chose. To add a metric, write
a class with a `name` in a file of this package, and add it to `SPACES`.
"""

from typing import Any

from trigpoint._common.errors import ParameterTypeError
from trigpoint._spaces.custom import UserSpace
from trigpoint._spaces.directions import Correlation, Cosine, Hellinger
from trigpoint._spaces.globe import Haversine
from trigpoint._spaces.gower import Table
from trigpoint._spaces.mismatch import Hamming
from trigpoint._spaces.scales import Mahalanobis, Standardized
from trigpoint._spaces.space import Euclidean, Space

SPACES: dict[str, type[Space]] = {
    space.name: space
    for space in (
        *(Euclidean, Cosine, Correlation, Hellinger),
        *(Standardized, Mahalanobis),
        *(Hamming, Haversine, Table),
    )
}


def space_for(metric: Any) -> Space:
    """Return an unfitted space, given the name of a metric or a user-defined object."""
    if isinstance(metric, str) and metric in SPACES:
        return SPACES[metric]()
    is_usable = callable(metric) and hasattr(metric, "fit") and not isinstance(metric, type)
    if not is_usable or isinstance(metric, str):
        names = ", ".join(map(repr, SPACES))
        raise ParameterTypeError(
            f"metric={metric!r} is not known: choose one of {names}, or pass an object with "
            "fit(rows) and __call__(rows), which returns Euclidean rows",
            "metric",
        )
    return UserSpace(metric)


__all__ = ["SPACES", "Cosine", "Euclidean", "Space", "Standardized", "UserSpace", "space_for"]
