"""Distances of any kind, by reference rows: neighbors, new rows, files, and bad input."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph
from tests.spaces.cases import each_estimator, groups

import trigpoint as tp
from trigpoint._neighbors.refined import refined_neighbors
from trigpoint._spaces import space_for

pytestmark = [
    pytest.mark.filterwarnings("ignore:the landmark graph has . connected components"),
    pytest.mark.filterwarnings("ignore:.* points are more than ten bandwidths"),
]


def fingerprints(rng, n=600, d=301):
    """Rows of zeros and ones along a loop, whose ones are near their position; some are wrong."""
    along, around = rng.random((n, 1)), rng.random(d)
    rows = np.abs((along - around + 0.5) % 1 - 0.5) < 0.08
    return (rows ^ (rng.random((n, d)) < 0.01)).astype(np.float64)


def gaps(a, b):
    return float(np.abs(a - b).sum())


def block_gaps(rows, others):
    return cdist(np.stack(list(rows)), np.stack(list(others)), "cityblock")


block_gaps.takes_blocks = True


def preserved(distances, Y, count=10):
    """Share of the nearest neighbors that are among the nearest in Y, ties included."""
    distances = distances + np.diag(np.full(len(distances), np.inf))
    limits = np.sort(distances, axis=1)[:, count - 1 : count]
    near = np.argsort(cdist(Y, Y) + np.diag(np.full(len(Y), np.inf)), axis=1)[:, :count]
    return (np.take_along_axis(distances, near, axis=1) <= limits + 1e-12).mean()


def test_distances_that_are_euclidean_are_recovered(rng):
    """Whether they are given as a matrix, to references, or by a function."""
    X = rng.normal(size=(300, 4))
    D = cdist(X, X)
    for metric, rows in (("precomputed", D), (lambda a, b: np.sqrt(((a - b) ** 2).sum()), X)):
        emb = tp.KernelPCA(landmarks=50, metric=metric, random_state=0).fit(rows)
        Y = emb.model_.space(rows if metric != "precomputed" else D[:, emb.model_.columns.chosen])
        assert Y.shape == (300, 4)
        np.testing.assert_allclose(cdist(Y, Y), D, atol=1e-6)
        assert emb.model_.space.preserved == 1.0
        assert emb.model_.space.exponent == 2.0


@pytest.mark.parametrize("metric", ["manhattan", "jaccard", "tanimoto", gaps, block_gaps])
def test_neighbors_are_preserved(metric, rng):
    X, kind = groups(rng)[0], "cityblock"
    if metric in ("jaccard", "tanimoto"):
        X, kind = fingerprints(rng), "jaccard"
    space = space_for(metric).fit(X)
    D = cdist(X, X, kind) if kind == "cityblock" else cdist(X > 0, X > 0, kind)
    share = preserved(D, space(X))
    assert share > (0.9 if kind == "cityblock" else 0.6)
    # What the space reports was measured on other rows.
    assert space.preserved == pytest.approx(share, abs=0.12)
    assert space.width(X.shape[1]) == space(X).shape[1] <= 128


@pytest.mark.parametrize("metric", ["manhattan", "jaccard", gaps])
@each_estimator
def test_every_estimator_and_storage(metric, estimator, rng, tmp_path):
    X = (fingerprints(rng) if metric == "jaccard" else groups(rng)[0])[:300]
    emb = clone(estimator).set_params(metric=metric).fit(X[:250])
    expected = emb.transform(X[240:])
    np.testing.assert_array_equal(
        np.concatenate([emb.transform(X[start : start + 7]) for start in range(240, 300, 7)]),
        expected,
    )
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig", metric=metric if callable(metric) else None)
    np.testing.assert_array_equal(again.transform(X[240:]), expected)
    assert again.model_.space.preserved == emb.model_.space.preserved < 1.0 or metric is gaps
    np.save(tmp_path / "X.npy", X)
    refitted = clone(estimator).set_params(metric=metric).fit(X)
    from_file = clone(estimator).set_params(metric=metric).fit(tmp_path / "X.npy")
    np.testing.assert_array_equal(from_file.landmarks_, refitted.landmarks_)
    np.testing.assert_array_equal(from_file.transform(X), refitted.transform(X))
    dask = pytest.importorskip("dask.array")
    found = again.transform(dask.from_array(X[240:], chunks=(25, 3)))
    np.testing.assert_array_equal(np.asarray(found), expected)
    quality = emb.quality(X)
    assert quality.metric_kept == emb.model_.space.preserved
    assert ("of the neighbors by the metric" in quality.verdict) == (quality.metric_kept < 0.8)
    if not callable(metric):
        assert pickle.loads(pickle.dumps(emb)).transform(X).shape == (300, 2)


# Bits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["jaccard", "hamming"])
def test_packed_bits_are_those_of_the_columns(metric, rng, tmp_path):
    X = fingerprints(rng)
    packed = np.packbits(X.astype(bool), axis=1)
    np.save(tmp_path / "bits.npy", packed)
    opened = tp.open_source(packed, bits=X.shape[1])
    assert opened.shape == X.shape
    assert opened.take(None).nbytes == packed.nbytes
    plain = tp.KernelPCA(landmarks=60, metric=metric, random_state=0).fit(X)
    emb = clone(plain).fit(opened)
    np.testing.assert_array_equal(emb.landmark_indices_, plain.landmark_indices_)
    np.testing.assert_allclose(emb.transform(opened), plain.transform(X), atol=1e-5)
    if metric == "jaccard":
        np.testing.assert_array_equal(emb.transform(opened), plain.transform(X))
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    from_file = tp.open_source(tmp_path / "bits.npy", bits=X.shape[1])
    np.testing.assert_array_equal(again.transform(from_file), emb.transform(opened))
    with pytest.raises(tp.ParameterError, match="X holds numbers, and the model was fitted on bit"):
        again.transform(X)
    assert emb.quality(opened).n_points == len(X)
    assert tp.select(opened, 5, metric=metric).points.shape == (5, packed.shape[1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "hellinger"])
def test_bytes_are_mapped_in_blocks(metric, rng, tmp_path, monkeypatch):
    """With the bits of the same numbers in float64, of which there are never many in memory."""
    X = np.clip(rng.poisson(np.exp(groups(rng, 1700)[0] @ rng.normal(size=(6, 200)) / 4)), 0, 99)
    X[:, 0] += 1
    X = np.concatenate([X, X[:100]]).astype(np.uint8)
    emb = tp.LandmarkMap(metric=metric, n_iter=50)
    expected = emb.fit_transform(X.astype(np.float64))
    np.testing.assert_array_equal(emb.fit_transform(X), expected)
    np.save(tmp_path / "X.npy", X)
    np.testing.assert_array_equal(clone(emb).fit_transform(tmp_path / "X.npy"), expected)
    np.testing.assert_array_equal(emb.transform(X[:50]), expected[:50])

    def refuse(*arguments):
        raise AssertionError

    monkeypatch.setattr("trigpoint._sources.array.ArraySource.take", refuse)
    clone(emb).fit(X)


def test_bits_that_are_no_bits(rng):
    X = fingerprints(rng)
    packed = np.packbits(X.astype(bool), axis=1)
    with pytest.raises(tp.ParameterError, match="bits=100 needs 13 columns of type uint8"):
        tp.open_source(packed, bits=100)
    with pytest.raises(tp.ParameterError, match="holds int64: packed bits have the type uint8"):
        tp.KernelPCA(metric="jaccard").fit(tp.open_source(packed.astype(int), bits=301))
    with pytest.raises(tp.ParameterError, match="metric='cosine' does not take bits: choose"):
        tp.KernelPCA(metric="cosine").fit(tp.open_source(packed, bits=301))
    with pytest.raises(tp.ParameterError, match=r"X has \d+ in row \d+, .* takes zeros and ones"):
        tp.KernelPCA(metric="jaccard").fit(packed)


def test_sparse_bits(rng):
    X = fingerprints(rng)
    emb = tp.KernelPCA(landmarks=60, metric="jaccard", random_state=0).fit(X)
    sparse = clone(emb).fit(csr_array(X))
    np.testing.assert_array_equal(sparse.landmark_indices_, emb.landmark_indices_)
    np.testing.assert_array_equal(sparse.transform(csr_array(X)), emb.transform(X))


@pytest.mark.parametrize("metric", ["jaccard", "manhattan"])
def test_neighbors_of_all_rows_are_compared_exactly(metric, rng):
    """Neighbors of neighbors find nearly all that Euclidean rows miss."""
    X = fingerprints(rng, n=2000)
    # Repeated rows are one landmark.
    X = np.concatenate([X, X[:50]])
    space = space_for(metric).fit(X)
    D = cdist(X, X, "cityblock") if metric == "manhattan" else cdist(X > 0, X > 0, "jaccard")
    mapped = space(X)
    candidates = np.argsort(cdist(mapped, mapped), axis=1)[:, 1:41]
    before = np.sort(np.take_along_axis(D, candidates, axis=1), axis=1)[:, :20]
    rows, distances = refined_neighbors(candidates, 20, space.exact(X), 2)
    np.testing.assert_allclose(np.take_along_axis(D, rows, axis=1), distances, rtol=1e-12)
    assert (rows != np.arange(len(X))[:, None]).all()
    best = np.sort(D + np.diag(np.full(len(X), np.inf)), axis=1)[:, :20]
    missed = (np.sort(distances, axis=1) > best + 1e-12).mean()
    assert missed < 0.1 * (before > best + 1e-12).mean() + 0.001
    one, two = (refined_neighbors(candidates, 20, space.exact(X), threads) for threads in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    # The map follows them.
    exact = tp.LandmarkMap(metric=metric).fit_transform(X)
    plain = tp.LandmarkMap().fit_transform(mapped)
    assert preserved(D, exact) > preserved(D, plain) + 0.02


# Given distances ------------------------------------------------------------------------------


@each_estimator
@pytest.mark.parametrize("kind", ["full", "references"])
def test_precomputed(estimator, kind, rng, tmp_path):
    X, _ = groups(rng, 500)
    D = cdist(X, X, "cityblock")
    columns = np.arange(400) if kind == "full" else np.sort(rng.permutation(400)[:90])
    fitted, new = D[:400, columns], D[380:, columns]
    emb = clone(estimator).set_params(metric="precomputed").fit(fitted)
    expected = emb.transform(new)
    np.testing.assert_array_equal(expected[:20], emb.transform(fitted)[380:])
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(again.transform(new), expected)
    assert again.n_features_in_ == len(columns)
    np.save(tmp_path / "D.npy", fitted)
    from_file = clone(emb).fit(tmp_path / "D.npy")
    np.testing.assert_array_equal(from_file.transform(tmp_path / "D.npy"), emb.transform(fitted))
    assert emb.quality(fitted).n_points == 400
    assert len(tp.select(fitted, 9, metric="precomputed").indices) == 9


def test_only_the_columns_of_references_are_read(rng, monkeypatch):
    X, _ = groups(rng, 3000)
    D = cdist(X, X)
    emb = tp.KernelPCA(metric="precomputed", landmarks=30, random_state=0).fit(D)
    chosen = list(emb.model_.columns.chosen)
    assert len(chosen) <= 512
    other = np.full_like(D, np.nan)
    other[:, chosen] = D[:, chosen]
    np.testing.assert_array_equal(emb.transform(other), emb.transform(D))


def test_matrices_that_are_no_distances(rng):
    X, _ = groups(rng, 60)
    D = cdist(X, X)
    emb = tp.KernelPCA(landmarks=20, metric="precomputed", random_state=0)

    def changed(*place, value):
        other = D.copy()
        other[place] = value
        return other

    for matrix, message in (
        (changed(3, 5, value=9.5), r"the distance 9.5 from row 3 to row 5 and .* back: pass symm"),
        (changed(3, 5, value=-1), "a negative distance between rows 3 and 5"),
        (changed(4, 4, value=2), "the distance 2 of row 4 from itself"),
        (changed(3, 5, value=np.nan), "contains NaN in row 3, column 5:"),
        (D[:, :40] + 1, r"shape \(60, 40\) and no 0 in column 0: metric='precomputed' takes all"),
    ):
        with pytest.raises(tp.ParameterError, match=message):
            emb.fit(matrix)
    near = kneighbors_graph(X, 6, mode="distance")
    with pytest.raises(tp.ParameterError, match=r"sparse.*\.shortest_path\(X, directed=False\)"):
        emb.fit(near)
    along = shortest_path(near, directed=False)
    emb.fit(np.minimum(along, 100.0))
    emb.fit(D)
    with pytest.raises(tp.ParameterError, match="the negative distance -1 in row 3"):
        emb.transform(changed(3, 5, value=-1))
    with pytest.raises(ValueError, match="features"):
        emb.transform(D[:, :50])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_passed_as_points_are_recognized(metric, rng):
    X, _ = groups(rng, 200)
    with pytest.raises(tp.ParameterError, match="between its rows: set metric='precomputed'"):
        tp.LaplacianEigenmaps(metric=metric).fit(cdist(X, X))
    with pytest.raises(tp.ParameterError, match="set metric='precomputed'"):
        tp.select(cdist(X, X), 5, metric=metric)
    tp.KernelPCA(landmarks=20, metric=metric).fit(rng.normal(size=(30, 30)))
    tp.KernelPCA(landmarks=20, metric=metric).fit(np.corrcoef(X[:30]))
