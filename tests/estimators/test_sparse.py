"""Sparse points have bitwise the same landmarks as dense ones, and are never made dense."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_array
from sklearn.base import clone
from tests.sources.formats import save_h5ad_sparse

import trigpoint as tp

TAKE_SPARSE = {
    "EfficientDPP": tp.EfficientDPP(25),
    "EfficientDPP, sin2": tp.EfficientDPP(25, repulsion="sin2"),
    "Uniform": tp.Uniform(25),
    "KMeansPlusPlus": tp.KMeansPlusPlus(25),
    "FarthestPoint": tp.FarthestPoint(25),
    "RPCholesky": tp.RPCholesky(25),
}
REFUSE_SPARSE = {
    "ExactDPP": tp.ExactDPP(),
    "KMeansLandmarks": tp.KMeansLandmarks(5),
    "EfficientDPP(refine=True)": tp.EfficientDPP(5, refine=True),
    "EfficientDPP('auto')": tp.EfficientDPP("auto"),
}
# Graphs are given where their choice does not matter.
ESTIMATORS = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps(
        3, landmarks=50, graph="bhattacharyya", random_state=0
    ),
    "along the graph": tp.LaplacianEigenmaps(landmarks=50, extension="graph", random_state=0),
    "features": tp.LaplacianEigenmaps(10, landmarks=50, random_state=0),
    "DiffusionMaps": tp.DiffusionMaps(3, landmarks=50, extension="all", random_state=0),
    "Isomap": tp.Isomap(3, landmarks=50, random_state=0),
    "KernelPCA": tp.KernelPCA(3, landmarks=50, random_state=0),
}
FORMATS = [f"{order}_{kind}" for order in ("csr", "csc", "coo") for kind in ("array", "matrix")]


def clouds():
    """Yield mostly zeros, with ties: duplicates, integers, and orthogonal rows."""
    rng = np.random.default_rng(0)
    mixed = rng.poisson(0.1, size=(400, 120)) * rng.normal(size=(400, 120))
    mixed[:, 0] += 1
    yield "mixed", mixed
    yield "narrow", mixed[:, :30]
    yield "float32", mixed.astype(np.float32)
    yield "counts", rng.poisson(0.1, size=(400, 80)) + np.eye(400, 80)
    yield "copies", np.repeat(mixed[:80], 5, axis=0)
    words = np.zeros((400, 500))
    words[np.arange(400)[:, None], rng.integers(0, 500, size=(400, 4))] = rng.random((400, 4))
    yield "words", words


CLOUDS = dict(clouds())


@pytest.fixture
def largest_dense(monkeypatch):
    """Record the sizes of all arrays that are converted to dense."""
    sizes = []
    toarray = csr_array.toarray

    def noted(self, *arguments, **options):
        sizes.append(int(np.prod(self.shape)))
        return toarray(self, *arguments, **options)

    for kind in (sparse.csr_array, sparse.csr_matrix):
        monkeypatch.setattr(kind, "toarray", noted)
        monkeypatch.setattr(kind, "todense", noted)
    return sizes


@pytest.mark.filterwarnings("ignore:.* landmarks? coincided")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("name", TAKE_SPARSE)
def test_landmarks_are_those_of_the_dense_array(name, cloud, metric):
    X = CLOUDS[cloud]
    sampler = clone(TAKE_SPARSE[name]).set_params(random_state=2)
    there = tp.select(csr_array(X), sampler, metric=metric)
    here = tp.select(X, sampler, metric=metric)
    np.testing.assert_array_equal(there.indices, here.indices)
    np.testing.assert_array_equal(there.points, here.points)
    assert there.points.dtype == here.points.dtype
    assert type(there.points) is np.ndarray


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_embeddings_are_those_of_the_dense_array(name, dtype, metric):
    X = CLOUDS["mixed"].astype(dtype)
    emb = clone(ESTIMATORS[name]).set_params(metric=metric)
    here, there = clone(emb).fit(X), clone(emb).fit(csr_array(X))
    np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
    np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
    found = there.transform(csr_array(X))
    assert found.dtype == dtype
    scale = np.abs(found).max()
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found, here.transform(X), atol=tolerance * scale)
    # A model accepts both, however it was fitted.
    np.testing.assert_allclose(there.transform(X), found, atol=tolerance * scale)
    np.testing.assert_allclose(here.transform(csr_array(X)), found, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_every_format_and_type(dtype):
    X = np.abs(CLOUDS["counts"]).astype(dtype)
    emb = tp.LaplacianEigenmaps(landmarks=30, random_state=0)
    expected = clone(emb).fit(X).landmark_indices_
    for name in FORMATS:
        given = getattr(sparse, name)(X)
        before = given.copy()
        Y = emb.fit_transform(given)
        np.testing.assert_array_equal(emb.landmark_indices_, expected, err_msg=name)
        assert Y.dtype == (np.float32 if dtype == np.float32 else np.float64), name
        assert (given != before).nnz == 0, name


def test_landmarks_may_be_given_sparse():
    X = csr_array(CLOUDS["mixed"])
    rows = np.arange(0, 400, 10)
    emb = tp.LaplacianEigenmaps(landmarks=X[rows]).fit(X)
    np.testing.assert_array_equal(emb.landmarks_, CLOUDS["mixed"][rows])


@pytest.mark.parametrize("name", [*TAKE_SPARSE, *ESTIMATORS])
def test_only_some_rows_are_ever_dense(name, largest_dense, rng):
    columns = rng.integers(0, 1000, size=(2500, 10))
    starts = np.arange(0, 25_001, 10)
    X = csr_array((np.ones(25_000), columns.ravel(), starts), shape=(2500, 1000))
    if name in ESTIMATORS:
        clone(ESTIMATORS[name]).set_params(metric="cosine").fit_transform(X)
    else:
        clone(TAKE_SPARSE[name]).set_params(random_state=0).fit(X)
    assert largest_dense
    # The proposals, or a block of columns of the kernel.
    assert max(largest_dense) <= 1024 * X.shape[1]


@pytest.mark.parametrize("name", REFUSE_SPARSE)
def test_others_are_refused_by_name_with_the_remedy(name):
    X = csr_array(CLOUDS["mixed"])
    message = "does not take sparse points: use EfficientDPP with a number of landmarks, .*Trunc"
    with pytest.raises(tp.ParameterError, match=message) as caught:
        clone(REFUSE_SPARSE[name]).fit(X)
    assert str(caught.value).startswith(name)
    assert "X.toarray(), which takes 384 kB" in str(caught.value)
    with pytest.raises(tp.ParameterError, match=r"X\.toarray\(\), which takes 192 kB"):
        clone(REFUSE_SPARSE[name]).fit(X.astype(np.float32))
    with pytest.raises(TypeError, match=message):
        tp.LaplacianEigenmaps(landmarks=REFUSE_SPARSE[name]).fit(X)


def test_few_columns_and_few_zeros_are_made_dense(rng):
    narrow = csr_array(CLOUDS["mixed"][:, :15])
    assert tp.EfficientDPP(10, random_state=0).fit(narrow).search_ == "tree"
    full = csr_array(rng.normal(size=(300, 20)))
    assert tp.EfficientDPP(10, random_state=0).fit(full).search_ == "products"


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("name", ["X.npz", "X.h5ad", "csc.npz"])
def test_files_stay_sparse(name, metric, tmp_path, largest_dense):
    X = csr_array(CLOUDS["words"])
    path = tmp_path / name
    if name == "X.h5ad":
        save_h5ad_sparse(path, X)
    else:
        sparse.save_npz(path, X.tocsc() if name == "csc.npz" else X)
    emb = tp.LaplacianEigenmaps(landmarks=20, metric=metric, random_state=0)
    expected = emb.fit_transform(X)
    largest_dense.clear()
    np.testing.assert_array_equal(clone(emb).fit_transform(path), expected)
    assert max(largest_dense) < 300 * X.shape[1]
    clone(emb).fit(path).transform(path, out=tmp_path / "Y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "Y.npy"), expected)
    blocks = [block for _, block in tp.open_source(path).blocks()]
    assert (sparse.vstack(blocks) != X).nnz == 0


def test_columns_of_a_sparse_file(tmp_path):
    X = csr_array(CLOUDS["mixed"])
    sparse.save_npz(tmp_path / "X.npz", X)
    source = tp.open_source(tmp_path / "X.npz", columns=list(range(5, 45)))
    expected = tp.EfficientDPP(20, random_state=0).fit(X[:, 5:45])
    found = tp.EfficientDPP(20, random_state=0).fit(source)
    assert found.search_ == "sparse products"
    np.testing.assert_array_equal(found.landmarks_, expected.landmarks_)
    with pytest.raises(ValueError, match="holds one table"):
        tp.open_source(tmp_path / "X.npz", key="data")


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_quality_of_sparse_points(metric):
    X = CLOUDS["mixed"]
    emb = tp.LaplacianEigenmaps(landmarks=50, metric=metric, random_state=0).fit(X)
    here, there = (emb.quality(rows, advise=False) for rows in (X, csr_array(X)))
    assert str(there) == str(here)
    if metric == "cosine":
        assert str(emb.quality(4 * X, advise=False)) == str(here)
