"""How many coordinates.

With five groups, there is a clear gap after the fourth eigenvalue of the landmark graph, where it
is safe to stop. The eigenvalues of the digits grow evenly, and a classifier benefits from more
coordinates.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_blobs

import trigpoint as tp

warnings.simplefilter("ignore", tp.ParameterWarning)

digits, _ = load_digits(return_X_y=True)
groups, _ = make_blobs(3000, 10, centers=5, cluster_std=2.5, random_state=0)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, (name, X) in zip(axes, {"digits": digits, "five groups": groups}.items(), strict=True):
    graph = tp.KNNGraph(20, metric="euclidean")
    emb = tp.LaplacianEigenmaps(30, landmarks=600, graph=graph, random_state=0).fit(X)
    ax.plot(range(1, 31), emb.eigenvalues_, "o")
    ax.set(title=name, xlabel="eigenvector", ylabel="eigenvalue")
