"""What estimators accept: rows that scikit-learn validates, and all that can be opened."""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from trigpoint._common.checks import refuse_masked, refuse_non_numbers
from trigpoint._common.errors import ParameterValueError
from trigpoint._sources.base import Source

# Libraries whose objects are opened as they are.
_OPENED = ("h5py", "zarr", "pyarrow", "anndata", "polars", "xarray", "dask", "torch")

_FEWEST_ROWS = 2


def validated(estimator: Any, X: Any, *, reset: bool) -> Source:
    """Open `X` for an estimator, and set or check the number and names of its columns.

    Parameters
    ----------
    estimator : estimator or sampler
        Gets `n_features_in_` and `feature_names_in_` if `reset`.
    X : object
        Anything that `open_source` accepts.
    reset : bool
        True for `fit`, False for `transform`.
    """
    from trigpoint._sources.opening import is_on_gpu, open_source

    library = type(X).__module__.partition(".")[0]
    is_opened = isinstance(X, (str, os.PathLike, Source, np.lib.npyio.NpzFile))
    if is_opened or library in _OPENED or hasattr(X, "obsm") or is_on_gpu(X):
        source = open_source(X)
        if reset:
            estimator.n_features_in_ = source.columns.count
            if source.columns.names is not None:
                estimator.feature_names_in_ = np.array(source.columns.names, dtype=object)
            elif hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
    else:
        refuse_masked(X)
        if not (hasattr(X, "iloc") and hasattr(X, "columns")):
            refuse_non_numbers(X)
        # A data frame is opened as it is: its columns may have several types.
        is_frame = hasattr(X, "iloc")
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=_FEWEST_ROWS if reset else 1,
            skip_check_array=is_frame,
        )
        source = open_source(X if is_frame else checked)
    if reset and source.n < _FEWEST_ROWS:
        raise ParameterValueError(
            f"{source.name} has {source.n} row(s), but at least two are needed: choose another "
            "file",
            "X",
        )
    return source
