"""The public names, and imports that go one way."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import trigpoint

SOURCE = Path(trigpoint.__file__).parent

# From the top: a module may import from layers below its own, never from its own or above.
LAYERS = [
    {"__main__", "_public"},
    {"_command"},
    {"_estimators"},
    {"_report"},
    {"metrics", "datasets", "plot"},
    {"_landmarks", "_graph", "_spectrum", "_layout", "_extension"},
    {"_geometry"},
    {"_points"},
    {"_sources"},
    {"_spaces"},
    {"_files"},
    {"_numerics"},
    {"_common"},
]


def layer(name: str) -> int:
    return next(level for level, names in enumerate(LAYERS) if name in names)


def imported(path: Path) -> set[str]:
    """Modules of trigpoint that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("trigpoint.")}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            assert node.module is not None
            parts = node.module.split(".")
            if parts == ["trigpoint"]:
                names |= {alias.name for alias in node.names}
            elif parts[0] == "trigpoint":
                names.add(parts[1])
    return names


MODULES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    above = {name for name in imported(path) - {own} if layer(name) <= layer(own)}
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


@pytest.mark.parametrize("name", sorted(PUBLIC_MODULES))
def test_public_names_are_those_listed(name):
    """Both ways: what is listed is there, and what is there without an underscore is listed."""
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    # The names of `trigpoint` are there once one of them was used.
    assert getattr(module, module.__all__[0])
    visible = {name for name in vars(module) if not name.startswith("_")}
    assert visible == set(module.__all__) - {"__version__"}


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import trigpoint", ["numpy", "scipy", "sklearn"]),
        # Pictures, clustering and image readers are imported where they are used.
        (
            "from trigpoint import LaplacianEigenmaps",
            ["numba", "matplotlib", "sklearn.cluster", "sklearn.manifold", "nibabel", "tqdm"],
        ),
    ],
)
def test_import_leaves_heavy_modules_alone(code, heavy):
    code = f"{code}; import sys; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="module 'trigpoint' has no attribute 'LaplacianMap'"):
        trigpoint.LaplacianMap  # noqa: B018
    assert set(trigpoint.__all__) <= set(dir(trigpoint))
