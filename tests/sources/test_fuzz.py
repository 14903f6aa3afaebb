"""Damaged files of all formats are read, or refused with an error that names the file.

Set ``EXECUTIONS`` and ``SEED`` in the environment for a longer or different run.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from formats import save_h5ad_sparse, save_hdf5, save_parquet, save_zarr_zip
from scipy import sparse

import trigpoint as tp

EXECUTIONS, SEED = int(os.environ.get("EXECUTIONS", "100")), int(os.environ.get("SEED", "0"))
# Files that were once read without an error.
KEPT = Path(__file__).parents[1] / "damaged"
# HDF5 and Zarr may declare more rows than they store; these are not read.
MOST_BYTES = 2**24

X = np.round(np.random.default_rng(0).normal(size=(12, 3)), 3)
ROWS = "\n".join(",".join(map(str, row)) for row in X.tolist())
TEXTS = (
    f"x,y,z\n{ROWS}\n",
    f"{ROWS}\n",
    'a,"b, c",d\r\n1,2,"3"\r\n4,5,"6"\r\n',
    ",x,y\n0,1.5,2\n1,2.5,3\n",
)


def fitted(estimator, **options):
    roll, _ = tp.datasets.make_swiss_roll(60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(landmarks=8, random_state=0, **options).fit(roll).save


# Functions that write a small file, by format.
SEEDS = {
    "npy": [
        lambda path: np.save(path, X),
        lambda path: np.save(path, np.asfortranarray(X)),
        lambda path: np.save(path, np.arange(8, dtype=">i4").reshape(4, 2)),
    ],
    "npz": [
        lambda path: np.savez(path, X=X, y=np.arange(12)),
        lambda path: sparse.save_npz(path, sparse.csr_array(X)),
    ],
    "csv": [lambda path, text=text: path.write_text(text) for text in TEXTS],
    "parquet": [lambda path: save_parquet(path, X)],
    "zarr.zip": [lambda path: save_zarr_zip(path, X)],
    "h5": [lambda path: save_hdf5(path, X)],
    "h5ad": [lambda path: save_h5ad_sparse(path, X)],
    "trig": [
        lambda path: fitted(tp.LaplacianEigenmaps)(path),
        lambda path: fitted(tp.Isomap)(path),
        lambda path: fitted(tp.LandmarkMap, n_iter=5)(path),
    ],
}
PIECES = (b"\n", b",", b'"', b"\x00", b"\xff", b"nan", b"1e999", b"-1", b"[", b"}", b"|O", b"<f8")


def damaged(content, rng):
    """Change a file in one to four places."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at, size = int(rng.integers(len(data) + 1)), int(rng.integers(1, 17))
        piece = PIECES[rng.integers(len(PIECES))]
        match int(rng.integers(7)):
            case 0 if at < len(data):
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                data[at : at + size] = rng.bytes(size)
            case 2:
                data[at : at + 8] = (2 ** int(rng.integers(64)) - 1).to_bytes(8, "little")
            case 3:
                data[at : at + len(piece)] = piece
            case 4:
                data[at:at] = data[at : at + size] * int(rng.integers(1, 9))
            case 5:
                del data[at : at + size]
            case _:
                del data[at:]
    return bytes(data)


def read(path):
    """Read all rows of a file, or embed some rows with a model."""
    if path.suffix == ".trig":
        model = tp.load(path)
        rows = np.linspace(-9, 9, 6 * model.n_features_in_).reshape(6, -1)
        assert np.isfinite(model.transform(rows)).all()
        return
    source = tp.open_source(path)
    n, d = source.shape
    if n * d * source.dtype.itemsize <= MOST_BYTES:
        blocks = [block for _, block in source.blocks()]
        assert sum(block.shape[0] for block in blocks) == n


def outcome(path):
    """Return whether a file was read or refused; other errors fail the test."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(path)
    except (tp.DamagedFileError, tp.ParameterError, OSError, MemoryError) as error:
        named = path.name in str(error)
    else:
        return "read"
    # The error about a model may name a parameter.
    assert named or path.suffix == ".trig"
    return "refused"


def contents(kind, folder):
    """Return the contents of small files of a format."""
    path, found = folder / f"seed.{kind}", []
    for save in SEEDS[kind]:
        save(path)
        found.append(path.read_bytes())
        path.unlink()
    return found


@pytest.mark.parametrize("kind", SEEDS)
def test_damaged_files_are_read_or_refused_by_name(kind, tmp_path):
    files = contents(kind, tmp_path)
    path = tmp_path / f"a.{kind}"
    path.write_bytes(files[0])
    # Otherwise, damage has little effect.
    assert outcome(path) == "read"
    outcomes = []
    # HDF5 is slower.
    for number in range(EXECUTIONS // 5 if kind.startswith("h5") else EXECUTIONS):
        rng = np.random.default_rng([SEED, list(SEEDS).index(kind), number])
        path.unlink()
        path.write_bytes(damaged(files[rng.integers(len(files))], rng))
        outcomes.append(outcome(path))
    assert "refused" in outcomes


@pytest.mark.parametrize("path", sorted(KEPT.iterdir()), ids=lambda path: path.name)
def test_files_that_were_once_read_wrongly(path):
    assert outcome(path) == "refused"


def test_every_byte_and_every_length_of_a_model_counts(tmp_path):
    path = tmp_path / "model.trig"
    model = min(contents("trig", tmp_path), key=len)
    step = max(1, len(model) // 500)
    for at in {*range(16), *range(0, len(model), step)}:
        flipped = bytearray(model)
        flipped[at] ^= 1 << at % 8
        for content in (bytes(flipped), model[:at]):
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            with pytest.raises(tp.DamagedFileError, match=r"model\.trig"):
                tp.load(path)
