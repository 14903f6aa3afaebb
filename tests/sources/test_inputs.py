"""Points from files are the same points: same landmarks, same coordinates."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._sources import Output, open_output

SUFFIXES = [".npy", ".npz", ".parquet", ".zarr", ".h5", ".csv"]


@pytest.fixture
def points(roll):
    return roll[0].astype(np.float32)


def write(path, points, names=("x", "y", "z")):
    """One file of points in the format of its suffix."""
    if path.suffix == ".npz":
        np.savez(path, X=points)
    elif path.suffix == ".h5":
        import h5py

        with h5py.File(path, "w") as file:
            file["X"] = points
    elif path.suffix == ".zarr":
        import zarr

        zarr.create_array(store=str(path), data=points)
    elif path.suffix == ".csv":
        # Nine digits bring every float32 back.
        np.savetxt(path, points, delimiter=",", fmt="%.9g")
    elif path.suffix == ".zarr":
        import zarr

        zarr.create_array(store=str(path), data=points)
    else:
        with open_output(Output(path, names=names), points.shape, points.dtype) as writer:
            writer.write(points)
    return path


def eigenmaps(**options):
    # With a given graph, none is selected.
    options = {"graph": tp.KNNGraph(n_neighbors=10), **options}
    return tp.LaplacianEigenmaps(landmarks=100, random_state=0, **options)


@pytest.fixture(scope="module")
def from_array(roll):
    """Landmarks and coordinates of the points as an array; not to be changed."""
    emb = eigenmaps()
    Y = emb.fit_transform(roll[0].astype(np.float32))
    return emb.landmark_indices_, Y


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_gives_what_its_array_gives(tmp_path, points, from_array, suffix):
    path = write(tmp_path / f"points{suffix}", points)
    indices, Y = from_array
    found = eigenmaps()
    Z = found.fit_transform(path)
    np.testing.assert_array_equal(found.landmark_indices_, indices)
    # A text file says nothing of the precision, and is read as float64.
    np.testing.assert_allclose(Z, Y, atol=1e-4 if suffix == ".csv" else 0)
    assert Z.dtype == (np.float64 if suffix == ".csv" else np.float32)


def test_every_estimator_and_sampler_takes_files(tmp_path, points):
    path = write(tmp_path / "points.npy", points)
    for estimator in (
        tp.LaplacianEigenmaps(landmarks=50, random_state=0),
        tp.DiffusionMaps(landmarks=50, random_state=0),
        tp.Isomap(landmarks=50, random_state=0),
        tp.KernelPCA(landmarks=50, random_state=0),
        tp.LandmarkMap(landmarks=50, n_iter=20, random_state=0),
    ):
        np.testing.assert_array_equal(
            estimator.fit(path).transform(path), estimator.transform(points)
        )
    for sampler in (tp.EfficientDPP(20, random_state=0), tp.Uniform(20, random_state=0)):
        from_file = sampler.fit(path).indices_
        np.testing.assert_array_equal(from_file, sampler.fit(points).indices_)


def test_objects_that_files_are_read_through(tmp_path, points, from_array):
    import h5py

    path = write(tmp_path / "points.h5", points)
    with h5py.File(path) as file:
        from_dataset = eigenmaps().fit(file["X"])
    keyed = eigenmaps().fit(f"{path}::X")
    chosen = eigenmaps().fit(tp.open_source(path, columns=[0, 1, 2]))
    for found in (from_dataset, keyed, chosen):
        np.testing.assert_array_equal(found.landmark_indices_, from_array[0])


@pytest.mark.parametrize("order", ["C", "F", "frame"])
def test_memory_order_does_not_matter(rng, order):
    """Also above 50 columns, where a map begins with a projection."""
    import pandas as pd

    X = rng.normal(size=(600, 60))
    emb = tp.LandmarkMap(landmarks=100, n_iter=20, random_state=0)
    expected = emb.fit_transform(X)
    other = pd.DataFrame(X) if order == "frame" else np.array(X, order=order)
    np.testing.assert_array_equal(emb.fit_transform(other), expected)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_coordinates_go_to_a_file(tmp_path, points, suffix):
    emb = eigenmaps().fit(points)
    path = tmp_path / f"coordinates{suffix}"
    assert emb.transform(points, out=path) == path
    # Text has the shortest digits that bring float32 back, and is read as float64.
    found = tp.open_source(path).take(None).astype(np.float32)
    np.testing.assert_array_equal(found, emb.transform(points))
    assert emb.fit_transform(points, out=path) == path


def test_what_cannot_be_written_is_refused_before_the_fit(tmp_path, points):
    path = write(tmp_path / "points.npy", points)
    emb = eigenmaps()
    for out in (tmp_path / "nowhere" / "Y.npy", tmp_path / "Y.xlsx"):
        with pytest.raises((ValueError, OSError)):
            emb.fit_transform(points, out=out)
    with pytest.raises(ValueError, match=r"points\.npy"):
        emb.fit_transform(path, out=path)
    assert not hasattr(emb, "landmark_embedding_")


def test_columns_must_be_those_of_the_fit(tmp_path, points):
    emb = eigenmaps().fit(write(tmp_path / "points.parquet", points))
    assert list(emb.feature_names_in_) == ["x", "y", "z"]
    write(tmp_path / "other.parquet", points, ["z", "y", "x"])
    with pytest.raises(ValueError, match="was fitted with x, y, z"):
        emb.transform(tmp_path / "other.parquet")
    np.save(tmp_path / "flat.npy", points[:, :2])
    with pytest.raises(ValueError, match=r"has 2 features, but .* expecting 3 features"):
        emb.transform(tmp_path / "flat.npy")


def test_values_are_checked_in_files_too(tmp_path, points):
    emb = eigenmaps().fit(points)
    points = points.copy()
    points[1234, 1] = np.nan
    path = write(tmp_path / "points.npy", points)
    with pytest.raises(ValueError, match=r"points\.npy contains NaN in row 1234"):
        eigenmaps().fit(path)
    with pytest.raises(ValueError, match="row 1234"):
        emb.transform(path, out=tmp_path / "out.npy")
    points[1234, 1] = 1e30
    with pytest.raises(ValueError, match="overflow"):
        emb.transform(write(path, points))
    assert not (tmp_path / "out.npy").exists()
