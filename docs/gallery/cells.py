"""Cells under the microscope.

Breast biopsies by the shapes of their cell nuclei, benign and malignant. Each of 569 rows has 30
measurements, such as radius, texture and symmetry, with different units: `metric="seuclidean"`
gives each the same weight. The diagnosis was not used for the maps; the titles say for how many
biopsies it agrees with that of the nearest one in the map. For gene expression of single cells, see
[Single cells](../../recipes/cells.md).
"""

from sklearn.datasets import load_breast_cancer

import trigpoint as tp

data = load_breast_cancer()
coordinates = {}
for metric in "euclidean", "seuclidean":
    Y = tp.LandmarkMap(metric=metric).fit_transform(data.data)
    same = tp.metrics.knn_accuracy(Y[::2], data.target[::2], Y[1::2], data.target[1::2])
    coordinates[f"{metric}: {same:.0%} agree"] = Y

axes = tp.plot.compare(
    coordinates, color=data.target_names[data.target], categories=True, label="diagnosis"
)
figure = axes[0].figure
