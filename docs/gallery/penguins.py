"""A table of numbers and categories.

Measurements of 344 penguins, with their sex and island, and with missing values. The species was
not embedded. With Euclidean distances between the measurements alone, the map follows the body
mass, whose numbers are the largest. `metric="table"` compares all columns in equal units, and every
species has its own groups, divided by sex and island. The notebook reads
{download}`penguins.csv <../../recipes/data/penguins.csv>` from its folder. See
[Tables](../../recipes/tables.md).
"""

import matplotlib.pyplot as plt
import numpy as np
from pyarrow import csv

import trigpoint as tp

missing = csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
table = csv.read_csv("penguins.csv", convert_options=missing)
species = np.array(table["species"])
measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, metric, columns in zip(
    axes, ("euclidean", "table"), (measured, ["island", "sex", *measured]), strict=True
):
    rows = tp.open_source(table, columns=columns, missing="median")
    Y = tp.LandmarkMap(metric=metric, random_state=0).fit_transform(rows)
    right = tp.metrics.knn_accuracy(Y[::2], species[::2], Y[1::2], species[1::2])
    title = f'metric="{metric}": species of {right:.0%} right'
    tp.plot.embedding(Y, color=species, ax=ax, legend=ax is axes[-1], title=title)
