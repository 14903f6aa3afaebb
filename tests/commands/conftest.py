"""Files to run the command on, and what it is asked to draw."""

import time

import numpy as np
import pytest

import trigpoint as tp


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a few files of points, in which the command is run."""
    monkeypatch.chdir(tmp_path)
    X, intrinsic = tp.datasets.make_swiss_roll(2000, dtype=np.float32, random_state=0)
    np.save("roll.npy", X)
    (tmp_path / "empty.npy").write_bytes(b"")
    np.save("few.npy", np.arange(3))
    np.savez("labelled.npz", X=X, y=(intrinsic[:, 0] > 50).astype(int))
    lines = [f"{x},{y},{z},point" for x, y, z in X.tolist()]
    (tmp_path / "roll.csv").write_text("east,north,up,name\n" + "\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def colors(monkeypatch):
    """What a report was colored by."""
    given = {}

    def report(self, path, X=None, *, color=None, **options):
        given.update(color or {})
        time.sleep(0.2)

    monkeypatch.setattr(tp.LaplacianEigenmaps, "report", report)
    return given
