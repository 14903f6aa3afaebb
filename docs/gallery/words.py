"""A map of words.

Words that are used alike in the docstrings of NumPy and SciPy are close together. Each row counts
how often every other word occurs near a word, and `metric="cosine"` compares the directions of
rows, so that it does not matter how frequent a word is. [Texts and word
vectors](../../recipes/words.md) maps whole texts.
"""

import re
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer

import trigpoint as tp

subjects = ["linalg", "signal", "stats", "optimize", "special", "interpolate"]
modules = [np, np.linalg, *(import_module(f"scipy.{subject}") for subject in subjects)]
members = {member for module in modules for member in vars(module).values() if callable(member)}
texts = sorted({str(member.__doc__) for member in members})
windows = [
    " ".join(words[start : start + 10])
    for words in (re.findall("[a-z]{3,}", text.lower()) for text in texts)
    for start in range(0, len(words), 5)
]
counter = CountVectorizer(min_df=60, max_df=0.05, stop_words="english", binary=True)
counts = counter.fit_transform(windows)
words = counter.get_feature_names_out()

# Positive pointwise mutual information: how much more often two words meet than by chance.
together = sparse.coo_array(counts.T @ counts, dtype=float)
often = np.asarray(counts.sum(axis=0)).ravel()
ratio = together.data * len(windows) / (often[together.row] * often[together.col])
together.data = np.maximum(np.log(ratio), 0)
vectors = TruncatedSVD(50, random_state=0).fit_transform(together.tocsr())
Y = tp.LandmarkMap(metric="cosine").fit_transform(vectors)

figure, ax = plt.subplots(figsize=(9, 7), layout="constrained")
ax.scatter(*Y.T, s=5, color="0.8")
ax.set(title=f"{len(words):,} words", xticks=[], yticks=[])
# Label the most frequent words that do not overlap.
labeled = np.empty((0, 2))
for row in np.argsort(-often):
    if (np.abs(labeled - Y[row]) > np.ptp(Y, axis=0) * [0.07, 0.022]).any(axis=1).all():
        labeled = np.vstack([labeled, Y[row]])
        ax.annotate(words[row], Y[row], fontsize=8, ha="center", va="center")
