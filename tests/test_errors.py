"""Errors and warnings: fields, sentences, and the same in the words of the command."""

import ast
import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from trigpoint._command.messages import OPTIONS, explain

import trigpoint as tp
from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, ParameterWarning


@pytest.fixture
def too_many():
    with pytest.raises(tp.ParameterError) as caught:
        check_count("n_landmarks", 5000, high=3000, why="the data has 3000 points")
    return caught.value


def test_fields_and_sentence(too_many):
    assert (too_many.parameter, too_many.value) == ("n_landmarks", 5000)
    assert too_many.problem == "n_landmarks=5000 is too large"
    assert too_many.remedy == "choose n_landmarks <= 3000 (the data has 3000 points)"
    assert str(too_many) == f"{too_many.problem}: {too_many.remedy}"
    assert isinstance(too_many, ValueError)


def test_the_command_has_options(too_many):
    assert explain(too_many) == (
        "--landmarks 5000 is too large: choose --landmarks <= 3000 (the data has 3000 points)"
    )


def test_a_wrong_type_is_a_type_error_with_the_same_fields():
    with pytest.raises(tp.ParameterError) as caught:
        check_count("n_jobs", 2.5)
    assert isinstance(caught.value, TypeError)
    assert not isinstance(caught.value, ValueError)
    assert str(caught.value) == "n_jobs must be a whole number, got 2.5 (float)"
    assert explain(caught.value).startswith("--jobs must be")


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_copies_say_the_same(too_many, again):
    """Errors cross processes, for example those of joblib."""
    copied = again(too_many)
    assert type(copied) is ParameterValueError
    assert str(copied) == str(too_many)
    assert explain(copied) == explain(too_many)
    assert (copied.parameter, copied.value) == (too_many.parameter, too_many.value)
    warning = ParameterWarning("{n} of them", ("raise {n_neighbors}", "wait"), n=3)
    assert str(again(warning)) == "3 of them: raise n_neighbors or wait"


def test_values_are_never_templates():
    error = ParameterValueError("X", "{n_jobs}", "{file} and {parameter=}", file="a{b}{{.csv")
    assert str(error) == "a{b}{{.csv and X='{n_jobs}'"


def test_remedies_that_the_command_lacks_are_left_out():
    remedies = ("remove duplicated points", "raise {n_neighbors of the sampler}", "{radius}")
    warning = ParameterWarning("some coincide", remedies)
    assert str(warning) == (
        "some coincide: remove duplicated points, raise n_neighbors of the sampler or radius"
    )
    assert explain(warning) == "some coincide: remove duplicated points"
    # Better in the words of the library than not at all.
    assert explain(ParameterWarning("it is", "choose {radius}")) == "it is: choose radius"


def test_settings_can_be_pasted_into_a_shell():
    assert OPTIONS.setting("columns", ["a b", 2]) == "--columns 'a b,2'"
    assert OPTIONS.setting("columns", [1, 1]) == "--columns 1,1"
    assert OPTIONS.setting("eigenvectors", "leading") == "--eigenvectors leading"
    assert OPTIONS.setting("bandwidth", 2.0) == "bandwidth=2.0"


def test_warnings_of_the_library_have_fields():
    roll, _ = tp.datasets.make_swiss_roll(300, random_state=0)
    far = np.concatenate([roll, roll + 1e4])
    with pytest.warns(tp.DisconnectedGraphWarning) as caught:
        tp.LaplacianEigenmaps(landmarks=60, n_neighbors=5, random_state=0).fit(far)
    warning = caught[0].message
    assert warning.remedy == ("choose a larger n_neighbors, a larger radius or take more landmarks")
    assert explain(warning).endswith("choose a larger --neighbors or take more landmarks")


def test_other_errors_are_said_as_they_are():
    assert explain(ParameterTypeError("X", 1, "{parameter} is a number")) == "X is a number"
    assert explain(ValueError("no")) == "no"
    assert explain(EOFError()) == "EOFError"
    assert explain(FileNotFoundError(2, "No such file", "a.npy")) == "a.npy: No such file"
    assert explain(MemoryError()).startswith("out of memory: choose fewer columns")


# Files whose own errors are about what a file holds, or about a damaged file.
ABOUT_FILES = {
    "_files",
    "datasets/_ct.py",
    "datasets/_ct_volumes.py",
    "datasets/_mnist.py",
    "_estimators/model_arrays.py",
    "_estimators/saving.py",
}


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
    others = {str(path) for path in plain if path.parts[0] not in ABOUT_FILES} - ABOUT_FILES
    assert others == set()
