"""Directions, not lengths.

Each of six topics is a direction, and texts differ in length, as word counts do. By Euclidean
distance, short texts of all topics lie together; with `metric="cosine"`, only directions matter.
See [Distances](../../guide/metric.md).
"""

import numpy as np

import trigpoint as tp

rng = np.random.default_rng(0)
topics = rng.normal(size=(6, 40))
topic = rng.integers(6, size=3000)
texts = topics[topic] + 1.5 * rng.normal(size=(3000, 40))
texts *= rng.lognormal(sigma=1.0, size=(3000, 1))

coordinates = {}
for metric in "euclidean", "cosine":
    emb = tp.LandmarkMap(landmarks=600, metric=metric, random_state=0)
    Y = emb.fit_transform(texts[:2500])
    right = tp.metrics.knn_accuracy(Y, topic[:2500], emb.transform(texts[2500:]), topic[2500:])
    coordinates[f"{metric}: {right:.0%} of new texts right"] = Y

axes = tp.plot.compare(coordinates, color=topic[:2500], categories=True, label="topic")
figure = axes[0].figure
