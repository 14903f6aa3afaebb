"""Handwritten digits by four methods.

Two coordinates cannot separate ten digits; the [tutorial](../../tutorial.md) uses more. Graph
methods first separate the most distinct digits, while kernel PCA shows the overall shape.
"""

import warnings

from sklearn.datasets import load_digits

import trigpoint as tp

# The graph is disconnected, because some digits have no neighbors among the others.
warnings.simplefilter("ignore", tp.ParameterWarning)

X, y = load_digits(return_X_y=True)
embeddings = {
    "Laplacian eigenmaps": tp.LaplacianEigenmaps(landmarks=600, random_state=0),
    "diffusion maps": tp.DiffusionMaps(landmarks=600, random_state=0),
    "Isomap": tp.Isomap(landmarks=600, random_state=0),
    "kernel PCA": tp.KernelPCA(landmarks=600, random_state=0),
}
coordinates = {name: emb.fit_transform(X) for name, emb in embeddings.items()}

axes = tp.plot.compare(coordinates, color=y, categories=True, ncols=2, label="digit")
figure = axes[0].figure
