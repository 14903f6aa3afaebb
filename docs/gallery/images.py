"""Images on a map.

Handwritten digits of 8 x 8 pixels, drawn at their positions in the map. Digits that look alike are
close together: look for sevens with and without a bar. A [report](report.md) shows such images
for any number of points while you zoom.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits

import trigpoint as tp

X, y = load_digits(return_X_y=True)

Y = tp.LandmarkMap().fit_transform(X)

figure, ax = plt.subplots(figsize=(9, 7), layout="constrained")
ax.scatter(*Y.T, s=60, c=y, cmap="tab10", alpha=0.25, linewidths=0)
ax.set(xticks=[], yticks=[])
drawn = np.empty((0, 2))
for image, position in zip(X.reshape(-1, 8, 8), Y, strict=True):
    if (np.abs(drawn - position) > np.ptp(Y, axis=0) / [50, 40]).any(axis=1).all():
        drawn = np.vstack([drawn, position])
        thumbnail = OffsetImage(image, zoom=1.6, cmap="gray_r")
        ax.add_artist(AnnotationBbox(thumbnail, position, frameon=False))
