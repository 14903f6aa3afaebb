"""Where a map lies.

Colors show where neighbors in the data are torn apart, and where neighbors on the map are false.
The roll is unrolled without either. Between groups of digits lie some whose neighbors are in
another group. The front and the back of the sphere lie on top of each other, so half of the
neighbors are false everywhere but at the edge. See [How good is it?](../../guide/quality.md).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import trigpoint as tp

rng = np.random.default_rng(0)
sphere = rng.normal(size=(6000, 3))
sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
roll, _ = tp.datasets.make_swiss_roll(6000, random_state=0)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (name, X, emb, fault) in zip(
    axes,
    (
        ("Swiss roll, unrolled", roll, tp.Isomap(random_state=0), "torn"),
        ("digits", load_digits().data, tp.LandmarkMap(), "torn"),
        ("sphere, from above", sphere, tp.KernelPCA(random_state=0), "false_neighbors"),
    ),
    strict=True,
):
    Y = emb.fit_transform(X)
    shares = getattr(emb.point_quality(X), fault)
    found = emb.quality(X, advise=False)
    title = f"{name}: {found.grade}, {found.preserved:.0%} preserved"
    label = fault.replace("_", " ").replace("torn", "torn neighbors")
    tp.plot.embedding(Y, color=shares, ax=ax, label=label, title=title)
    for drawn in *ax.collections, *ax.images:
        drawn.set_clim(0, 1)
