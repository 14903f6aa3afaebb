"""One bandwidth for all landmarks, or one for each.

A fish bowl is dense at its rim and sparse at the bottom. It was generated from a disc; the color
shows the radius in the disc. The disc is recovered with a bandwidth for each landmark, and with a
single bandwidth that is large enough for the bottom. A bandwidth that suits the rim tears the
bottom apart. See [Bandwidths](../../guide/bandwidth.md).
"""

import numpy as np

import trigpoint as tp

X, disc = tp.datasets.make_fish_bowl(20_000, random_state=0)
coordinates = {}
for name, bandwidth in {"0.1 for all": 0.1, "1 for all": 1.0, "one for each": None}.items():
    graph = tp.KNNGraph(bandwidth=bandwidth)
    emb = tp.LaplacianEigenmaps(landmarks=500, graph=graph, random_state=0)
    coordinates[name] = emb.fit_transform(X)

axes = tp.plot.compare(coordinates, color=np.linalg.norm(disc, axis=1), ncols=3, label="radius")
figure = axes[0].figure
