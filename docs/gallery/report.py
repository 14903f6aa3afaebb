"""An interactive report.

One file that works offline: zoom in to see the images, find and select points, and save their rows.
[The report](../../guide/report.md) describes all features.
"""

from sklearn.datasets import load_digits

import trigpoint as tp

X, y = load_digits(return_X_y=True)
emb = tp.LandmarkMap(landmarks=600, random_state=0).fit(X)
page = emb.report(X=X, color={"digit": y}, images=(8, 8), title="Handwritten digits")
