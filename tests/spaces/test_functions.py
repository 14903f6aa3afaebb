"""Metrics that are functions of two rows, texts or other objects."""

import logging
import re
import threading

import numpy as np
import pytest
from sklearn.base import clone
from tests.spaces.cases import each_estimator, groups

import trigpoint as tp

pytestmark = [
    pytest.mark.filterwarnings("ignore:the landmark graph has . connected components"),
    pytest.mark.filterwarnings("ignore:.* points are more than ten bandwidths"),
]


def words(rng, n=150):
    """Misspelled names, and the number of each name."""
    names = ["landmark", "triangulation", "eigenvector", "geodesic"]
    group = rng.integers(len(names), size=n)
    found = []
    for number in group:
        letters = list(names[number])
        for _ in range(2):
            letters[rng.integers(len(letters))] = "abcdefgh"[rng.integers(8)]
        found.append("".join(letters))
    return found, group


def edits(a, b):
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (letter != other))
    return row[-1]


@each_estimator
def test_texts(estimator, rng, tmp_path):
    texts, _ = words(rng)
    emb = clone(estimator).set_params(metric=edits, landmarks=40)
    emb.fit(texts[:100])
    Y = emb.transform(texts)
    assert Y.shape == (150, 2)
    np.testing.assert_array_equal(emb.transform(np.array(texts)), Y)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig", metric=edits)
    np.testing.assert_array_equal(again.transform(texts), Y)
    assert emb.quality(texts[:100]).n_points == 100
    with pytest.raises(tp.ParameterError, match="metric of your own, 'edits', which is not"):
        tp.load(tmp_path / "model.trig")
    assert len(tp.select(texts, 4, metric=edits, random_state=0).points) == 4


def test_series_of_different_lengths(rng, tmp_path):
    """The distance is that of the nearest value of the other series, both ways."""
    series = [
        np.sin(np.linspace(0, 3 + 4 * (i % 2), rng.integers(20, 40))) + 0.05 * rng.normal()
        for i in range(120)
    ]

    def nearest_values(a, b):
        apart = np.abs(a[:, None] - b)
        return apart.min(axis=0).mean() + apart.min(axis=1).mean()

    emb = tp.LandmarkMap(metric=nearest_values).fit(series)
    Y = emb.transform(series)
    kind = np.arange(120) % 2
    assert tp.metrics.knn_accuracy(Y[::3], kind[::3], Y[1::3], kind[1::3]) == 1.0
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig", metric=nearest_values)
    np.testing.assert_array_equal(again.transform(series), Y)
    report = emb.report(X=series, color=kind)
    assert "120" in report.html


def test_evaluations_are_counted_estimated_and_interrupted(rng, caplog):
    X, _ = groups(rng, 300)
    calls, seen, threads = [], [], set()

    def counted(a, b):
        calls.append(1)
        threads.add(threading.get_ident())
        return np.abs(a - b).sum()

    def watch(stage, done, total):
        if stage == "distances":
            seen.append((done, total))

    emb = tp.KernelPCA(landmarks=40, metric=counted, random_state=0, verbose=watch)
    with caplog.at_level(logging.INFO, logger="trigpoint"):
        emb.fit(X)
    m = len(emb.model_.space.references)
    assert m <= 128
    assert len(calls) == seen[-1][1] == seen[-1][0]
    assert len(calls) <= m**2 + 64**2 + 300 * m + 75 * 300
    assert any("metric=counted: up to" in record.message for record in caplog.records)
    calls.clear()
    emb.transform(X[:50])
    assert len(calls) == 50 * m
    assert threads == {threading.get_ident()}

    class StopError(Exception):
        pass

    def stop(stage, done, total):
        if stage == "distances" and done > 1000:
            raise StopError

    calls.clear()
    with pytest.raises(StopError):
        clone(emb).set_params(verbose=stop).fit(X)
    assert len(calls) < 1500


class Thing:
    """An object that cannot be stored."""

    def __init__(self, value):
        self.value = value


def test_objects_that_cannot_be_stored(rng, tmp_path):
    things = [Thing(value) for value in rng.normal(size=80)]

    def apart(a, b):
        return abs(a.value - b.value)

    emb = tp.KernelPCA(1, landmarks=20, metric=apart, random_state=0).fit(things)
    assert abs(np.corrcoef(emb.transform(things)[:, 0], [t.value for t in things])[0, 1]) > 0.9
    with pytest.raises(TypeError, match=r"references of type Thing, .* only texts and arrays"):
        emb.save(tmp_path / "model.trig")
    assert not list(tmp_path.iterdir())


WRONG = {
    "returned NaN for row": lambda a, b: np.nan if a[0] > 1 else np.abs(a - b).sum(),
    "returned -": lambda a, b: float(a @ b) - 100,
    "of row [0-9]+ from itself": lambda a, b: 1.0 + np.abs(a - b).sum(),
    "back: pass symmetric": lambda a, b: max(0.0, float((a - b).sum())),
}


@pytest.mark.parametrize("message", WRONG)
def test_functions_that_are_no_distances(message, rng):
    X, _ = groups(rng, 200)
    with pytest.raises(tp.ParameterError, match=message) as caught:
        tp.KernelPCA(landmarks=20, metric=WRONG[message]).fit(X)
    assert caught.value.parameter == "metric"


def test_objects_need_a_function(rng):
    texts, _ = words(rng)
    with pytest.raises((TypeError, ValueError), match="instead of a number in row 0"):
        tp.KernelPCA(landmarks=20, metric="jaccard").fit(texts)

    def flat(rows, others):
        return np.zeros(len(rows))

    flat.takes_blocks = True
    with pytest.raises(tp.ParameterError, match=r"metric=flat returned an array of shape \(64,\)"):
        tp.KernelPCA(landmarks=20, metric=flat).fit(texts)


def test_rows_of_a_pool_have_their_numbers_in_the_data(rng, monkeypatch):
    monkeypatch.setattr("trigpoint._spaces.functions.FunctionSpace.most_pooled", 50)
    X, _ = groups(rng, 4000)
    X[:, 0] = np.arange(4000)

    def backward(a, b):
        evaluated.update((a[0], b[0]))
        return float(a[0] > b[0])

    evaluated = set()
    with pytest.raises(tp.ParameterError, match="back: pass symmetric distances") as caught:
        tp.KernelPCA(landmarks=20, metric=backward, random_state=0).fit(X)
    named = re.findall(r"row (\d+)", str(caught.value))
    assert len(named) == 2
    assert set(map(float, named)) <= evaluated
