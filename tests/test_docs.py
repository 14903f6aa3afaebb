"""The documentation: its code runs and prints what the pages show, and every name is documented."""

import doctest
import io
import logging
import pkgutil
import re
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tools.pictures import RECIPES, recipe_data

import trigpoint as tp
from trigpoint._cli import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

GENERATED = {"_build", "generated"}
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in PAGES if not GENERATED & set(page.relative_to(ROOT).parts)]

# A fenced block. A comment before it excludes it, <!-- not run: the reason -->. A block of text
# that follows immediately shows its output. After <!-- within 5 % -->, numbers may differ by that
# much, as they do between versions of dependencies.
FENCE = re.compile(
    r"^(<!-- (not run: (?P<reason>.+)|within (?P<percent>\d+) %) -->\n)?"
    r"^```(?P<language>\S+).*\n(?P<code>(?s:.*?))^```$"
    r"(\n```text\n(?P<output>(?s:.*?))^```$)?",
    re.MULTILINE,
)

# Sizes that a page shows, and the smaller ones that the test uses.
SMALLER = {"README.md": {"1_000_000": "5_000", "1000": "200", "2500": "200"}}

OUTPUT = doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the first line of its code."""

    line: int
    language: str
    code: str
    reason: str | None
    output: str | None
    percent: str | None = None


def read_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    blocks = []
    for found in FENCE.finditer(text):
        line = 1 + text.count("\n", 0, found.start("code"))
        blocks.append(Block(line, *found.group("language", "code", "reason", "output", "percent")))
    return blocks


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def runs(block: Block) -> bool:
    return block.language in ("python", "sh") and block.reason is None


PAGES_THAT_RUN = [page for page in PAGES if any(map(runs, read_blocks(page.read_text())))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder to run a page in, with the files that pages assume."""
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRIGPOINT_DATA", raising=False)
    X, _ = tp.datasets.make_swiss_roll(20_000, dtype=np.float32, random_state=1)
    np.save("points.npy", X)
    np.save("new.npy", X[:100] + 0.1)
    pd.DataFrame(X[:3000], columns=["x", "y", "z"]).to_parquet("cells.parquet")
    Path("docs/recipes").mkdir(parents=True)
    Path("docs/recipes/data").symlink_to(DOCS / "recipes" / "data")
    root, library = logging.getLogger(), logging.getLogger("trigpoint")
    handlers, level = list(root.handlers), library.level
    yield tmp_path
    import matplotlib.pyplot as plt

    plt.close("all")
    root.handlers[:] = handlers
    library.setLevel(level)


