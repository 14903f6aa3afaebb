"""Directions, not lengths.

Six topics are six directions; every text also has a length of its own, as counts of words do. By
Euclidean distance short texts of all topics lie together; by `metric="cosine"` only the direction
counts. See [Directions, units and counts](../../guide/metric.md).
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
