"""In-memory figures, and fitted estimators of each kind to plot."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import trigpoint as tp


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures."""
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def eigenmaps(roll):
    """Return Laplacian eigenmaps of a Swiss roll, with three components and 80 landmarks."""
    return tp.LaplacianEigenmaps(3, landmarks=80, random_state=0).fit(roll[0])


@pytest.fixture(scope="session")
def kernel_pca(roll):
    """Return kernel PCA, which has neither graph nor covariances."""
    return tp.KernelPCA(2, landmarks=80, random_state=0).fit(roll[0])


@pytest.fixture(scope="session")
def islands():
    """Return an embedding of three distant clusters, whose graph needs two bridges."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + np.repeat([0, 40, 80], 100)[:, None] * [1, 0, 0]
    with pytest.warns(tp.ParameterWarning, match="connected components"):
        return tp.LaplacianEigenmaps(6, landmarks=90, graph=tp.KNNGraph(20), random_state=0).fit(X)
