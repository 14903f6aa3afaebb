"""Metrics, implemented as maps to Euclidean rows.

A space is fitted on the pool, applied as the first step of `transform`, and saved with the model.
All later stages compute Euclidean distances, whatever metric the user chose. To add a metric, write
a class with a `name` in a file of this package, and add it to `SPACES`.
"""

from typing import Any

from trigpoint._common.errors import ParameterTypeError
from trigpoint._spaces.custom import UserSpace
from trigpoint._spaces.directions import Correlation, Cosine, Hellinger
from trigpoint._spaces.functions import FunctionSpace
from trigpoint._spaces.globe import Haversine
from trigpoint._spaces.gower import Table
from trigpoint._spaces.mismatch import Hamming, Jaccard
from trigpoint._spaces.precomputed import Precomputed
from trigpoint._spaces.references import Manhattan
from trigpoint._spaces.scales import Mahalanobis, Standardized
from trigpoint._spaces.space import Euclidean, PairDistances, Space

SPACES: dict[str, type[Space]] = {
    space.name: space
    for space in (
        *(Euclidean, Cosine, Correlation, Hellinger),
        *(Standardized, Mahalanobis),
        *(Hamming, Jaccard, Manhattan),
        *(Haversine, Precomputed, Table),
    )
}
_ALIASES = {"tanimoto": "jaccard"}


def space_for(metric: Any) -> Space:
    """Return an unfitted space, given the name of a metric or a user-defined object."""
    if isinstance(metric, str) and _ALIASES.get(metric, metric) in SPACES:
        return SPACES[_ALIASES.get(metric, metric)]()
    if isinstance(metric, type) or not callable(metric):
        names = ", ".join(map(repr, [*SPACES, *_ALIASES]))
        raise ParameterTypeError(
            f"metric={metric!r} is not known: choose one of {names}, pass a function of two rows "
            "that returns their distance, or an object with fit(rows) and __call__(rows), which "
            "returns Euclidean rows",
            "metric",
        )
    return UserSpace(metric) if hasattr(metric, "fit") else FunctionSpace(metric)


__all__ = [
    "SPACES",
    "Cosine",
    "Euclidean",
    "PairDistances",
    "Space",
    "Standardized",
    "UserSpace",
    "space_for",
]
