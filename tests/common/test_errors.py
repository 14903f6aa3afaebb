"""Errors, labels, words and memory limits."""

import ast
import copy
import pickle
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trigpoint as tp
import trigpoint._common.memory as memory
from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError, ParameterWarning, short
from trigpoint._common.labels import MOST_CLASSES, are_classes
from trigpoint._common.words import html_table, printable
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
    """Errors are passed between processes, for example by joblib."""
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


# Files that raise their own errors about the content of a file, or about a damaged file.
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


def test_text_for_a_terminal():
    assert printable("a\tb\nc \u00e9 \u6f22") == "a\tb\nc \u00e9 \u6f22"
    assert printable("\x1b[2J\x07\x9b31m\r\ud800") == r"\x1b[2J\x07\x9b31m\r\ud800"
    assert printable("\u202egnp.exe") == r"\u202egnp.exe"


def test_tables_for_notebooks():
    """Names and values are text, never markup."""
    table = html_table("a < b", {"<i>": "1 & 2"})
    assert "<p><b>a &lt; b</b></p>" in table
    assert "&lt;i&gt;" in table
    assert "1 &amp; 2" in table


FEW, MANY = np.arange(50) % MOST_CLASSES, np.arange(50) % (MOST_CLASSES + 1)


def with_gap(values, dtype):
    values = values.astype(dtype)
    values[3] = None if values.dtype == object else np.nan
    return values


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (FEW, True),
        (FEW.astype(np.uint8), True),
        (MANY, False),
        # The last value is one too many.
        (np.append(np.arange(100_000) % MOST_CLASSES, 99), False),
        (FEW.astype(float), False),
        (with_gap(FEW, float), True),
        (with_gap(MANY, float), False),
        (with_gap(FEW + 0.5, float), False),
        (np.append(with_gap(FEW, float), np.inf), False),
        (with_gap(FEW, object), True),
        (with_gap(MANY, object), False),
        (np.array([1, 2.0, None], dtype=object), True),
        (np.array([1, 2.5, None], dtype=object), False),
        (np.asarray(pd.array([1, 2, None], dtype="Int64")), True),
        (np.array(["a", "b"]), True),
        (np.array([f"{i}" for i in range(50)]), True),
        (np.array([b"a", b"b"]), True),
        (np.array([True, False]), True),
        (np.array([True, None], dtype=object), True),
        (np.array(["a", 1, None], dtype=object), True),
        (np.array(["2020-01-01"], dtype="M8[s]"), False),
        (np.array([date(2020, 1, 1), None], dtype=object), False),
        (np.full(3, np.nan), False),
        (np.full(3, None), False),
    ],
)
def test_classes(values, expected):
    assert are_classes(values) is expected


GB = 2**30


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Return a machine with 16 GB and the files that describe its control groups."""
    monkeypatch.setattr(memory, "_MEMBERSHIP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "resource", None)
    sizes = {"SC_PHYS_PAGES": 16 * GB // 4096, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", sizes.get, raising=False)
    (tmp_path / "groups").mkdir()
    return tmp_path


NONE = {}
OF_THE_PARENT = {
    "cgroup": "0::/service/job\n",
    "groups/service/job/memory.max": "max\n",
    "groups/service/memory.max": f"{4 * GB}\n",
}
# Inside a container, its own group is mounted as the root.
OF_VERSION_1 = {
    "cgroup": "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n0::/\n",
    "groups/memory/memory.limit_in_bytes": f"{2 * GB}\n",
}


@pytest.mark.parametrize(("files", "limit"), [(NONE, 16), (OF_THE_PARENT, 4), (OF_VERSION_1, 2)])
def test_the_limit_of_a_control_group(groups, files, limit):
    for name, content in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(content)
    assert memory.physical_memory.__wrapped__() == limit * GB


def test_a_limit_of_the_process(groups, monkeypatch):
    """``ulimit -v`` sets this limit."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(memory, "resource", resource)
    monkeypatch.setattr(resource, "getrlimit", lambda what: (2 * GB, 4 * GB))
    assert memory.physical_memory.__wrapped__() == 2 * GB
    monkeypatch.setattr(resource, "getrlimit", lambda what: (resource.RLIM_INFINITY,) * 2)
    assert memory.physical_memory.__wrapped__() == 16 * GB
