"""Points in Dask partitions: the same landmarks to the bit, lazy coordinates, good manners."""

import copy
import pickle
import warnings

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import trigpoint as tp
from trigpoint._points.dask.cluster import ClusterError
from trigpoint._points.dask.collections import Partitions, UnknownChunksWarning
from trigpoint._points.dask.reading import _placed

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 4000
CHUNKS = {
    "one": (N,),
    "even": (1000,) * 4,
    "ragged": (1, 1499, 0, 2437, 63),
    # Many more than are computed ahead.
    "small": (3, *(137,) * 29, 24),
}


@pytest.fixture(scope="module")
def client():
    """Two workers in this process, the first with more threads than the second."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=False,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def points():
    return tp.datasets.make_swiss_roll(N, random_state=0)[0]


def parted(X, chunks="even"):
    return da.from_array(X, chunks=(CHUNKS[chunks], X.shape[1]))


@pytest.fixture(scope="module")
def fitted(points, client):
    return tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(parted(points))


# Partitions that were read; the workers are in this process.
READS = []


def read(X, start, stop):
    READS.append(start)
    return X[start:stop]


def read_frame(bounds, X):
    return pd.DataFrame(read(X, *bounds), columns=list("xyz"))


class CountedReads:
    """Partitions that count how often they are read."""

    def __init__(self, X, chunks="even"):
        self.X, self._before = X, len(READS)
        ends = np.cumsum(CHUNKS[chunks])
        self.bounds = list(zip(ends - CHUNKS[chunks], ends, strict=True))

    @property
    def n_reads(self):
        return len(READS) - self._before

    def array(self):
        parts = [
            da.from_delayed(
                dask.delayed(read, pure=False)(self.X, start, stop),
                (stop - start, self.X.shape[1]),
                meta=self.X[:0],
            )
            for start, stop in self.bounds
        ]
        return da.concatenate(parts)

    def frame(self):
        columns = list("xyz")
        return dd.from_map(
            read_frame,
            self.bounds,
            X=self.X,
            meta=pd.DataFrame(self.X[:0], columns=columns),
        )


ESTIMATORS = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps(landmarks=150, random_state=0),
    "DiffusionMaps, all landmarks": tp.DiffusionMaps(
        3, landmarks=60, extension="all", random_state=1
    ),
    "Isomap of uniform landmarks": tp.Isomap(landmarks=tp.Uniform(80), random_state=2),
    "KernelPCA of pivots": tp.KernelPCA(landmarks=tp.RPCholesky(40), random_state=3),
    "LandmarkMap": tp.LandmarkMap(landmarks=200, n_iter=30, random_state=4),
    "cosine": tp.LaplacianEigenmaps(landmarks=100, metric="cosine", random_state=5),
    "given rows": tp.LaplacianEigenmaps(landmarks=np.arange(0, N, 29), n_neighbors=10),
    "seeding": tp.LaplacianEigenmaps(
        landmarks=tp.KMeansPlusPlus(20), n_neighbors=10, random_state=7
    ),
    "auto": tp.LaplacianEigenmaps(
        landmarks=tp.EfficientDPP("auto", tolerance=0.3), n_neighbors=10, random_state=6
    ),
    "float32": tp.LaplacianEigenmaps(landmarks=150, n_neighbors=10, random_state=0),
}


SLOW = "auto", "LandmarkMap", "DiffusionMaps, all landmarks", "seeding"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in ESTIMATORS],
)
def test_any_chunks_give_the_landmarks_of_numpy_and_one_embedding(name, points, client):
    dtype = np.float32 if name == "float32" else np.float64
    X = points.astype(dtype)
    here = clone(ESTIMATORS[name])
    expected = here.fit_transform(X)
    found = {}
    for chunks in CHUNKS if name == "LaplacianEigenmaps" else ("one", "ragged"):
        there = clone(ESTIMATORS[name])
        lazy = there.fit_transform(parted(X, chunks))
        assert lazy.chunks[0] == CHUNKS[chunks]
        found[chunks] = lazy.compute()
        np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
        np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
        assert type(there.landmark_embedding_) is np.ndarray
        assert there.landmark_embedding_.dtype == found[chunks].dtype == dtype
    for coordinates in found.values():
        np.testing.assert_array_equal(coordinates, found["one"])
    precision = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found["one"], expected, rtol=0, atol=precision * expected.std())


@pytest.mark.parametrize("covariance", ["full", "diag", "low-rank"])
def test_high_dimension_takes_products(covariance, rng, client):
    X = rng.normal(size=(N, 20)).astype(np.float32)
    sampler = tp.EfficientDPP(50, covariance=covariance, random_state=0)
    here = clone(sampler).fit(X)
    found = [clone(sampler).fit(parted(X, chunks)) for chunks in ("even", "ragged")]
    for there in found:
        np.testing.assert_array_equal(there.indices_, here.indices_)
        np.testing.assert_array_equal(there.radii_, here.radii_)
    if covariance != "low-rank":
        left, right = (there.covariances_ for there in found)
        np.testing.assert_array_equal(left, right)
        np.testing.assert_allclose(left, here.covariances_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("d", [3, 40])
def test_landmarks_are_refined_over_a_sample(d, rng, client, monkeypatch):
    from trigpoint._landmarks.refinement import search

    monkeypatch.setattr(search, "_NUMBERS_CHEAP", 0)
    X = rng.normal(size=(N, d)).astype(np.float32)
    sampler = tp.EfficientDPP(20, refine=True, random_state=0)
    here, there = clone(sampler).fit(X), clone(sampler).fit(parted(X, "ragged"))
    plain = clone(sampler).set_params(refine=False).fit(parted(X, "even"))
    np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
    np.testing.assert_array_equal(there.indices_, here.indices_)
    np.testing.assert_array_equal(there.radii_, here.radii_)
    assert there.refinement_.errors == here.refinement_.errors
    # A question for the candidates of each sweep, and a few more.
    n_sweeps = len(there.refinement_.errors) - 1
    rounds = there.traffic_["take"]["rounds"] - plain.traffic_["take"]["rounds"]
    assert n_sweeps <= rounds <= n_sweeps + 6
    with pytest.raises(TypeError, match=r"Dask collection.*a sample"):
        tp.Refinement().refine(parted(X), here.indices_)


def test_proposals_from_all_weights(points, client, monkeypatch):
    """Repulsion so strong that the weights of all points are asked for, many times."""
    from trigpoint._landmarks import drawing

    monkeypatch.setattr(drawing, "_PATIENCE", 50)
    sampler = tp.EfficientDPP(60, n_neighbors=1500, bandwidth=12.0, random_state=0)
    here = clone(sampler).fit(points)
    there = clone(sampler).fit(parted(points, "ragged"))
    np.testing.assert_array_equal(there.indices_, here.indices_)
    assert there.n_proposals_ == here.n_proposals_
    assert there.traffic_["weigh"]["rounds"] > 10


def test_a_frame_has_names_and_is_read_once_for_a_fit(points, client):
    reads = CountedReads(points, "ragged")
    frame = reads.frame()
    there = tp.LaplacianEigenmaps(landmarks=50, n_neighbors=10, random_state=0)
    lazy = there.fit_transform(frame)
    # Rows are counted as they are read; nothing else has been computed.
    assert reads.n_reads == len(reads.bounds)
    assert lazy.chunks == (CHUNKS["ragged"], (2,))
    assert there.feature_names_in_.tolist() == ["x", "y", "z"]
    expected = clone(there).fit_transform(pd.DataFrame(points, columns=list("xyz")))
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)


def test_unknown_sizes_of_other_points_are_counted_with_a_warning(points, fitted):
    reads = CountedReads(points, "ragged")
    with pytest.warns(UnknownChunksWarning, match=r"counted now.*compute_chunk_sizes"):
        lazy = fitted.transform(reads.frame())
    assert reads.n_reads == len(reads.bounds)
    assert lazy.shape == (N, 2)


def test_nothing_runs_before_it_is_computed(points, fitted):
    reads = CountedReads(points)
    lazy = fitted.transform(reads.array())
    assert reads.n_reads == 0
    assert isinstance(lazy, da.Array)
    assert (lazy.shape, lazy.dtype) == ((N, 2), np.float64)
    assert isinstance(lazy._meta, np.ndarray)
    assert lazy[:5].compute().shape == (5, 2)
    # Only the partition that was asked for.
    assert reads.n_reads == 1


def test_the_lazy_result_needs_no_cluster(points, fitted):
    lazy = fitted.transform(parted(points, "ragged"))
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_allclose(lazy.compute(), fitted.transform(points), atol=1e-12)


def test_integers_become_float64(rng, client):
    X = rng.integers(0, 50, size=(500, 3))
    there = tp.LaplacianEigenmaps(landmarks=40, n_neighbors=10, random_state=0)
    lazy = there.fit_transform(da.from_array(X, chunks=(200, 3)))
    expected = clone(there).fit_transform(X)
    assert lazy.dtype == np.float64
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)


def test_few_distinct_points_are_all_landmarks(rng, client):
    X = np.repeat(rng.normal(size=(40, 3)), 25, axis=0)[rng.permutation(1000)]
    here = tp.LaplacianEigenmaps(n_neighbors=10, random_state=0).fit(X)
    there = clone(here).fit(da.from_array(X, chunks=(300, 3)))
    assert len(here.landmark_indices_) == 40
    np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)


# Manners ----------------------------------------------------------------------------------------


def test_rounds_and_bytes_are_counted_and_do_not_grow_with_the_points(client):
    """Of four times as many points, hardly more travels: neighbors never do."""
    traffic = {}
    for n in (50_000, 200_000):
        X = tp.datasets.make_swiss_roll(n, random_state=0)[0]
        there = tp.LaplacianEigenmaps(landmarks=200, n_neighbors=10, random_state=0)
        there.fit(da.from_array(X, chunks=(n // 4, 3)))
        traffic[n] = there.traffic_
    many = traffic[200_000]
    assert set(many) == {"describe", "take", "prepare", "counts", "listed", "sums"}
    searches = many["counts"]["rounds"]
    # At most two rounds of counts for a batch, of which there are no more than without a cluster.
    assert many["listed"]["rounds"] <= searches <= 2 * many["listed"]["rounds"] < 50
    assert many["sums"]["rounds"] == many["prepare"]["rounds"] == many["describe"]["rounds"] == 1
    assert many["counts"]["tasks"] == 2 * searches
    for way in ("bytes_sent", "bytes_received"):
        total = {n: sum(counts[way] for counts in each.values()) for n, each in traffic.items()}
        assert total[200_000] < 1.5 * total[50_000]
    # The neighborhoods of 200 landmarks hold four times all points.
    assert sum(counts["bytes_received"] for counts in many.values()) < 4 * 200_000 * 8 / 2


@pytest.mark.slow
def test_a_thousand_chunks_make_a_small_graph(points, client):
    X = da.from_array(points, chunks=((4,) * 1000, 3)).persist()
    isomap = tp.Isomap(landmarks=tp.Uniform(750), extension="graph", random_state=0)
    eigenmaps = tp.LaplacianEigenmaps(landmarks=tp.Uniform(300), n_neighbors=10, random_state=0)
    # A model of 4.5 MB, which must not be in the graph, and one that is in it once.
    for there in (isomap.fit(points), eigenmaps.fit(points)):
        lazy = there.transform(X)
        graph = lazy.__dask_graph__()
        assert len(cloudpickle.dumps(graph)) < 2e6
        with warnings.catch_warnings():
            # Dask warns of a large graph, even of a few chunks that each hold the model.
            warnings.simplefilter("error")
            found = lazy[:80].compute()
        np.testing.assert_allclose(found, there.transform(points[:80]), atol=1e-9)


def test_partitions_stay_on_the_workers_that_hold_them(points, client):
    workers = list(client.nthreads())
    pieces = [
        client.scatter(points[i * 500 : (i + 1) * 500], workers=[workers[i % 2]], hash=False)
        for i in range(8)
    ]
    X = da.concatenate(
        [da.from_delayed(dask.delayed(p), (500, 3), meta=points[:0]) for p in pieces]
    )
    X = X.persist(optimize_graph=True)
    distributed.wait(X)
    placed = _placed(client, Partitions(X))
    held = {str(key): found for key, found in client.who_has(X).items()}
    for worker, parts in placed.items():
        for part in parts:
            assert worker in held[str(X.__dask_keys__()[part][0])]
    here = tp.EfficientDPP(50, random_state=0).fit(points)
    there = tp.EfficientDPP(50, random_state=0).fit(X)
    np.testing.assert_array_equal(there.indices_, here.indices_)


def test_rows_are_shared_out_by_threads(points, client):
    placed = _placed(client, Partitions(parted(points, "small")))
    assert len(placed) == 2
    assert sorted(np.concatenate(list(placed.values()))) == list(range(31))
    shares = [len(parts) for parts in placed.values()]
    assert min(shares) > 14


def test_progress_is_reported(points, client):
    seen = []
    tp.LaplacianEigenmaps(
        landmarks=50,
        n_neighbors=10,
        random_state=0,
        callback=lambda *progress: seen.append(progress),
    ).fit(parted(points))
    assert ("reading", 4, 4) in seen
    assert ("landmarks", 50, 50) in seen
    assert seen[-1][0] == "spectrum"


def test_a_model_keeps_nothing_of_the_cluster(points, fitted, coordinates, tmp_path):
    fitted.save(tmp_path / "there.trig")
    loaded = tp.load(tmp_path / "there.trig")
    lazy = loaded.transform(parted(points, "ragged"))
    np.testing.assert_array_equal(lazy.compute(), coordinates)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.traffic_ == fitted.traffic_
    # A fit of an array leaves nothing of an earlier one.
    assert not hasattr(again.fit(points), "traffic_")


def test_quality_and_report(points, client, tmp_path):
    here = tp.LaplacianEigenmaps(landmarks=100, n_neighbors=10, random_state=0).fit(points)
    expected = here.quality(points)
    there = clone(here).fit(parted(points, "ragged"))
    assert there.quality(parted(points, "ragged")).neighbors_kept == expected.neighbors_kept
    # Of fewer points, since curves of landmarks take long.
    page = there.report(tmp_path / "page.html", parted(points, "ragged")[:1600])
    assert page.stat().st_size > 50_000


@pytest.fixture(scope="module")
def coordinates(points, fitted):
    return fitted.transform(parted(points)).compute()


@pytest.mark.parametrize("suffix", ["zarr", "npy", "csv", "parquet"])
@pytest.mark.parametrize("chunks", ["even", "ragged", "small"])
def test_coordinates_go_to_a_file(suffix, chunks, points, fitted, coordinates, tmp_path):
    path = fitted.transform(parted(points, chunks), out=tmp_path / f"Y.{suffix}")
    found = np.asarray(tp.read_points(path))
    np.testing.assert_allclose(found, coordinates, rtol=0, atol=0 if suffix != "csv" else 1e-12)
    assert [file.name for file in tmp_path.iterdir()] == [f"Y.{suffix}"]


def test_a_failed_write_leaves_nothing(points, fitted, tmp_path):
    broken = points.copy()
    broken[2500, 1] = np.nan
    for suffix in ("zarr", "npy"):
        with pytest.raises(ValueError, match="X contains NaN in row 2500"):
            fitted.transform(parted(broken), out=tmp_path / f"Y.{suffix}")
    assert not list(tmp_path.iterdir())


# Refusals ---------------------------------------------------------------------------------------


def refused():
    X = np.random.default_rng(0).normal(size=(100, 3))
    bad = X.copy()
    bad[72, 2] = np.nan
    whole = da.from_array(X, chunks=(50, 3))
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("xyz")), npartitions=2)
    eigenmaps = tp.LaplacianEigenmaps(landmarks=20)
    yield "chunks along columns", eigenmaps, whole.rechunk((50, 1)), r"columns, into 3.*rechunk"
    yield "objects", eigenmaps, whole.astype(object), r"type object, not numbers: .*astype"
    yield "complex", eigenmaps, whole.astype(complex), r"complex128.*hstack\(\[X.real, X.imag\]\)"
    yield "one axis", eigenmaps, whole[:, 0], r"shape \(100,\)"
    yield (
        "NaN",
        eigenmaps,
        da.from_array(bad, chunks=(50, 3)),
        ("X contains NaN in row 72, column 2"),
    )
    yield "text", eigenmaps, frame.assign(kind="a"), "not numbers: 'kind'"
    yield "dates", eigenmaps, frame.assign(day=pd.Timestamp("2026-01-01")), "'day'"
    yield "a bag", eigenmaps, dask.delayed(X), "is a Dask Delayed"
    yield "one point", eigenmaps, whole[:1], "1 point: pass at least two"
    yield "large values", eigenmaps, whole * 1e200, "overflow float64"
    yield "anchors", tp.LaplacianEigenmaps(graph="anchors"), whole, "graph='anchors' adds up"
    yield "refined map", tp.LandmarkMap(refine=5), whole, "refine=5 lays out all points"
    wide = da.ones((100, 60), chunks=(50, 60))
    yield "wide map", tp.LandmarkMap(), wide, "more than 50 columns projects"
    yield "KDPP", tp.KDPP(5), whole, "KDPP needs all points in one array"
    yield (
        "low rank",
        tp.EfficientDPP(5, covariance="low-rank", n_neighbors=50),
        wide + da.random.random((100, 60), chunks=(50, 60)),
        "at most 32 columns.*covariance='diag'",
    )
    yield "own sampler", tp.LaplacianEigenmaps(landmarks=OwnSampler()), whole, "OwnSampler needs"


class OwnSampler:
    def fit(self, X):
        raise AssertionError

    def get_params(self, deep=True):
        return {}


REFUSED = {name: rest for name, *rest in refused()}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_by_name(name, client):
    estimator, X, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(X)


def test_other_columns_are_refused(points, client):
    frame = CountedReads(points).frame()
    there = tp.LaplacianEigenmaps(landmarks=50, n_neighbors=10, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="has 2 columns, but LaplacianEigenmaps was fitted with 3"):
        there.transform(parted(points)[:, :2])
    with pytest.raises(ValueError, match=r"has columns z, y, x, but .* fitted with x, y, z"):
        there.transform(frame[["z", "y", "x"]])


def test_metrics_do_not_pull_all_points(points, client):
    with pytest.raises(TypeError, match=r"X is a Dask collection.*quality\(X\)"):
        tp.metrics.coverage_radius(parted(points), np.arange(10))


def test_frames_cannot_be_lazy(points, fitted):
    there = copy.deepcopy(fitted)
    there.set_output(transform="pandas")
    with pytest.raises(ValueError, match="pandas frame, which a lazy Dask array cannot be"):
        there.transform(parted(points))


def test_without_a_cluster_the_error_says_how_to_start_one(points, monkeypatch):
    def none():
        raise ValueError("No global client found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(ClusterError, match=r"there is none: .*client = Client\(\).*8786"):
        tp.LaplacianEigenmaps(landmarks=50).fit(parted(points))


def test_methods_are_compared_on_the_same_rows_as_from_an_array(client, points, monkeypatch):
    from trigpoint._estimators import comparison

    monkeypatch.setattr(comparison, "COMPARED_POINTS", 600)
    monkeypatch.setattr(comparison, "_COMPARED", 300)
    X = points[:1000]
    here = tp.compare_methods(X, landmarks=100, random_state=0)
    there = tp.compare_methods(da.from_array(X, chunks=(300, -1)), landmarks=100, random_state=0)
    assert there.scores == here.scores
    wide = da.from_array(np.repeat(X[:300], 20, axis=1), chunks=(100, -1))
    failures = tp.compare_methods(wide, landmarks=50, random_state=0).failures
    assert "50 columns" in failures["LandmarkMap"]


# A GPU for each worker ----------------------------------------------------------------------------

# And neighbors in the graph; of the first, several graphs are tried.
CLOUDS = {
    "roll": (lambda rng: tp.datasets.make_swiss_roll(N, random_state=0)[0], None),
    "float32, 20 columns": (lambda rng: rng.normal(size=(N, 20)).astype(np.float32) + 3, 10),
    "grid": (lambda rng: rng.integers(0, 12, size=(N, 3)) / 4, 10),
}


@pytest.mark.parametrize(("cloud", "n_neighbors"), CLOUDS.values(), ids=CLOUDS.keys())
def test_workers_with_a_gpu_draw_the_same_landmarks(
    cloud, n_neighbors, client, gpu, rng, monkeypatch
):
    from trigpoint._points.torch import index

    X = cloud(rng)
    emb = tp.LaplacianEigenmaps(landmarks=80, n_neighbors=n_neighbors, random_state=0)
    here = clone(emb).fit(parted(X, "ragged"))
    there = clone(emb).set_params(device="cuda").fit(parted(X, "ragged"))
    assert there.device_ == "cuda"
    assert here.device_ == "cpu"
    np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
    np.testing.assert_array_equal(there.covariances_, here.covariances_)
    np.testing.assert_array_equal(there.landmark_embedding_, here.landmark_embedding_)
    found = there.transform(parted(X)).compute()
    assert found.dtype == X.dtype
    expected = here.transform(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * scale)
    # Points that do not fit on the device, in blocks that do not divide them evenly.
    monkeypatch.setattr(index, "fits", lambda n_bytes, device: False)
    monkeypatch.setattr(index, "working_memory", lambda device: 2**20)
    blocks = clone(there).set_params(n_neighbors=10).fit(parted(X))
    np.testing.assert_array_equal(blocks.landmark_indices_, here.landmark_indices_)


def test_weights_and_maps_with_a_gpu_on_workers(client, gpu, points):
    """So many landmarks that weights of all points are kept; and those of a map."""
    X = np.concatenate([points[:400], points[:400]])
    here = tp.EfficientDPP(300, n_neighbors=30, random_state=0).fit(X)
    there = clone(here).set_params(device="cuda")
    chunked = da.from_array(X, chunks=(170, 3))
    np.testing.assert_array_equal(there.fit(chunked).indices_, here.indices_)
    assert there.search_ == "products on cuda on Dask workers"
    mapped = tp.LandmarkMap(landmarks=60, n_iter=10, random_state=0).fit(X)
    same = clone(mapped).set_params(device="cuda").fit(chunked)
    np.testing.assert_array_equal(same.landmark_embedding_, mapped.landmark_embedding_)
    found = same.transform(chunked).compute()
    np.testing.assert_allclose(found, mapped.transform(X), rtol=1e-9, atol=1e-9)


def test_workers_without_the_gpu_that_is_asked_for(client, points, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    emb = tp.LaplacianEigenmaps(landmarks=50, n_neighbors=10, device="cuda:1", random_state=0)
    with pytest.raises(tp.ParameterError, match="device='cuda:1' needs a GPU"):
        emb.fit(parted(points))
    emb.set_params(device="auto").fit(parted(points))
    assert emb.device_ == "cpu"
    with pytest.raises(tp.ParameterError, match="device='cuda' needs a GPU"):
        emb.set_params(device="cuda").transform(parted(points)).compute()
