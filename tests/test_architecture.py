"""The public names, imports that go one way, and tests that need no POSIX system."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import trigpoint

SOURCE = Path(trigpoint.__file__).parent

# From the top: a module may import from layers below its own, never from its own or above. Modules
# of a package that are needed below the rest of it are listed with their own names.
LAYERS = [
    {"__main__"},
    {"_cli"},
    {"_estimators"},
    {"_embedding"},
    {"_report", "_model"},
    {"metrics", "datasets", "plot"},
    {"_samplers", "_graphs", "_spectrum", "_layout", "_extension"},
    {"_geometry"},
    {"_pool"},
    {"_sources", "_spaces"},
    {"_numerics"},
    {"_neighbors"},
    {"_numerics.blocks"},
    {"_kernels", "_common"},
]

# `save` is a method of every estimator, and what is saved depends on which estimators there are.
EXCEPTIONS = {("_embedding", "_estimators")}


def part(parts: Sequence[str]) -> str:
    """Name in LAYERS of a module, given as the parts of its name without ``trigpoint``."""
    return (
        ".".join(parts[:2]) if any(".".join(parts[:2]) in names for names in LAYERS) else parts[0]
    )


def layer(name: str) -> int:
    return next(level for level, names in enumerate(LAYERS) if name in names)


def imported(path: Path) -> set[str]:
    """Modules of trigpoint that a file imports."""
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
                # The name that is imported may be that of a module.
                names |= {part([*parts[1:], alias.name]) for alias in node.names}
    return names


MODULES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    own = part(path.relative_to(SOURCE).with_suffix("").parts)
    above = {name for name in imported(path) - {own} if layer(name) <= layer(own)}
    above -= {there for here, there in EXCEPTIONS if here == own}
    assert not above, f"{own} imports {sorted(above)} from its own layer or above"


# What users may import. Everything else begins with an underscore and may change without notice.
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
    """What `__init__.pyi` lists, which type checkers and `lazy_loader` read."""
    tree = ast.parse((SOURCE / "__init__.pyi").read_text())
    nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in nodes for alias in node.names}


def test_public_names_are_those_of_the_stub():
    assert set(trigpoint.__all__) == stub_names()
    for name in trigpoint.__all__:
        assert getattr(trigpoint, name) is not None


@pytest.mark.parametrize("name", sorted(PUBLIC_MODULES - {"trigpoint"}))
def test_public_names_of_a_module_are_those_listed(name):
    """Both ways: what is listed is there, and what is there without an underscore is listed."""
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert {name for name in vars(module) if not name.startswith("_")} == set(module.__all__)


def test_there_are_at_most_fifty_public_names():
    modules = [importlib.import_module(name) for name in PUBLIC_MODULES - {"trigpoint"}]
    assert len(stub_names()) + sum(len(module.__all__) for module in modules) <= 50


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
    """`warnings.catch_warnings` changes the whole process, and threads would undo each other."""
    calls = "catch_warnings", "simplefilter", "filterwarnings"
    found = [path for path in MODULES if any(call in path.read_text() for call in calls)]
    assert not found


OPTIONAL = ["pyarrow", "zarr", "h5py", "pandas", "polars", "xarray", "dask", "torch"]


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import trigpoint", ["numpy", "scipy", "sklearn"]),
        # Pictures, clustering and image readers are imported where they are used.
        (
            "from trigpoint import LaplacianEigenmaps",
            ["numba", "matplotlib", "sklearn.cluster", "sklearn.manifold", "nibabel", "tqdm"],
        ),
        ("from trigpoint import open_source; open_source([[1, 2]])", OPTIONAL),
    ],
)
def test_import_leaves_heavy_modules_alone(code, heavy):
    # scikit-learn imports pandas where there is one, and pandas imports pyarrow.
    before = "import sklearn.utils; " if heavy is OPTIONAL else ""
    code = (
        f"import sys; {before}before = set(sys.modules); {code}; "
        f"print([m for m in {heavy} if m in sys.modules and m not in before])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="No trigpoint attribute LaplacianMap"):
        trigpoint.LaplacianMap  # noqa: B018
    assert set(trigpoint.__all__) <= set(dir(trigpoint))


SCRIPT = """
import contextlib
import signal
import sys
import pytest

with contextlib.suppress(ImportError):
    import distributed  # It knows the system that it is on, and imports `resource` elsewhere.

for module in ("fcntl", "resource", "termios"):
    sys.modules[module] = None
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "alarm", "setitimer"):
    if hasattr(signal, name):
        delattr(signal, name)
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


@pytest.mark.slow
def test_test_modules_are_collected_without_posix_modules():
    # Others cannot miss what they do not name.
    named = re.compile(r"\b(fcntl|resource|termios|signal)\b")
    tests = Path(__file__).parent.rglob("test_*.py")
    some = [str(file) for file in tests if named.search(file.read_text())]
    assert len(some) > 3
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *some],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
