"""Invalid arguments of plots: errors name the argument, and no partial plot remains."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import trigpoint as tp
from trigpoint import plot

P = np.arange(10.0).reshape(5, 2)
MASKED, RAGGED = np.ma.masked_less(np.eye(2), 1), [[1], [1, 2]]
MIXED = np.array([1, "a", 2, 3, 4], object)
DRAWN = tp.EfficientDPP(2, random_state=0).fit(P)
LINE = tp.Isomap(1, landmarks=50).fit(np.random.default_rng(0).normal(size=(100, 2)))


def points(coordinates=P, **options):
    return plot.embedding(coordinates, **options)


# Estimators with three coordinates and without a graph.
VALUES = [
    (lambda e, k: points(np.ones(5)), r"coordinates has shape \(5,\)"),
    (lambda e, k: points(np.full((5, 2), "up")), "coordinates has 'up' instead of a number"),
    (lambda e, k: points(np.eye(2) * 1j), "coordinates holds complex128"),
    (lambda e, k: points(MASKED), "coordinates has masked values"),
    (lambda e, k: points(RAGGED), "coordinates has rows of 1 and of 2 values"),
    (lambda e, k: points(np.ones((5, 1))), r"coordinates has shape \(5, 1\)"),
    (lambda e, k: points(np.ones((0, 2))), "coordinates has no points: pass at least one"),
    (lambda e, k: points(np.full((5, 2), np.nan)), "coordinates has NaN"),
    (lambda e, k: points(tp.Isomap()), "not fitted"),
    (lambda e, k: points(color=RAGGED), "color has rows of 1 and of 2 values"),
    (lambda e, k: points(cmap="pretty"), "cmap='pretty' is not known"),
    (lambda e, k: points(color=[1, 2]), r"color has shape \(2,\).* the 5 points"),
    (lambda e, k: points(color="red"), r"color has shape \(\)"),
    (lambda e, k: points(color=np.full(5, np.nan)), "no finite number"),
    (lambda e, k: points(np.eye(150), color=np.arange(150), categories=True), "150 classes.*merge"),
    (lambda e, k: points(plane=(0, 2)), r"plane=\(0, 2\).*from 0 to 1"),
    (lambda e, k: points(plane=(1, 1)), "two different"),
    (lambda e, k: points(plane=1), "not a pair of columns"),
    (lambda e, k: points(plane=(0, 1.0)), "not a pair of columns"),
    (lambda e, k: points(landmarks=[0, 5]), "rows from 0 to 5: choose rows from 0 to 4"),
    (lambda e, k: points(landmarks=np.ones((2, 1))), r"landmarks has shape \(2, 1\)"),
    (lambda e, k: points(landmarks=tp.Isomap()), "not fitted"),
    (lambda e, k: points(landmarks=np.zeros((4, 3))), "has 3 columns, and the embedd"),
    (lambda e, k: points(e, color=np.zeros(90)), "each of the 80 landmarks or for each fitted po"),
    (lambda e, k: plot.compare({}), "embeddings is empty"),
    (lambda e, k: plot.compare({"a": P, "b": P[:, 0]}), r"embeddings\['b'\] has shape \(5,\)"),
    (lambda e, k: plot.compare({"a": P, "b": P[1:]}, color=P[:, 0]), "has shape.*the 4 points"),
    (lambda e, k: plot.compare({"a": tp.Isomap()}), "not fitted"),
    (lambda e, k: plot.compare({"a": P}, ncols=0), "ncols=0"),
    (lambda e, k: plot.graph(tp.Isomap()), "not fitted"),
    (lambda e, k: plot.graph(e, on="plane"), "on='plane' is not known"),
    (lambda e, k: plot.graph(e, plane=(0, 3)), r"plane=\(0, 3\)"),
    (lambda e, k: plot.graph(LINE), r"landmark_embedding_ of estimator has shape \(50, 1\)"),
    (lambda e, k: plot.landmarks(tp.EfficientDPP()), "not fitted"),
    (lambda e, k: plot.landmarks(e, P), "X has 2 columns and the landmarks have 3"),
    (lambda e, k: plot.landmarks(e, np.ones(3)), r"X has shape \(3,\)"),
    (lambda e, k: plot.landmarks(e, plane=(0, 3)), r"plane=\(0, 3\)"),
]
TYPES = [
    (lambda e, k: points(ax=3), "ax=3 is not understood: pass Matplotlib Axes"),
    (lambda e, k: points(color=list("abcde"), categories=False), "not numbers.*categories=True"),
    (lambda e, k: points(color=MIXED, categories=False), "not numbers"),
    (lambda e, k: points(landmarks=[0.5, 1.5]), "landmarks of type list and length 2 .*row numbe"),
    (lambda e, k: points(landmarks=DRAWN), "has no landmark_embedding_"),
    (lambda e, k: plot.compare([P]), "embeddings is a list: pass a dict"),
    (lambda e, k: plot.graph(k), "has no graph_: pass a fitted LaplacianEigenmaps"),
    (lambda e, k: plot.graph(e.graph_), "is not understood: pass a fitted"),
    # The message does not print the whole array.
    (lambda e, k: plot.landmarks(P), r"^source of type ndarray and shape \(5, 2\) is not understo"),
    (lambda e, k: plot.landmarks(tp.EfficientDPP), "pass a fitted estimator or sampler"),
]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *((call, ValueError, message) for call, message in VALUES),
        *((call, TypeError, message) for call, message in TYPES),
    ],
)
def test_bad_arguments_are_named(call, error, message, eigenmaps, kernel_pca):
    with pytest.raises(error, match=message):
        call(eigenmaps, kernel_pca)
    assert not plt.get_fignums()
