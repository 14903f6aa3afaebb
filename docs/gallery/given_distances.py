"""Only distances.

How far two languages are apart, by compression: the vocabulary of one language helps to compress
that of a related one. There are no coordinates, only a matrix of distances, which
`metric="precomputed"` takes. The map shows families of languages, which the compressor does not
know. See [Given distances](../../guide/metric.md#given-distances).
"""

import zlib

import matplotlib.pyplot as plt
import numpy as np
from babel import Locale

import trigpoint as tp

FAMILIES = {
    "Germanic": "af da de en fo fy is lb nb nl nn sv",
    "Romance": "ca es fr fur gl it pt rm ro sc",
    "Slavic": "bs cs dsb hr hsb pl sk sl sr_Latn",
    "Celtic": "br cy ga gd",
    "Turkic": "az tk tr uz",
    "Bantu": "ln lg rw sn sw xh zu",
    "Uralic": "et fi hu se smn",
}


def vocabulary(code):
    """Return names of countries and languages in a language."""
    locale = Locale.parse(code)
    words = [*locale.territories.values(), *locale.languages.values()]
    return " ".join(words[:400]).lower().encode()


def size(text):
    """Return the number of bytes of a compressed text."""
    return len(zlib.compress(text, 9))


codes = [code for family in FAMILIES.values() for code in family.split()]
family = np.repeat(list(FAMILIES), [len(family.split()) for family in FAMILIES.values()])
texts = [vocabulary(code) for code in codes]
n = len(texts)
D = np.zeros((n, n))
for i in range(n):
    for j in range(i):
        both = (size(texts[i] + texts[j]) + size(texts[j] + texts[i])) / 2
        one, other = sorted((size(texts[i]), size(texts[j])))
        D[i, j] = D[j, i] = (both - one) / other

Y = tp.LandmarkMap(n_neighbors=5, metric="precomputed").fit_transform(D)
gaps = np.linalg.norm(Y[:, None] - Y, axis=2) + np.diag(np.full(n, np.inf))
right = (family[gaps.argmin(axis=1)] == family).mean()

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
tp.plot.embedding(Y, color=family, ax=axes)
for code, place in zip(codes, Y, strict=True):
    axes.annotate(code.partition("_")[0], place, fontsize=7)
axes.set_title(f"nearest language of the same family: {right:.0%}")
