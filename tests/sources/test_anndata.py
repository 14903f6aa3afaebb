"""AnnData objects and estimators: the representation that was fitted is the one that is used."""

import numpy as np
from formats import annotated

import trigpoint as tp


def test_other_cells_are_embedded_from_the_fitted_representation(rng):
    cells, others = (annotated(rng.normal(size=(200, 5))) for _ in range(2))
    emb = tp.LaplacianEigenmaps(landmarks=30, random_state=0)
    tp.fit_anndata(cells, emb, use_rep="X_pca")
    assert emb.anndata_key_ == "X_pca"
    expected = emb.transform(others.obsm["X_pca"])
    np.testing.assert_array_equal(emb.transform(others), expected)
    np.testing.assert_array_equal(emb.transform(tp.open_source(others, key="X_pca")), expected)
    emb.fit(cells)
    assert not hasattr(emb, "anndata_key_")
    np.testing.assert_array_equal(emb.transform(others), emb.transform(tp.open_source(others)))
