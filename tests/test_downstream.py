"""The example of a project on top of the library."""

import runpy
from pathlib import Path

import trigpoint as tp

ATLAS = Path(__file__).parents[1] / "examples" / "atlas" / "atlas.py"


def test_an_atlas_is_saved_and_looked_up(tmp_path):
    Atlas = runpy.run_path(str(ATLAS))["Atlas"]
    X, intrinsic = tp.datasets.make_swiss_roll(2000, random_state=0)
    names = ["inner" if length < intrinsic[:, 0].mean() else "outer" for length in intrinsic[:, 0]]
    atlas = Atlas.of(X, names, landmarks=100)
    found = atlas.look_up(X)
    right = sum(a == b for a, b in zip(found, names, strict=True))
    assert right > 0.95 * len(X)
    atlas.save(tmp_path)
    assert Atlas.load(tmp_path).look_up(X[:50]) == found[:50]
