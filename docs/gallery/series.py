"""Series under dynamic time warping.

Handwritten digits read from left to right, as series of columns of eight pixels. Empty margins are
cut off, so the series differ in length. Dynamic time warping aligns two series before it compares
them. `metric` is that function, compiled with Numba; it takes microseconds, and a map needs no more
than 128 evaluations per series. See [A function](../../guide/metric.md#a-function).
"""

import numpy as np
from numba import njit
from sklearn.datasets import load_digits

import trigpoint as tp


@njit
def warping(a, b):
    """Return the cost of the best alignment of two series."""
    costs = np.full((len(a) + 1, len(b) + 1), np.inf)
    costs[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            gap = np.abs(a[i] - b[j]).sum()
            costs[i + 1, j + 1] = gap + min(costs[i, j], costs[i, j + 1], costs[i + 1, j])
    return costs[-1, -1]


images, digit = load_digits(return_X_y=True)
series = []
for image in images.reshape(-1, 8, 8):
    columns = np.flatnonzero(image.any(axis=0))
    series.append(np.ascontiguousarray(image.T[columns[0] : columns[-1] + 1]))

known = 1200
emb = tp.LandmarkMap(metric=warping).fit(series[:known])
Y = emb.transform(series)
right = tp.metrics.knn_accuracy(Y[:known], digit[:known], Y[known:], digit[known:])

lengths = sorted({len(one) for one in series})
title = f"{lengths[0]} to {lengths[-1]} columns: {right:.0%} of new digits right"
axes = tp.plot.compare({title: Y}, color=digit, categories=True, label="digit")
figure = axes[0].figure
