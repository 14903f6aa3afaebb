"""Points from files are the same points: same landmarks, same coordinates, bounded memory."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import trigpoint as tp
from trigpoint._files import PointSource, open_writer
from trigpoint._files.arrays import ArraySource
from trigpoint._points import inputs

SUFFIXES = [".npy", ".npz", ".parquet", ".zarr", ".h5", ".csv"]


@pytest.fixture
def points(roll):
    return roll[0].astype(np.float32)


def write(path, points):
    """One file of points in the format of its suffix."""
    if path.suffix == ".npz":
        np.savez(path, X=points)
    elif path.suffix == ".h5":
        import h5py

        with h5py.File(path, "w") as file:
            file["X"] = points
    elif path.suffix == ".csv":
        # Nine digits bring every float32 back.
        np.savetxt(path, points, delimiter=",", fmt="%.9g")
    else:
        with open_writer(path, *points.shape, points.dtype, ["x", "y", "z"]) as writer:
            writer.write(points)
    return path


def eigenmaps(**options):
    # With a given number of neighbors, no graphs are tried.
    options = {"n_neighbors": 10, **options}
    return tp.LaplacianEigenmaps(landmarks=100, random_state=0, **options)


@pytest.fixture(scope="module")
def from_array(roll):
    """Landmarks and coordinates of the points as an array; not to be changed."""
    emb = eigenmaps()
    Y = emb.fit_transform(roll[0].astype(np.float32))
    return emb.landmark_indices_, Y


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_gives_what_its_array_gives(tmp_path, points, from_array, suffix, as_text):
    path = write(tmp_path / f"points{suffix}", points)
    indices, Y = from_array
    found = eigenmaps()
    Z = found.fit_transform(str(path) if as_text else path)
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
    chosen = eigenmaps().fit(tp.read_points(path, columns=[0, 1, 2]))
    for found in (from_dataset, keyed, chosen):
        np.testing.assert_array_equal(found.landmark_indices_, from_array[0])


@pytest.mark.parametrize("suffix", [".npy", ".zarr", ".parquet"])
def test_coordinates_go_to_a_file(tmp_path, points, suffix):
    emb = eigenmaps().fit(points)
    path = tmp_path / f"coordinates{suffix}"
    assert emb.transform(points, out=path) == path
    (block,) = tp.read_points(path).blocks(len(points))
    np.testing.assert_array_equal(block, emb.transform(points))
    assert emb.fit_transform(points, out=path) == path


def test_an_interrupted_run_leaves_nothing_behind(tmp_path, points):
    def stop(stage, done, total):
        if stage == "points" and done:
            raise KeyboardInterrupt

    emb = eigenmaps(callback=stop).fit(points)
    with pytest.raises(KeyboardInterrupt):
        emb.transform(points, out=tmp_path / "coordinates.npy")
    assert list(tmp_path.iterdir()) == []


def test_writing_over_what_is_read_is_refused(tmp_path, points):
    path = write(tmp_path / "points.npy", points)
    emb = eigenmaps().fit(path)
    with pytest.raises(ValueError, match=r"points\.npy"):
        emb.transform(path, out=path)
    with pytest.raises(ValueError, match="is being read"):
        emb.transform(np.load(path, mmap_mode="r"), out=path)
    np.testing.assert_array_equal(np.load(path), points)

    import zarr

    folder = write(tmp_path / "points.zarr", points)
    with pytest.raises(ValueError, match="is being read"):
        emb.transform(zarr.open(folder), out=folder)
    with pytest.raises(TypeError, match="out must be a path, got 5: name a"):
        emb.transform(points, out=5)


def test_a_source_is_an_array_to_numpy(tmp_path, points):
    source = tp.read_points(write(tmp_path / "points.parquet", points))
    assert len(source) == len(points)
    np.testing.assert_array_equal(np.asarray(source), points)


def test_the_index_of_pandas_is_no_coordinate(tmp_path, points):
    import pandas as pd

    pd.DataFrame(points, columns=["x", "y", "z"]).to_csv(tmp_path / "frame.csv")
    source = tp.read_points(tmp_path / "frame.csv")
    assert source.feature_names == ["x", "y", "z"]
    np.testing.assert_allclose(np.asarray(source), points, rtol=1e-6)


def test_what_cannot_be_written_is_refused_before_the_fit(tmp_path, points):
    path = write(tmp_path / "points.npy", points)
    emb = eigenmaps()
    for out in (tmp_path / "nowhere" / "Y.npy", tmp_path / "Y.xlsx"):
        with pytest.raises((ValueError, OSError)):
            emb.fit_transform(points, out=out)
    with pytest.raises(ValueError, match=r"points\.npy"):
        emb.fit_transform(path, out=path)
    assert not hasattr(emb, "landmark_embedding_")


def test_a_file_and_a_frame_cannot_both_be_had(tmp_path, points):
    emb = eigenmaps().set_output(transform="pandas").fit(points)
    with pytest.raises(ValueError, match="asks for a pandas frame"):
        emb.transform(points, out=tmp_path / "Y.npy")
    assert not (tmp_path / "Y.npy").exists()
    assert list(emb.transform(points).columns) == list(emb.get_feature_names_out())


def test_columns_must_be_those_of_the_fit(tmp_path, points):
    emb = eigenmaps().fit(write(tmp_path / "points.parquet", points))
    assert list(emb.feature_names_in_) == ["x", "y", "z"]
    with open_writer(tmp_path / "other.parquet", *points.shape, names=["z", "y", "x"]) as writer:
        writer.write(points)
    with pytest.raises(ValueError, match="was fitted with x, y, z"):
        emb.transform(tmp_path / "other.parquet")
    np.save(tmp_path / "flat.npy", points[:, :2])
    with pytest.raises(ValueError, match="has 2 columns, but LaplacianEigenmaps was fitted with 3"):
        emb.transform(tmp_path / "flat.npy")


def test_values_are_checked_in_files_too(tmp_path, points):
    emb = eigenmaps().fit(points)
    points = points.copy()
    points[1234, 1] = np.nan
    path = write(tmp_path / "points.npy", points)
    with pytest.raises(ValueError, match=r"points\.npy contains NaN in row 1234"):
        eigenmaps().fit(path)
    with pytest.raises(ValueError, match="path of the points is empty"):
        eigenmaps().fit("")
    with pytest.raises(ValueError, match=r"1,?234"):
        emb.transform(path, out=tmp_path / "out.npy")
    points[1234, 1] = 1e30
    with pytest.raises(ValueError, match="overflow"):
        emb.transform(write(path, points))
    assert not (tmp_path / "out.npy").exists()


class CountingSource(ArraySource):
    """Points that note how large the blocks asked for are."""

    def __init__(self, points):
        super().__init__(points)
        self.sizes = []

    def _pieces(self, rows):
        for piece in super()._pieces(rows):
            self.sizes.append(len(piece))
            yield piece


def test_transform_holds_one_block_of_points_at_once(points, monkeypatch):
    emb = eigenmaps().fit(points)
    monkeypatch.setattr(inputs, "block_rows", lambda bytes_per_row: 256)
    source = CountingSource(points)
    assert isinstance(source, PointSource)
    np.testing.assert_array_equal(emb.transform(source), emb.transform(points))
    assert source.sizes == [256] * 11 + [184]


def test_progress_is_told_to_a_callback(tmp_path, points, capsys):
    told = []
    emb = eigenmaps(n_neighbors=None, callback=lambda *message: told.append(message))
    emb.fit_transform(write(tmp_path / "points.zarr", points))
    stages = [stage for stage, _, _ in told]
    assert list(dict.fromkeys(stages)) == ["reading", "landmarks", "graph", "spectrum", "points"]
    totals = {"reading": 3000, "landmarks": 100, "graph": 1, "spectrum": 1, "points": 3000}
    for stage, total in totals.items():
        done = [message[1] for message in told if message[0] == stage]
        assert done == sorted(done)
        assert done[-1] == total
    assert capsys.readouterr() == ("", "")


def test_progress_on_the_terminal_goes_to_standard_error(points, capsys):
    eigenmaps(n_neighbors=None, verbose=True).fit_transform(points)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.partition(",")[0] for line in err.splitlines()] == [
        "landmarks: 100 of 100 (100%)",
        *(line for line in err.splitlines() if line.startswith(("graph: ", "spectrum: "))),
        "points: 3",
    ]
    assert err.count("graph: ") == err.count("spectrum: ") == 1


def test_bars_and_a_callback_go_together(points, capsys):
    told = []
    eigenmaps(verbose=np.True_, callback=lambda *message: told.append(message)).fit(points)
    assert told[-1] == ("spectrum", 1, 1)
    assert capsys.readouterr().err.startswith("landmarks: 100 of 100")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"verbose": "loud"}, "verbose='loud'"),
        ({"verbose": print}, "progress goes in callback"),
        ({"callback": 3}, "callback=3 cannot be called"),
    ],
)
def test_progress_that_is_not_understood(points, parameters, message):
    with pytest.raises(TypeError, match=message):
        eigenmaps(**parameters).fit(points)
    with pytest.raises(TypeError, match=message):
        tp.EfficientDPP(10, **parameters).fit(points)


class Window:
    """What a callback may belong to: can be neither copied nor pickled."""

    def __init__(self):
        self.told = []

    def update(self, stage, done, total):
        """Show progress."""
        self.told.append(stage)

    def __reduce_ex__(self, protocol):
        raise TypeError("a window cannot be pickled")


@pytest.mark.parametrize(
    "wrapped", [lambda c: eigenmaps(callback=c), lambda c: tp.EfficientDPP(50, callback=c)]
)
def test_clones_tell_the_same_callback_and_pickles_none(points, wrapped):
    window = Window()
    estimator = wrapped(window.update).fit(points)
    copied = clone(estimator)
    assert copied.callback == window.update
    window.told.clear()
    copied.fit(points)
    assert "landmarks" in window.told
    assert pickle.loads(pickle.dumps(estimator)).callback is None
    assert estimator.callback == window.update


def test_a_sampler_tells_the_callback_of_the_estimator_or_its_own(points):
    told, own = [], []
    sampler = tp.EfficientDPP(50)
    tp.Isomap(landmarks=sampler, callback=lambda *message: told.append(message[0])).fit(points)
    assert told.count("landmarks") > 1
    assert sampler.callback is None
    sampler.set_params(callback=lambda *message: own.append(message[0]))
    told.clear()
    tp.Isomap(landmarks=sampler, callback=lambda *message: told.append(message[0])).fit(points)
    assert "landmarks" in own
    assert "landmarks" not in told
