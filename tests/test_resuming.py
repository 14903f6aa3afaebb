"""Runs that were killed go on after their last complete block, to the same bytes."""

import json
import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
from trigpoint._command.common import FAILED, INTERRUPTED

import trigpoint as tp
from trigpoint._command import cli
from trigpoint._estimators import output
from trigpoint._estimators.output import Output, fit_and_write, write_coordinates
from trigpoint._files import atomic, checkpoints
from trigpoint._files.checkpoints import StagedCheckpoints
from trigpoint._landmarks import choose_landmarks

N, ROWS = 1000, 100
# From Python 3.12 on, in a process that has threads; those here are not needed by the children.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

NAMES = ["y.npy", "y.csv", "y.zarr", "y.parquet"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder with points, which are read in ten blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trigpoint._points.inputs.block_rows", lambda *_: ROWS)
    X, _ = tp.datasets.make_swiss_roll(N, dtype=np.float32, random_state=0)
    np.save("x.npy", X)
    return tmp_path


def eigenmaps(callback=None, **options):
    usual = {"landmarks": 50, "graph": "bhattacharyya", "random_state": 0, "n_jobs": 1}
    return tp.LaplacianEigenmaps(callback=callback, **usual | options)


def run(path, callback=None, resume=True, points="x.npy", **options):
    return fit_and_write(eigenmaps(callback, **options), points, Output(path, resume=resume))


def content(path):
    path = Path(path)
    files = [file for file in sorted(path.rglob("*")) if file.is_file()] or [path]
    return [(file.name, file.read_bytes()) for file in files]


def stopping(stage, done, how):
    """A callback that ends the run once `done` rows of a stage are."""

    def callback(now, rows, total):
        if now == stage and rows >= done:
            how()

    return callback


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt():
    raise KeyboardInterrupt


def killed(work):
    """Run in a process that is to be killed."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            work()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


@pytest.fixture
def extended(monkeypatch):
    """Numbers of rows that coordinates were computed of."""
    rows, extended_blocks = [], tp._estimators.base.extended_blocks

    def counting(extension, blocks, n_threads):
        for coordinates, n_far in extended_blocks(extension, blocks, n_threads):
            rows.append(len(coordinates))
            yield coordinates, n_far

    monkeypatch.setattr(tp._estimators.base, "extended_blocks", counting)
    return rows


@pytest.mark.parametrize("done", [0, 300, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_a_killed_run_goes_on(name, done, extended, monkeypatch):
    run(name)
    expected = content(name)
    assert sum(extended) == N
    Path(name).rename(f"first_{name}")
    killed(lambda: run(name, stopping("points", done, die)))
    assert not Path(name).exists()
    extended.clear()
    # What is fitted is fitted: this would fail.
    monkeypatch.setattr(tp.LaplacianEigenmaps, "_choose", None)
    with pytest.warns(
        UserWarning, match=f"ended after {done:,} of 1,000 points, and this one goes"
    ):
        run(name)
    # The block after which the run was killed was complete.
    assert sum(extended) == N - done
    assert content(name) == expected
    assert sorted(os.listdir()) == sorted([f"first_{name}", name, "x.npy"])


STAGES = [
    ("landmarks", 0, 3, tp.LaplacianEigenmaps, {}),
    ("landmarks", 0, 40, tp.LaplacianEigenmaps, {"covariance": "low-rank"}),
    ("landmarks", 0, 3, tp.Isomap, {"landmarks": tp.EfficientDPP(40, refine=True)}),
    ("landmarks", 0, 3, tp.KernelPCA, {"metric": "seuclidean"}),
    ("graph", 300, 3, tp.LaplacianEigenmaps, {"graph": "anchors"}),
    ("graph", 1000, 20, tp.DiffusionMaps, {"graph": "anchors"}),
    ("landmarks", 0, 60, tp.LandmarkMap, {"n_iter": 9}),
    ("layout", 7, 3, tp.LandmarkMap, {"n_iter": 9}),
    ("refinement", 7, 3, tp.LandmarkMap, {"n_iter": 5, "refine": 9}),
]


def never_again(landmarks, X, **options):
    """A map may start from another estimator, which chooses landmarks of its landmarks."""
    assert X.shape[0] < N, "what was kept is drawn again"
    return choose_landmarks(landmarks, X, **options)


@pytest.mark.parametrize(("stage", "done", "columns", "method", "options"), STAGES)
def test_a_killed_fit_goes_on(stage, done, columns, method, options, monkeypatch):
    np.save("wide.npy", np.random.default_rng(0).normal(size=(N, columns)).cumsum(axis=0))
    monkeypatch.setattr("trigpoint._extension.support.block_rows", lambda *_: ROWS)
    monkeypatch.setattr(checkpoints, "_SECONDS", 0.0)
    write, written = StagedCheckpoints.write, []

    def embed(name, then=lambda now, rows: None, resume=True):
        def kept(self, now, **arrays):
            write(self, now, **arrays)
            then(now, int(arrays.get("done", [0])[0]))

        monkeypatch.setattr(StagedCheckpoints, "write", kept)
        estimator = method(**{"landmarks": 50, "random_state": 0, "n_jobs": 1, **options})
        return content(fit_and_write(estimator, "wide.npy", Output(name, resume=resume)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ((_, expected),) = embed("first.npy", resume=False)
        killed(lambda: embed("y.npy", lambda *where: where == (stage, done) and die()))
        monkeypatch.setattr("trigpoint._estimators.run.choose_landmarks", never_again)
        ((_, found),) = embed("y.npy", lambda *where: written.append(where))
    assert found == expected
    # What was kept is not done again.
    assert all(rows > done for now, rows in written if now == stage)
    assert sorted(os.listdir()) == ["first.npy", "wide.npy", "x.npy", "y.npy"]


@pytest.mark.parametrize("how", [die, interrupt])
def test_a_fit_that_ends_while_landmarks_are_drawn_starts_over(how):
    run("y.npy")
    expected = content("y.npy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stop = stopping("landmarks", 1, how)
        if how is die:
            killed(lambda: run("y.npy", stop))
        else:
            with pytest.raises(KeyboardInterrupt):
                run("y.npy", stop)
        run("y.npy")
    assert content("y.npy") == expected
    assert sorted(os.listdir()) == ["x.npy", "y.npy"]


def test_an_interrupted_fit_goes_on(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        run("y.npy", stopping("graph", 0, interrupt))
    (kept,) = Path().glob(".y.npy.partial-*/landmarks.safetensors")
    monkeypatch.setattr("trigpoint._estimators.run.choose_landmarks", None)
    with pytest.warns(UserWarning, match="goes on from there"):
        run("y.npy")
    assert not kept.exists()


@pytest.mark.parametrize("damage", [b"", b"no arrays"])
def test_damaged_checkpoints_are_computed_again(damage):
    run("y.npy")
    expected = content("y.npy")
    killed(lambda: run("y.npy", stopping("graph", 0, die)))
    (kept,) = Path().glob(".y.npy.partial-*/landmarks.safetensors")
    kept.write_bytes(damage)
    with pytest.warns(UserWarning, match="goes on from there"):
        run("y.npy")
    assert content("y.npy") == expected


def test_without_a_seed_no_landmarks_are_kept():
    def unseeded(callback=None):
        estimator = eigenmaps(callback).set_params(random_state=None)
        return fit_and_write(estimator, "x.npy", Output("y.npy", resume=True))

    killed(lambda: unseeded(stopping("graph", 0, die)))
    assert not list(Path().glob(".y.npy.partial-*/landmarks.safetensors"))
    with pytest.warns(UserWarning, match="goes on from there"):
        unseeded()


METHODS = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA, tp.LandmarkMap]


@pytest.mark.parametrize("method", METHODS)
def test_every_estimator_goes_on_in_many_dimensions(method):
    """Where a saved model must give the same bits as the one that was fitted."""
    X = np.random.default_rng(0).normal(size=(N, 20)).cumsum(axis=0)
    np.save("wide.npy", X)

    def embed(callback=None):
        estimator = method(landmarks=50, random_state=0, n_jobs=1, callback=callback)
        return content(fit_and_write(estimator, "wide.npy", Output("y.npy", resume=True)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = embed()
        killed(lambda: embed(stopping("points", 500, die)))
        assert embed() == expected


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_an_ordinary_run(name):
    run(name)
    expected = content(name)
    run(name, resume=False)
    assert content(name) == expected
    eigenmaps().fit_transform("x.npy", out=name)
    assert content(name) == expected


def test_an_interrupted_run_goes_on_without_being_asked(extended):
    """What was kept is used whenever the same coordinates are to be computed."""
    with pytest.raises(KeyboardInterrupt):
        run("y.npy", stopping("points", 500, interrupt))
    extended.clear()
    with pytest.warns(UserWarning, match="ended after 500 of 1,000 points"):
        eigenmaps().fit_transform("x.npy", out="y.npy")
    assert sum(extended) == 500
    np.testing.assert_array_equal(np.load("y.npy"), eigenmaps().fit_transform(np.load("x.npy")))
    assert sorted(os.listdir()) == ["x.npy", "y.npy"]


def test_what_was_kept_survives_further_interrupts(extended):
    with pytest.raises(KeyboardInterrupt):
        run("y.npy", stopping("points", 500, interrupt))
    for _ in range(2):
        with (
            pytest.warns(UserWarning, match="ended after 500 of 1,000 points"),
            pytest.raises(KeyboardInterrupt),
        ):
            run("y.npy", stopping("points", 0, interrupt))
    extended.clear()
    with pytest.warns(UserWarning, match="ended after 500 of 1,000 points"):
        run("y.npy")
    assert sum(extended) == 500


def test_a_kill_between_two_steps_goes_on(monkeypatch):
    """Where a folder is not exchanged in one step."""
    run("y.zarr", n_components=3)
    old = content("y.zarr")
    run("other.zarr")
    monkeypatch.setattr(atomic, "_RENAME", None)
    rename = os.rename

    def dying(source, target):
        rename(source, target)
        if Path(source).name == "y.zarr":
            die()

    monkeypatch.setattr(os, "rename", dying)
    killed(lambda: run("y.zarr"))
    monkeypatch.setattr(os, "rename", rename)
    assert not Path("y.zarr").exists()
    with (
        pytest.warns(UserWarning, match=r"y\.zarr was put back"),
        pytest.warns(UserWarning, match="ended after 1,000 of 1,000 points"),
        pytest.raises(KeyboardInterrupt),
    ):
        run("y.zarr", stopping("points", 0, interrupt))
    assert content("y.zarr") == old
    with pytest.warns(UserWarning, match="ended after 1,000 of 1,000 points"):
        run("y.zarr")
    assert content("y.zarr") == content("other.zarr")
    assert sorted(os.listdir()) == ["other.zarr", "x.npy", "y.zarr"]


def test_runs_that_cannot_be_recognized_are_said():
    given = eigenmaps().set_params(random_state=np.random.default_rng(0))
    with pytest.warns(UserWarning, match=r"nothing would be kept .*Generator.* cannot be serial"):
        fit_and_write(given, "x.npy", Output("y.npy", resume=True))


def test_long_runs_are_kept_without_being_asked(monkeypatch, place):
    monkeypatch.setattr(output, "LONG", N + 1)
    with pytest.raises(KeyboardInterrupt):
        run("y.npy", stopping("points", 500, interrupt), resume=False)
    assert os.listdir() == ["x.npy"]
    monkeypatch.setattr(output, "LONG", N)
    with pytest.raises(KeyboardInterrupt):
        run("y.npy", stopping("points", 500, interrupt), resume=False)
    with pytest.warns(UserWarning, match="ended after 500 of 1,000 points"):
        run("y.npy", resume=False)


def test_transform_goes_on(extended):
    model = eigenmaps().fit("x.npy")

    def transform(callback=None):
        model.callback = callback
        return write_coordinates(model, "x.npy", Output("y.csv", resume=True))

    expected = content(transform())
    killed(lambda: transform(stopping("points", 700, die)))
    extended.clear()
    with pytest.warns(UserWarning, match="ended after 700 of 1,000 points"):
        assert content(transform()) == expected
    assert sum(extended) == 300


def test_half_a_block_is_computed_again(extended):
    run("y.npy")
    expected = content("y.npy")
    killed(lambda: run("y.npy", stopping("points", 500, die)))
    (kept,) = Path().glob(".y.npy.partial-*/new.npy")
    with kept.open("ab") as file:
        file.write(b"half a block")
    extended.clear()
    with pytest.warns(UserWarning, match="ended after 500 of 1,000 points"):
        run("y.npy")
    assert sum(extended) == 500
    assert content("y.npy") == expected


def test_rows_that_are_lost_are_computed_again(extended):
    """As if the disk had not written them, or another program had touched them."""
    run("y.npy")
    expected = content("y.npy")
    killed(lambda: run("y.npy", stopping("points", 500, die)))
    (kept,) = Path().glob(".y.npy.partial-*/new.npy")
    os.truncate(kept, 1000)
    extended.clear()
    with pytest.warns(UserWarning, match="ended after 0 of 1,000 points"):
        run("y.npy")
    assert sum(extended) == N
    assert content("y.npy") == expected


def changed_input():
    X = np.load("x.npy")
    X[-1] += 1
    np.save("x.npy", X)
    return run("y.npy")


@pytest.mark.parametrize(
    "other",
    [
        lambda: run("y.npy", n_components=3),
        lambda: run("y.npy", metric="cosine"),
        lambda: run("y.npy", points=tp.read_points("x.npy", columns=[0, 2])),
        lambda: run("y.npy", resume=False, n_neighbors=7),
        lambda: write_coordinates(eigenmaps().fit("x.npy"), "x.npy", Output("y.npy")),
        changed_input,
    ],
    ids=["components", "metric", "columns", "neighbors", "fitted before", "input"],
)
def test_what_another_run_has_kept_is_removed(other, extended):
    killed(lambda: run("y.npy", stopping("points", 500, die)))
    with pytest.warns(UserWarning, match=r"were removed: they are what another run"):
        other()
    assert sum(extended) == N
    assert sorted(os.listdir()) == ["x.npy", "y.npy"]


def test_the_number_of_threads_does_not_matter(extended):
    killed(lambda: run("y.npy", stopping("points", 500, die)))
    with pytest.warns(UserWarning, match="goes on"):
        fit_and_write(eigenmaps().set_params(n_jobs=2), "x.npy", Output("y.npy"))
    assert sum(extended) == 500


def test_points_that_are_far_are_counted_across_the_kill():
    X = np.load("x.npy")
    far = np.concatenate([X[:50] + 1e6, X, X[:50] + 1e6])
    np.save("far.npy", far)
    model = eigenmaps().fit(X)

    def transform(callback=None):
        model.callback = callback
        return write_coordinates(model, "far.npy", Output("y.npy", resume=True))

    killed(lambda: transform(stopping("points", 500, die)))
    with (
        pytest.warns(UserWarning, match="goes on"),
        pytest.warns(UserWarning, match="100 of 1,100 points are more than ten bandwidths"),
    ):
        transform()


def test_points_in_memory_are_not_kept():
    with pytest.raises(KeyboardInterrupt):
        run("y.npy", stopping("points", 500, interrupt), points=np.load("x.npy"))
    assert os.listdir() == ["x.npy"]


def test_what_appears_is_kept_and_so_is_the_work(extended):
    def appear():
        Path("y.npy").write_text("mine")

    stop = stopping("points", N, appear)
    with pytest.raises(FileExistsError, match="appeared during the run, and is kept"):
        fit_and_write(eigenmaps(stop), "x.npy", Output("y.npy", replace=False, resume=True))
    assert Path("y.npy").read_text() == "mine"
    extended.clear()
    with pytest.warns(UserWarning, match="ended after 1,000 of 1,000 points"):
        run("y.npy")
    assert extended == []
    assert np.load("y.npy").shape == (N, 2)


def command(*options):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return cli.main(["embed", "x.npy", "-o", "y.npy", "-k", "50", "--quiet", *options])


def test_command(capsys, monkeypatch):
    assert command("--method", "laplacian") == 0
    expected = content("y.npy")
    Path("y.npy").unlink()
    extend = tp._estimators.base.extended_blocks

    def failing(extension, blocks, n_threads):
        for number, found in enumerate(extend(extension, blocks, n_threads)):
            if number == 4:
                raise errors.pop()
            yield found

    monkeypatch.setattr(tp._estimators.base, "extended_blocks", failing)
    errors = [OSError(5, "no", "disk"), KeyboardInterrupt()]
    for code in (INTERRUPTED, FAILED):
        assert command("--method", "laplacian", "--resume") == code
        said = capsys.readouterr().err
        assert "what was done so far is in .y.npy.partial-" in said.replace(os.getcwd() + "/", "")
        assert "goes on from there when it is given again" in said
    monkeypatch.setattr(tp._estimators.base, "extended_blocks", extend)
    assert command("--method", "laplacian", "--json") == 0
    out, err = capsys.readouterr()
    assert "y.npy: an earlier run was ended after 800 of 1,000 points" in err
    assert json.loads(out)["written"] == ["y.npy"]
    assert content("y.npy") == expected


def test_resume_is_refused_on_a_cluster(capsys):
    with pytest.raises(SystemExit):
        command("--resume", "--dask", "local:1")
    assert "--resume does not apply to --dask" in capsys.readouterr().err
