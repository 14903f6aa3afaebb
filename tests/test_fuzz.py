"""Damaged files of every format are read or refused by name; ``make fuzz`` is the long form."""

import warnings
from itertools import islice

import pytest
from tools.fuzz.damage import cuts, damaged, flips
from tools.fuzz.seeds import KEPT, TARGETS, models, seeds
from tools.fuzz.targets import WrongError, check, forged
from tools.fuzz.worker import content_of

import trigpoint as tp
from trigpoint._common.errors import DamagedFileError
from trigpoint._sources.tensors import read_tensors

EXECUTIONS = 100


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_files_are_read_or_refused_by_name(target, tmp_path):
    files = seeds(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = {
            check(target, content_of(target, 0, number, files), tmp_path)
            for number in range(EXECUTIONS)
        }
    assert "refused" in outcomes


@pytest.mark.parametrize(
    "path", sorted(KEPT.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_files_that_were_once_read_wrongly(path, tmp_path):
    assert check(path.parent.name, path.read_bytes(), tmp_path) == "refused"


def test_the_seeds_are_read(tmp_path):
    """Otherwise little would be learned from damaging them."""
    for target in TARGETS:
        content, *_ = seeds(target)
        assert check(target, content, tmp_path) == "read", target


def test_errors_of_other_kinds_are_noticed(tmp_path, monkeypatch):
    def fails(error):
        def read(path, **choice):
            raise error

        monkeypatch.setattr("tools.fuzz.targets.open_source", read)
        with pytest.raises(WrongError):
            check("npy", b"", tmp_path)

    fails(KeyError("x"))
    fails(ValueError("a.npy is odd"))
    fails(DamagedFileError("it is odd"))


def test_executions_can_be_repeated(rng):
    files = [b"abcdefgh" * 9, b"xyz"]
    assert content_of("npy", 3, 14, files) == content_of("npy", 3, 14, files)
    assert len({damaged(files[0], files, rng) for _ in range(50)}) > 40


def test_every_byte_and_every_length_of_a_model_counts(tmp_path):
    """One bit of each byte, in turn; the long form flips all."""
    path = tmp_path / "model.trig"
    model = min(models(), key=len)
    path.write_bytes(model)
    tp.load(path)
    damages = [*cuts(model), *islice(flips(model), 0, None, 7)]
    assert len(damages) > 2 * len(model)
    for content in damages:
        # A file that is cut and written anew would be waited for until it is on the disk.
        path.unlink()
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=r"model\.trig"):
            read_tensors(path)
    assert forged(damages[-1]) != damages[-1]
