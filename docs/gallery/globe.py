"""Places on the globe.

The cities of all time zones, colored by continent. `metric="haversine"` takes latitudes and
longitudes in degrees and compares great-circle distances. Euclidean distances between degrees put
the two shores of the Pacific at opposite ends, and stretch the polar regions. See
[Places](../../guide/metric.md#places).
"""

from importlib.resources import files

import numpy as np

import trigpoint as tp


def degrees(text):
    """Convert ISO 6709, as in +DDMM or +DDDMMSS."""
    sign, digits = text[0], text[1:]
    whole = len(digits) % 2 + 2
    parts = [digits[:whole], *(digits[j : j + 2] for j in range(whole, len(digits), 2))]
    return float(sign + "1") * sum(float(part) / 60**j for j, part in enumerate(parts))


places, continents = [], []
for line in files("tzdata.zoneinfo").joinpath("zone.tab").read_text().splitlines():
    if not line.startswith("#"):
        _, position, zone, *_ = line.split("\t")
        middle = max(position.rfind("+"), position.rfind("-"))
        places.append([degrees(position[:middle]), degrees(position[middle:])])
        continents.append(zone.partition("/")[0])
places, continents = np.array(places), np.array(continents)

coordinates, on_the_globe = {}, None
for metric in "haversine", "euclidean":
    emb = tp.LandmarkMap(metric=metric)
    Y = emb.fit_transform(places)
    if on_the_globe is None:
        # All places, as unit vectors.
        on_the_globe = emb.landmarks_
    right = tp.metrics.knn_accuracy(Y[::2], continents[::2], Y[1::2], continents[1::2])
    kept = tp.metrics.map_scores(on_the_globe, Y).neighbors_preserved
    coordinates[f"{metric}: {kept:.0%} of neighbors kept,\ncontinent of {right:.0%} right"] = Y

axes = tp.plot.compare(coordinates, color=continents, label="continent")
figure = axes[0].figure
