"""A map of digits.

Two eigenmap coordinates have no room for ten digits; a map gives each digit its own area. More
`exaggeration` merges groups and reveals how they connect. See [Maps](../../guide/maps.md).
"""

import warnings

from sklearn.datasets import load_digits

import trigpoint as tp

warnings.simplefilter("ignore", tp.ParameterWarning)

X, y = load_digits(return_X_y=True)
embeddings = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps(landmarks=600, random_state=0),
    "LandmarkMap, exaggeration=4": tp.LandmarkMap(exaggeration=4),
    "LandmarkMap": tp.LandmarkMap(),
}
coordinates = {name: emb.fit_transform(X) for name, emb in embeddings.items()}

axes = tp.plot.compare(coordinates, color=y, categories=True, ncols=3, label="digit")
figure = axes[0].figure