@pytest.fixture
def real_data(request):
    """Return the file of real data that a recipe assumes, if any."""
    page = request.node.callspec.params["page"]
    given = RECIPES.get(page.stem) if page.parent.name == "recipes" else None
    if given is None or (shipped := recipe_data(given, Path())).is_file():
        return given and shipped
    return request.getfixturevalue("data_dir") / given


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=page_name)
def test_page_runs(page, real_data, folder, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import notebooks

    if real_data:
        (folder / real_data.name).symlink_to(real_data)
    namespace = {"__name__": "__main__"}
    smaller = SMALLER.get(page_name(page), {})
    for block in filter(runs, read_blocks(notebooks.expand(page.read_text(), page.parent))):
        code = block.code
        for size, tried in smaller.items():
            code = code.replace(size, tried)
        printed = io.StringIO()
        with redirect_stdout(printed):
            if block.language == "python":
                # Keep the line numbers of the page, so that an error names its line.
                code = "\n" * (block.line - 1) + code
                exec(compile(code, str(page), "exec"), namespace)
            else:
                sys.stdout.write(run_commands(code, page, block.line))
        if block.output is not None:
            right = prints_as_shown(block, printed.getvalue())
            assert right, f"{page}:{block.line} prints\n{printed.getvalue()}not\n{block.output}"


def prints_as_shown(block: Block, printed: str) -> bool:
    if block.percent is None:
        return doctest.OutputChecker().check_output(block.output, printed, OUTPUT)
    number = re.compile(r"-?\d+(?:\.\d+)?")
    if number.sub("0", block.output).split() != number.sub("0", printed).split():
        return False
    shown, found = ([float(one) for one in number.findall(s)] for s in (block.output, printed))
    return found == pytest.approx(shown, rel=int(block.percent) / 100)


def run_commands(code: str, page: Path, line: int) -> str:
    """Run the ``trigpoint`` commands of a shell block, and only these; return their output."""
    shown = ""
    for command in code.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        if not words or words[0] != "trigpoint":
            continue
        assert not set(words) & {"|", "&&", ";"}, f"{page}:{line}: {command} takes a shell"
        target = None
        if ">" in words:
            place = words.index(">")
            words, target = words[:place], words[place + 1]
        printed = io.StringIO()
        with redirect_stdout(printed):
            exit_code = cli.main(words[1:])
        assert exit_code == 0, f"{page}:{line}: {command} ends with exit code {exit_code}"
        if target is None:
            shown += printed.getvalue()
        else:
            Path(target).write_text(printed.getvalue())
    return shown


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_block_is_overlooked(page):
    text = page.read_text()
    blocks = [block.language for block in read_blocks(text)]
    for language in "python", "sh":
        assert len(re.findall(rf"```+ *{language}\b", text)) == blocks.count(language)


def test_public_names_are_in_the_reference():
    listed = set()
    for page in (DOCS / "reference").glob("*.md"):
        module = "trigpoint"
        for line in page.read_text().splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            if re.fullmatch(r"   \w+", line):
                listed.add(f"{module}.{line.strip()}")
            if line.startswith(".. automodule:: "):
                listed.add(line.split()[-1])
    modules = tp, tp.metrics, tp.datasets, tp.plot
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    assert public - {"trigpoint.__version__"} == listed


def test_pages_name_what_there_is():
    """Pages list all subcommands, gallery scripts and benchmarks, and name existing functions."""
    names = re.findall(r"`(_[a-z]+(?:\.[A-Za-z_]+)+)`", (DOCS / "how-it-works.md").read_text())
    assert "_geometry.bhattacharyya" in names
    for name in names:
        assert pkgutil.resolve_name(f"trigpoint.{name}") is not None
    page = (DOCS / "command-line.md").read_text()
    assert re.findall(r"```{command-help} (\w+)", page) == list(cli.COMMANDS)
    shown = re.findall(r"```{gallery}\n(.*?)```", (DOCS / "gallery.md").read_text(), re.DOTALL)
    assert set(" ".join(shown).split()) == {
        script.stem for script in (DOCS / "gallery").glob("*.py")
    }
    linked = re.findall(r"^benchmarks/(\w+)$", (DOCS / "speed.md").read_text(), re.M)
    assert sorted(linked) == sorted(page.stem for page in (DOCS / "benchmarks").glob("*.md"))
    recipes = [DOCS / "recipes" / f"{name}.md" for name in RECIPES]
    for page in [*(DOCS / "guide").glob("*.md"), *recipes]:
        if page.stem != "index":
            assert re.search(r"```{(image|report)}|!\[", page.read_text()), page
    for page in (DOCS / "cite.md", ROOT / "CITATION.cff"):
        assert tp.__version__ in page.read_text()


def test_notebooks_have_the_code_of_their_page(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import notebooks

    for page in ("tutorial.md", "guide/graph.md", "paper/line-by-line.md"):
        text = notebooks.expand((DOCS / page).read_text(), (DOCS / page).parent)
        made = notebooks.of_page(text)
        code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
        blocks = [block for block in read_blocks(text) if block.language == "python"]
        assert code == [block.code.strip() for block in blocks]
        text = "".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown")
        assert "{py:" not in text
        assert "```text" not in text
        assert "<!--" not in text
    assert any(cell.startswith("def algorithm_2(") for cell in code)


def test_every_experiment_has_its_verdict(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import verdicts

    found = verdicts.verdicts((DOCS / "paper.md").read_text())
    pages = {page.stem for page in (DOCS / "paper").glob("*.md")}
    assert set(found) == pages - {Path(verdicts.LINE_BY_LINE).stem}
    assert all(verdict.startswith("**Here:** ") for verdict in found.values())


def test_links_of_the_readme():
    """Sphinx checks the links of the other pages."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text())
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_promises_are_held_by_tests_that_exist():
    named = re.findall(r"`(test_\w+(?:\.py)?)`", (DOCS / "promises.md").read_text())
    assert len(named) > 20
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    existing = {file.name for file in files}
    for file in files:
        existing.update(re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE))
    assert set(named) - existing == set()


def skeleton(name, imports):
    """Run the block of CONTRIBUTING.md that defines a name, after importing from some modules."""
    blocks = [block.code for block in read_blocks((ROOT / "CONTRIBUTING.md").read_text())]
    (code,) = (code for code in blocks if re.search(rf"^(class|def) {name}\b", code, re.MULTILINE))
    namespace = {"__name__": "skeleton"}
    for module in imports:
        exec(f"from trigpoint.{module} import *", namespace)
    exec(code, namespace)
    return namespace[name]


def test_skeleton_of_a_metric(monkeypatch, rng, tmp_path):
    from trigpoint import _spaces

    monkeypatch.setitem(_spaces.SPACES, "aitchison", skeleton("Aitchison", []))
    X = rng.dirichlet(np.ones(5), size=800)
    emb = tp.LaplacianEigenmaps(landmarks=100, metric="aitchison", random_state=0).fit(X)
    emb.save(tmp_path / "model.trig")
    assert np.array_equal(tp.load(tmp_path / "model.trig").transform(X), emb.transform(X))
    logarithms = np.log(X[emb.landmark_indices_])
    expected = logarithms - logarithms.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(emb.landmarks_, expected, atol=1e-12)
    for bad in (np.zeros(5), np.array([-1.0, 1, 1, 1, 1])):
        with pytest.raises(tp.ParameterError, match="contains NaN in row 3,"):
            emb.transform(np.r_[X[:3], [bad]])


def test_skeleton_of_a_graph_and_of_a_sampler(rng):
    graph, sampler = skeleton("DelaunayGraph", []), skeleton("Outermost", [])
    X = rng.normal(size=(800, 3))
    emb = tp.LaplacianEigenmaps(landmarks=sampler(100), graph=graph(), random_state=0).fit(X)
    farthest = np.argsort(-np.linalg.norm(X - X.mean(axis=0), axis=1))[:100]
    assert set(emb.landmark_indices_) == set(farthest)
    assert emb.transform(X).shape == (800, 2)


def test_skeleton_of_a_file_format(rng, tmp_path):
    from scipy.io import savemat

    X = rng.normal(size=(50, 3))
    savemat(tmp_path / "points.mat", {"X": X})
    opened = skeleton("from_path", ["_sources.array", "_sources.hdf5"])
    source = opened(tmp_path / "points.mat", None, None)
    assert np.array_equal(tp.open_source(source).take(None), X)


def test_skeleton_of_an_estimator(rng):
    kind = skeleton("CommuteTimeMaps", [])
    X = rng.normal(size=(800, 3))
    emb = kind(landmarks=100, graph=tp.KNNGraph(10), random_state=0).fit(X)
    assert np.isfinite(emb.transform(X)).all()
