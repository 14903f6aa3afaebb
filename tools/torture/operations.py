"""Everything that writes a file, on small data, so that thousands of runs take minutes."""

import importlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import trigpoint as tp
from trigpoint._command import cli, demonstration
from trigpoint._estimators.output import Output, write_coordinates
from trigpoint._points import inputs

POINTS, ROWS = 400, 100
FORMATS = ("npy", "csv", "parquet", "zarr")
_LIBRARIES = {
    "parquet": "pyarrow.parquet",
    "zarr": "zarr",
    "h5": "h5py",
    "html": "trigpoint._report",
    "png": "matplotlib.pyplot",
}


@dataclass(frozen=True)
class Operation:
    """Something that writes one file or folder.

    Attributes
    ----------
    name : str
        For messages.
    target : str
        What it writes.
    run : callable
        Does it, given the folder of the inputs and that of the target.
    reads : str
        Format of the points.
    """

    name: str
    target: str
    run: Callable[[Path, Path], None]
    reads: str = "npy"

    @property
    def resumes(self) -> bool:
        """Whether a run goes on where an earlier one was ended."""
        return "resume" in self.name


# How points are written that are read.
_INPUTS = {
    "npy": lambda path, X: np.save(path, X),
    "npz": lambda path, X: np.savez(path, X=X),
    "csv": lambda path, X: _table(X).to_csv(path, index=False),
    "parquet": lambda path, X: _table(X).to_parquet(path, row_group_size=ROWS),
    "zarr": lambda path, X: _zarr(path, X),
    "h5": lambda path, X: _hdf5(path, X),
    "h5ad": lambda path, X: _hdf5(path, X),
}


def _table(X: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=["x", "y", "z"]).assign(kind="oak")


def _zarr(path: Path, X: np.ndarray) -> None:
    import zarr

    zarr.create_array(store=str(path), data=X, chunks=(ROWS, 3))


def _hdf5(path: Path, X: np.ndarray) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["X"] = X


def make_inputs(folder: Path, kinds: set[str]) -> None:
    """Write points in some formats, and a model of them."""
    X, _ = tp.datasets.make_swiss_roll(POINTS, random_state=0)
    for kind in kinds:
        _INPUTS[kind](folder / f"x.{kind}", X)
    _model().fit(X).save(folder / "model.trig")


def warm_up(operations: list[Operation]) -> None:
    """Import libraries and load loops here, so that the children of this process have them."""
    suffixes = {Path(one.target).suffix[1:] for one in operations} | {
        one.reads for one in operations
    }
    for suffix, module in _LIBRARIES.items():
        if suffix in suffixes:
            importlib.import_module(module)
    X, _ = tp.datasets.make_swiss_roll(POINTS, random_state=0)
    # As a map of a file is, for which loops are compiled apart.
    X.setflags(write=False)
    _model().fit_transform(X)
    # Several blocks, so that there is something to go on with.
    inputs.block_rows = lambda *_: ROWS
    # Models that were saved have loops of their own.
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder)
        make_inputs(given, {"npy"})
        _transform("x.npy", "y.npy")(given, given)


def _model(**options):
    return tp.LaplacianEigenmaps(landmarks=30, random_state=0, n_jobs=1, **options)


def _transform(source: str, target: str, resume: bool = False) -> Callable[[Path, Path], None]:
    def run(given: Path, out: Path) -> None:
        model = tp.load(given / "model.trig").set_params(n_jobs=1)
        columns = ["x", "y", "z"] if source in ("x.csv", "x.parquet") else None
        points = tp.read_points(given / source, columns=columns)
        write_coordinates(model, points, Output(out / target, resume=resume))

    return run


def _save(given: Path, out: Path) -> None:
    tp.load(given / "model.trig").save(out / "y.trig")


def _report(given: Path, out: Path) -> None:
    # The page says how long it took, and must be the same bytes every time.
    time.perf_counter = lambda: 0.0
    model = tp.load(given / "model.trig").set_params(n_jobs=1)
    model.report(out / "y.html", given / "x.npy", sample=50, neighborhoods=None, curve=False)


def _command(target: str, *arguments: str) -> Callable[[Path, Path], None]:
    def run(given: Path, out: Path) -> None:
        paths = [text.format(given=given, out=out / target) for text in arguments]
        code = cli.main([*paths, "--force", "--quiet", "--jobs", "1"])
        if code:
            raise OSError(f"exit code {code}")

    return run


def _embed(target: str, *options: str) -> Callable[[Path, Path], None]:
    arguments = ("embed", "{given}/x.npy", "-o", "{out}", "-k", "30", "--method", "laplacian")
    return _command(target, *arguments, *options)


def _select(source: str, target: str) -> Operation:
    arguments = ("select", f"{{given}}/{source}", "-k", "20", "-o", "{out}")
    columns = () if source.endswith("npy") else ("--columns", "x,y,z")
    run, kind = _command(target, *arguments, *columns), source.partition(".")[2]
    return Operation(f"select {source} {target}", target, run, kind)


def _picture(given: Path, out: Path) -> None:
    X, intrinsic = tp.datasets.make_swiss_roll(POINTS, random_state=0)
    model = tp.load(given / "model.trig").set_params(n_jobs=1)
    model.landmark_indices_ = np.arange(len(model.landmarks_))
    demonstration._draw(model, X, model.transform(X), intrinsic, out / "y.png")


WRITERS = [
    *(
        Operation(f"transform {kind}", f"y.{kind}", _transform("x.npy", f"y.{kind}"))
        for kind in FORMATS
    ),
    *(
        Operation(f"resumed {kind}", f"y.{kind}", _transform("x.npy", f"y.{kind}", True))
        for kind in FORMATS
    ),
    Operation("save", "y.trig", _save),
    Operation("report", "y.html", _report),
    _select("x.csv", "y.csv"),
    _select("x.parquet", "y.parquet"),
    _select("x.parquet", "y.csv"),
    _select("x.npy", "y.npy"),
]
COMMANDS = [
    *(Operation(f"embed {kind}", f"y.{kind}", _embed(f"y.{kind}")) for kind in FORMATS),
    *(
        Operation(f"embed --resume {kind}", f"y.{kind}", _embed(f"y.{kind}", "--resume"))
        for kind in FORMATS
    ),
    Operation("picture", "y.png", _picture),
]
READERS = [
    Operation(f"transform from {kind}", "y.npy", _transform(f"x.{kind}", "y.npy"), kind)
    for kind in _INPUTS
]
