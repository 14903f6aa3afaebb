"""Build the release, and test it in clean environments.

The wheel and the source archive are built twice, from copies of the last commit in different
folders, and must be identical. Each is then installed in clean environments, with the oldest and
the newest allowed versions of all dependencies, and must embed points there.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESOLUTIONS = ("lowest-direct", "highest")

# What users of a release do first; it does not use the tests.
TRIAL = """
import numpy as np, trigpoint as tp
X, _ = tp.datasets.make_swiss_roll(3000, random_state=0)
emb = tp.LaplacianEigenmaps(landmarks=150, random_state=0)
Y = emb.fit_transform(X)
emb.save("model.trig")
np.testing.assert_array_equal(tp.load("model.trig").transform(X), Y)
print(tp.__version__, "embeds", Y.shape)
"""


def main(pythons: list[str]) -> int:
    """Build, compare, install and try the release; return the exit code."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        first, second = (_built(folder / name) for name in ("one", "two"))
        for one, two in zip(first, second, strict=True):
            if _digest(one) != _digest(two):
                print(f"{one.name} is another when it is built again", file=sys.stderr)
                return 1
        _check_contents(*first)
        for python in pythons or [sys.executable]:
            for archive in first:
                for resolution in RESOLUTIONS:
                    _try(archive, python, resolution, folder / "environment")
        released = ROOT / "dist"
        released.mkdir(exist_ok=True)
        for archive in first:
            shutil.copy(archive, released)
            print(f"{_digest(archive)}  dist/{archive.name}")
    return 0


def _built(folder: Path) -> tuple[Path, Path]:
    """Build the wheel and the source archive of the last commit."""
    source = folder / "source"
    source.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x"], cwd=source, input=archive, check=True)
    _uv("build", "--quiet", "--out-dir", str(folder), str(source))
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def _check_contents(wheel: Path, sdist: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        text = file.read(metadata).decode()
    assert "trigpoint/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    others = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert others == {"trigpoint"}, f"the wheel holds {others}"
    for field in ("Name", "Version", "Summary", "License-Expression", "Requires-Python", "Author"):
        assert f"\n{field}: " in f"\n{text}", f"the metadata have no {field}"
    with tarfile.open(sdist) as file:
        held = {Path(*Path(name).parts[1:]).as_posix() for name in file.getnames()}
    assert {"LICENSE", "README.md", "tests/conftest.py", "src/trigpoint/__init__.py"} <= held


def _try(archive: Path, python: str, resolution: str, environment: Path) -> None:
    """Install an archive in an empty environment, and use it in a separate folder."""
    print(f"{archive.name}, {python}, {resolution}:", end=" ", flush=True)
    _uv("venv", "--quiet", "--clear", "--python", python, str(environment))
    chosen = str(environment / "bin" / "python")
    _uv(
        *("pip", "install", "--quiet", "--python", chosen, "--resolution", resolution), str(archive)
    )
    _uv("pip", "check", "--quiet", "--python", chosen)
    subprocess.run([chosen, "-I", "-c", TRIAL], cwd=archive.parent, check=True)


def _uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *arguments], check=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
