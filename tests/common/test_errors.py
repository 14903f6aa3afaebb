"""Errors and warnings: what they say, what they are about, and that they survive copies."""

import ast
import copy
import pickle
from pathlib import Path

import pytest

import trigpoint as tp
from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError, ParameterWarning, short
from trigpoint._estimators.isomap import FarRowError


@pytest.fixture
def too_many():
    with pytest.raises(tp.ParameterError) as caught:
        check_count("n_landmarks", 5000, high=3000, why="the data has 3000 points")
    return caught.value


def test_an_error_has_its_parameter(too_many):
    assert too_many.parameter == "n_landmarks"
    assert str(too_many) == (
        "n_landmarks=5000 is too large: choose n_landmarks <= 3000 (the data has 3000 points)"
    )
    assert isinstance(too_many, ParameterValueError)
    assert isinstance(too_many, ValueError)


def test_a_wrong_type_is_a_type_error():
    with pytest.raises(tp.ParameterError) as caught:
        check_count("n_jobs", 2.5)
    assert isinstance(caught.value, TypeError)
    assert not isinstance(caught.value, ValueError)
    assert str(caught.value) == "n_jobs must be a whole number, got 2.5 (float)"


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_copies_say_the_same(too_many, again):
    """Errors cross processes, for example those of joblib."""
    copied = again(too_many)
    assert type(copied) is ParameterValueError
    assert str(copied) == str(too_many)
    assert copied.parameter == "n_landmarks"
    far = again(FarRowError("row 3 of X is far", "X"))
    assert (type(far), str(far), far.parameter) == (FarRowError, "row 3 of X is far", "X")
    warning = again(ParameterWarning("raise n_neighbors"))
    assert (type(warning), str(warning)) == (ParameterWarning, "raise n_neighbors")


def test_long_values_are_shortened():
    assert short("a" * 118) == repr("a" * 118)
    assert len(short("a" * 119)) <= 120
    rows = short(list(range(1000)))
    assert rows.startswith("[0, 1, 2")
    assert rows.endswith("998, 999]")
    assert len(rows) <= 120


# Files whose own errors are about what a file holds, or about a damaged file.
ABOUT_FILES = {"_cli", "_sources", "_estimators/model_arrays.py", "_estimators/saving.py"}


def test_errors_about_parameters_have_fields():
    source = Path(tp.__file__).parent
    plain = {
        path.relative_to(source)
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("ValueError", "TypeError")
    }
    others = {path.as_posix() for path in plain if path.parts[0] not in ABOUT_FILES} - ABOUT_FILES
    assert others == set()
