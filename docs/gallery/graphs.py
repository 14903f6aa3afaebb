"""Two graphs of the same landmarks.

Both graphs have a hundred neighbors per landmark and are seen along the axis of the roll. Euclidean
neighbors jump from one turn to the next, so the embedding closes into a ring; Bhattacharyya
neighbors follow the surface. See [Neighbors and the graph](../../guide/graph.md).
"""

import matplotlib.pyplot as plt

import trigpoint as tp

X, intrinsic = tp.datasets.make_swiss_roll(100_000, random_state=0)

figure, axes = plt.subplots(2, 2, figsize=(9, 7.6), layout="constrained")
for (from_above, embedded), metric in zip(axes, ("euclidean", "bhattacharyya"), strict=True):
    graph = tp.KNNGraph(100, metric=metric)
    emb = tp.LaplacianEigenmaps(landmarks=800, graph=graph, random_state=0).fit(X)
    true = intrinsic[emb.landmark_indices_]
    shortcuts = tp.metrics.shortcut_rate(emb.graph_, true, n_neighbors=100)
    tp.plot.graph(
        emb,
        on="points",
        plane=(0, 2),
        ax=from_above,
        title=f"{metric}: {shortcuts:.1%} of the edges are shortcuts",
    )
    tp.plot.embedding(emb, color=true[:, 0], ax=embedded, title="the landmarks, embedded")
