"""Input files for the command."""

import shutil

import numpy as np
import pytest

import trigpoint as tp


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return a few files of points, of which tests use copies."""
    files = tmp_path_factory.mktemp("files")
    X, intrinsic = tp.datasets.make_swiss_roll(2000, dtype=np.float32, random_state=0)
    np.save(files / "roll.npy", X)
    np.save(files / "few.npy", np.arange(3))
    np.savez(files / "labeled.npz", X=X, y=(intrinsic[:, 0] > 50).astype(int))
    lines = [f"{x},{y},{z},point" for x, y, z in X.tolist()]
    (files / "roll.csv").write_text("east,north,up,name\n" + "\n".join(lines) + "\n")
    return files


@pytest.fixture
def folder(tmp_path, monkeypatch, files):
    """Return a folder with a few files of points, in which the command is run."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(files, tmp_path, dirs_exist_ok=True)
