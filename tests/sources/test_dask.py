"""Points in Dask partitions: the same landmarks to the bit, and one embedding."""

import numpy as np
import pytest
from sklearn.base import clone

import trigpoint as tp

pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

N = 4000

ESTIMATORS = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps(landmarks=150, random_state=0),
    "Isomap of uniform landmarks": tp.Isomap(landmarks=tp.Uniform(80), random_state=2),
    "KernelPCA of pivots": tp.KernelPCA(landmarks=tp.RPCholesky(40), random_state=3),
    "LandmarkMap": tp.LandmarkMap(landmarks=200, n_iter=30, random_state=4),
    "cosine": tp.LaplacianEigenmaps(landmarks=100, metric="cosine", random_state=5),
    "standardized": tp.LaplacianEigenmaps(landmarks=100, metric="seuclidean", random_state=5),
    "given rows": tp.LaplacianEigenmaps(landmarks=np.arange(0, N, 29)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_any_chunks_give_the_landmarks_of_numpy_and_one_embedding(name):
    X = tp.datasets.make_swiss_roll(N, random_state=0)[0]
    here = clone(ESTIMATORS[name])
    expected = here.fit_transform(X)
    for chunks in ((N,), (1000,) * 4, (1, 1499, 0, 2437, 63)):
        there = clone(ESTIMATORS[name])
        parted = da.from_array(X, chunks=(chunks, 3))
        found = there.fit(parted).transform(parted)
        np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
        np.testing.assert_array_equal(found.compute(), expected)
