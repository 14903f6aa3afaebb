"""Public names, one-way imports, and optional packages."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import trigpoint
from trigpoint._cli.cli import main

SOURCE = Path(trigpoint.__file__).parent

# From top to bottom: a module may import from the layers below its own only. Modules that the rest
# of their own package needs are listed by name.
LAYERS = [
    {"__main__"},
    {"_cli"},
    {"_estimators"},
    {"_embedding"},
    {"_fitted"},
    {"_report", "_model"},
    {"metrics", "datasets", "plot"},
    {"_samplers", "_graphs", "_spectrum", "_layout", "_extension"},
    {"_geometry"},
    {"_byte_pool"},
    {"_pool"},
    {"_sources", "_spaces"},
    {"_numerics"},
    {"_neighbors"},
    {"_numerics.blocks"},
    {"_kernels"},
    {"_common"},
]

# Every estimator has a method `save`, which in turn needs the list of all estimators.
EXCEPTIONS = {("_fitted", "_estimators")}


def part(parts: Sequence[str]) -> str:
    """Return the entry of LAYERS for a module, given as parts of its name below ``trigpoint``."""
    return (
        ".".join(parts[:2]) if any(".".join(parts[:2]) in names for names in LAYERS) else parts[0]
    )


def layer(name: str) -> int:
    return next(level for level, names in enumerate(LAYERS) if name in names)


def imported(path: Path) -> set[str]:
    """Return the modules of trigpoint that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found = [a.name.split(".") for a in node.names if a.name.startswith("trigpoint.")]
            names |= {part(parts[1:]) for parts in found}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            assert node.module is not None
            parts = node.module.split(".")
            if parts == ["trigpoint"]:
                names |= {alias.name for alias in node.names}
            elif parts[0] == "trigpoint":
                # The imported name may be that of a module.
                names |= {part([*parts[1:], alias.name]) for alias in node.names}
    return names


MODULES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    own = part(path.relative_to(SOURCE).with_suffix("").parts)
    above = {name for name in imported(path) - {own} if layer(name) <= layer(own)}
    above -= {there for here, there in EXCEPTIONS if here == own}
    assert not above, f"{own} imports {sorted(above)} from its own layer or above"


# The modules that users may import. All others begin with an underscore.
PUBLIC_MODULES = {"trigpoint", "trigpoint.datasets", "trigpoint.metrics", "trigpoint.plot"}


def test_modules_without_an_underscore_are_the_public_ones():
    found = {
        ".".join(("trigpoint", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        for path in SOURCE.rglob("*.py")
    }
    public = {name for name in found if not any(part.startswith("_") for part in name.split("."))}
    assert public == PUBLIC_MODULES


def stub_names() -> set[str]:
    """Return the names in `__init__.pyi`, which type checkers and `lazy_loader` read."""
    tree = ast.parse((SOURCE / "__init__.pyi").read_text())
    nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in nodes for alias in node.names}


def test_public_names_are_those_of_the_stub():
    assert set(trigpoint.__all__) == stub_names()
    for name in trigpoint.__all__:
        assert getattr(trigpoint, name) is not None


def test_public_names_of_modules_are_those_listed_and_at_most_fifty():
    """Every listed name exists, and every name without an underscore is listed."""
    count = len(stub_names())
    for module in map(importlib.import_module, PUBLIC_MODULES - {"trigpoint"}):
        count += len(module.__all__)
        assert len(set(module.__all__)) == len(module.__all__)
        assert {name for name in vars(module) if not name.startswith("_")} == set(module.__all__)
    assert count <= 50


def test_estimators_have_at_most_ten_parameters():
    from sklearn.base import BaseEstimator

    named = [getattr(trigpoint, name) for name in stub_names()]
    kinds = [kind for kind in named if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    assert len(kinds) > 15
    for kind in kinds:
        assert len(inspect.signature(kind).parameters) <= 10, kind


def test_a_file_name_means_one_thing():
    counts = Counter(path.name for path in SOURCE.rglob("*.py"))
    assert {name for name, count in counts.items() if count > 1} <= {"__init__.py", "torch.py"}


def test_no_module_catches_warnings():
    """`warnings.catch_warnings` changes the whole process, so threads would interfere."""
    calls = "catch_warnings", "simplefilter", "filterwarnings"
    found = [path for path in MODULES if any(call in path.read_text() for call in calls)]
    assert not found


OPTIONAL = ["pyarrow", "zarr", "h5py", "pandas", "polars", "xarray", "dask", "torch"]


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import trigpoint", ["numpy", "scipy", "sklearn"]),
        # Plotting, clustering and image libraries are imported where they are used.
        (
            "from trigpoint import LaplacianEigenmaps",
            ["numba", "matplotlib", "sklearn.cluster", "sklearn.manifold", "nibabel"],
        ),
        ("from trigpoint import open_source; open_source([[1, 2]])", OPTIONAL),
    ],
)
def test_import_leaves_heavy_modules_alone(code, heavy):
    # scikit-learn imports pandas if it is installed, and pandas imports pyarrow.
    before = "import sklearn.utils; " if heavy is OPTIONAL else ""
    code = (
        f"import sys; {before}before = set(sys.modules); {code}; "
        f"print([m for m in {heavy} if m in sys.modules and m not in before])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_posix_modules_are_not_needed():
    posix = "fcntl", "resource", "termios"
    code = f"import sys; sys.modules.update(dict.fromkeys({posix}))"
    for path in MODULES:
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] not in ("__main__", "__init__"):
            code += f"; import trigpoint.{'.'.join(parts)}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="No trigpoint attribute LaplacianMap"):
        trigpoint.LaplacianMap  # noqa: B018
    assert set(trigpoint.__all__) <= set(dir(trigpoint))


@pytest.fixture
def missing(monkeypatch):
    """Return a function that makes a package appear to be missing."""

    def hide(package):
        for module in [name for name in sys.modules if name.split(".")[0] == package]:
            monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setitem(sys.modules, package, None)

    return hide


def test_plots_without_matplotlib(rng, missing):
    missing("matplotlib")
    X = rng.normal(size=(60, 2))
    emb = trigpoint.LaplacianEigenmaps(landmarks=20, random_state=0).fit(X)
    arguments = {"embedding": X, "compare": {"a": X}}
    for name in trigpoint.plot.__all__:
        with pytest.raises(
            ImportError, match=r"^plotting needs matplotlib: pip install matplotlib$"
        ):
            getattr(trigpoint.plot, name)(arguments.get(name, emb))


@pytest.mark.parametrize(
    ("package", "command", "said"),
    [
        ("matplotlib", "embed X.npy -o Y.npy --png Y.png", "--png needs matplotlib"),
        ("matplotlib", "demo --points 100000000 --out out", "drawing the plot needs matplotlib"),
    ],
)
def test_commands_without_a_package(package, command, said, missing, tmp_path, capsys, monkeypatch):
    """Commands name the package to install before they do any work."""
    missing(package)
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", np.eye(30))
    assert main(command.split()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"trigpoint: error: {said}: pip install ")
