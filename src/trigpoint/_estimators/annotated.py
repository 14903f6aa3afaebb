"""Embeddings of AnnData objects, stored where scanpy looks for them."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from trigpoint._common.errors import ParameterTypeError
from trigpoint._embedding import HOW_IT_RUNS, Embedding
from trigpoint._estimators.eigenmaps import DiffusionMaps
from trigpoint._estimators.landmark_map import LandmarkMap
from trigpoint._sources import open_source

# Name under which scanpy's functions look for diffusion maps.
_SCANPY_DIFFUSION = "diffmap"


def fit_anndata(
    adata: Any,
    estimator: Embedding | None = None,
    *,
    use_rep: str | None = None,
    key_added: str = "trigpoint",
) -> Any:
    """Embed the cells of an AnnData object, and write the result into it.

    Parameters
    ----------
    adata : AnnData
        The cells, in memory or backed by a file.
    estimator : estimator or None, default=None
        The estimator to fit, such as `DiffusionMaps`. ``None`` uses
        ``LandmarkMap(random_state=0)``, a map for visualization.
    use_rep : str or None, default=None
        The entry of ``obsm`` to embed, or ``"X"``. ``None`` uses ``X_pca`` if it exists, and
        otherwise ``X``.
    key_added : str, default="trigpoint"
        Name of the results.

    Returns
    -------
    estimator
        The fitted estimator. Its methods accept AnnData objects and ``.h5ad`` files with other
        cells, from which they read the same representation; its name is stored in `anndata_key_`.

    Notes
    -----
    With the default name, these entries are added to `adata`, or replaced if they exist:

    - ``obsm["X_trigpoint"]``: the coordinates, which ``sc.pl.embedding(adata, "trigpoint")`` plots;
    - ``obs["trigpoint_landmark"]``: whether each cell is a landmark, if some cells are;
    - ``uns["trigpoint"]``: ``params``, ``landmark_embedding``, ``landmark_indices``, and, if the
      estimator has a graph, ``connectivities`` with its weights. The weights link landmarks, not
      cells, and are therefore not in ``obsp``.

    `DiffusionMaps` with ``key_added="diffmap"`` are stored as scanpy stores its own, with
    eigenvectors of unit length after a constant one, and the eigenvalues in
    ``uns["diffmap_evals"]``, so that ``sc.tl.dpt`` and ``sc.pl.diffmap`` work.

    Examples
    --------
    >>> import trigpoint as tp
    >>> adata = anndata.read_h5ad("cells.h5ad")  # doctest: +SKIP
    >>> emb = tp.fit_anndata(adata)  # doctest: +SKIP
    >>> adata.obsm["X_trigpoint"]  # doctest: +SKIP
    """
    if not hasattr(adata, "obsm"):
        raise ParameterTypeError(
            f"adata must be an AnnData object, not an object of type {type(adata).__name__}: pass "
            "arrays to the fit_transform method of an estimator",
            "adata",
        )
    estimator = LandmarkMap(random_state=0) if estimator is None else estimator
    if not isinstance(estimator, Embedding):
        raise ParameterTypeError(
            "estimator must be an estimator of this library, not an object of type "
            f"{type(estimator).__name__}: pass an object such as DiffusionMaps(random_state=0)",
            "estimator",
        )
    points = open_source(adata, key=use_rep)
    coordinates = np.asarray(estimator.fit(points).transform(points))
    fitted = {"method": type(estimator).__name__, "use_rep": points.representation}
    added: dict[str, Any] = {
        "params": {**fitted, **_plain(estimator)},
        "landmark_embedding": estimator.landmark_embedding_,
    }
    graph = getattr(estimator, "graph_", None)
    if graph is not None:
        added["connectivities"] = graph
    rows = estimator.landmark_indices_
    if rows is not None:
        added["landmark_indices"] = rows
        # A column that is always True would be useless.
        if len(rows) < len(coordinates):
            is_landmark = np.zeros(len(coordinates), dtype=bool)
            is_landmark[rows] = True
            adata.obs[f"{key_added}_landmark"] = is_landmark
    if key_added == _SCANPY_DIFFUSION and isinstance(estimator, DiffusionMaps):
        # In scanpy's layout, eigenvectors have unit length, and the first one is constant.
        coordinates = np.column_stack([np.ones(len(coordinates)), coordinates])
        coordinates /= np.linalg.norm(coordinates, axis=0)
        adata.uns[f"{key_added}_evals"] = np.append(1.0, estimator.eigenvalues_)
    adata.obsm[f"X_{key_added}"] = coordinates
    adata.uns[key_added] = added
    return estimator


def _plain(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that are not None, as values that files can store."""
    parameters = estimator.get_params(deep=False)
    return {
        name: value if isinstance(value, (bool, int, float, str)) else " ".join(str(value).split())
        for name, value in parameters.items()
        if value is not None and name not in HOW_IT_RUNS
    }
