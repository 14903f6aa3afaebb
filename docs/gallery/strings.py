"""Strings under edit distance.

The names of ten countries in the languages that are written in Latin letters, as included with
Babel. `metric` is a function of two strings, the least number of letters to insert, delete or
replace. Names of the same country come together, although no two languages spell them alike, and
new names are placed among the others. See [A function](../../guide/metric.md#a-function).
"""

import matplotlib.pyplot as plt
import numpy as np
from babel import Locale, localedata

import trigpoint as tp

COUNTRIES = ["BR", "CH", "CN", "DE", "EG", "FI", "FR", "GR", "IN", "JP"]


def edits(a, b):
    """Return the edit distance of two strings."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (letter != other))
    return row[-1]


names = set()
for language in localedata.locale_identifiers():
    if "_" not in language:
        territories = Locale(language).territories
        names |= {(territories[c], c) for c in COUNTRIES if c in territories}
names = sorted(pair for pair in names if pair[0].isascii())
texts, countries = (list(column) for column in zip(*names, strict=True))
country = np.array([COUNTRIES.index(c) for c in countries])

known = np.arange(len(texts)) % 3 > 0
emb = tp.LandmarkMap(metric=edits).fit([text for text, k in zip(texts, known, strict=True) if k])
Y = emb.transform(texts)
right = tp.metrics.knn_accuracy(Y[known], country[known], Y[~known], country[~known])

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
labels = np.array([Locale("en").territories[c] for c in countries])
tp.plot.embedding(Y, color=labels, ax=axes)
axes.set_title(f"{len(texts)} names; country of {right:.0%} of new names right")
