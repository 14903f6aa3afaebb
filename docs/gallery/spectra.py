"""Spectra whose peaks move.

Each of 4,000 synthetic rows is a spectrum of 200 channels with two peaks: one moves and the other
grows. Principal components bend the movement into a horseshoe. `Isomap` and `LandmarkMap` show both
quantities: the position of one peak across and the height of the other along the other axis.
"""

import numpy as np
from sklearn.decomposition import PCA

import trigpoint as tp

rng = np.random.default_rng(0)
channels = np.linspace(0, 1, 200)
position = rng.uniform(0.2, 0.6, size=(4000, 1))
height = rng.uniform(0, 1, size=(4000, 1))
moving = np.exp(-(((channels - position) / 0.05) ** 2))
growing = height * np.exp(-(((channels - 0.8) / 0.05) ** 2))
spectra = moving + growing + 0.02 * rng.normal(size=(4000, 200))

embeddings = {
    "principal components": PCA(2, random_state=0),
    "Isomap": tp.Isomap(landmarks=500, random_state=0),
    "LandmarkMap": tp.LandmarkMap(),
}
coordinates = {name: emb.fit_transform(spectra) for name, emb in embeddings.items()}
axes = tp.plot.compare(coordinates, color=position[:, 0], ncols=3, label="position of the peak")
figure = axes[0].figure
