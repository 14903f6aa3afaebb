"""Where an embedding is wrong.

Three embeddings of one roll are colored by the share of each point's neighbors that are lost.
Leading eigenvectors form a curve and lose the most neighbors, Isomap loses hardly any, and
independent eigenvectors lose neighbors where the sheet is compressed. See [How good is
it?](../../guide/quality.md).
"""

import warnings

import matplotlib.pyplot as plt

import trigpoint as tp

warnings.simplefilter("ignore", tp.ParameterWarning)

X, _ = tp.datasets.make_swiss_roll(10_000, random_state=0)
embeddings = {
    "leading eigenvectors": tp.LaplacianEigenmaps(eigenvectors="leading", random_state=0),
    "Isomap": tp.Isomap(random_state=0),
    "independent eigenvectors": tp.LaplacianEigenmaps(random_state=0),
}

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (name, emb) in zip(axes, embeddings.items(), strict=True):
    Y = emb.fit_transform(X)
    found = emb.quality(X)
    lost = found.distortion_of(X, Y)
    title = f"{name}: {found.grade}, {found.neighbors_kept:.0%} kept"
    tp.plot.embedding(Y, color=lost, ax=ax, label="neighbors lost", title=title)
    for drawn in *ax.collections, *ax.images:
        drawn.set_clim(0, 1)
