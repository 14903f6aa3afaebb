"""An interactive report.

One file that works without a network: zoom, see the digits themselves, select points, and compare
numbers of neighbors. [The report](../../guide/report.md) says what else it does.
"""

from sklearn.datasets import load_digits

import trigpoint as tp

X, y = load_digits(return_X_y=True)
emb = tp.LandmarkMap(landmarks=600, random_state=0).fit(X)
page = emb.report(X=X, color={"digit": y}, images=(8, 8), title="Handwritten digits")
