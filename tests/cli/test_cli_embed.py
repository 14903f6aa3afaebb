"""``trigpoint embed``: coordinates and other outputs."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from terminal import embed, result, run, said
from tests.report.browsing import unpacked

import trigpoint as tp
from trigpoint._cli.cli import main
from trigpoint._cli.results import FAILED

COLUMNS = "--columns", "east,north,up"


def test_embed_writes_what_the_library_computes(folder, capsys):
    assert embed() == 0
    graph = tp.KNNGraph(metric="bhattacharyya")
    emb = tp.LaplacianEigenmaps(landmarks=100, graph=graph, random_state=0)
    np.testing.assert_array_equal(np.load("Y.npy"), emb.fit_transform(np.load("roll.npy")))
    out, err = capsys.readouterr()
    assert out.startswith("2,000 points to 2 coordinates from 100 landmarks in ")
    assert out.endswith("  Y.npy\n")
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "kind", "parameters"),
    [
        ("--method diffusion --seed 7", tp.DiffusionMaps, {"random_state": 7}),
        ("--method kernel-pca -l 3", tp.KernelPCA, {"n_components": 3}),
        ("--method map --neighbors 12", tp.LandmarkMap, {"n_neighbors": 12}),
        ("--method map -k all", tp.LandmarkMap, {"landmarks": "all"}),
        ("--method map -k 90 --refine", tp.LandmarkMap, {"landmarks__refine": True}),
        ("--eigenvectors independent", tp.LaplacianEigenmaps, {"eigenvectors": "independent"}),
        ("--metric cosine --extension all", tp.LaplacianEigenmaps, {"metric": "cosine"}),
        (
            "--method isomap --graph euclidean --neighbors 12 --refine",
            tp.Isomap,
            {"graph__n_neighbors": 12, "graph__metric": "euclidean", "landmarks__refine": True},
        ),
        ("--graph complete", tp.LaplacianEigenmaps, {"graph__mean_weight": 0.4}),
    ],
)
def test_options_reach_the_model(folder, arguments, kind, parameters):
    assert embed("--save", "m.trig", *arguments.split()) == 0
    model = tp.load("m.trig")
    assert type(model) is kind
    assert parameters.items() <= model.get_params().items()


def test_without_a_method_the_best_in_a_comparison_is_taken(folder, capsys):
    command = ["embed", "roll.npy", "-k", "200", "--quiet", "--report", "page.html", "--force"]
    assert main([*command, "-o", "Y.npy", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    best = next(iter(values["scores"]))
    assert values["method"] == best
    assert set(values["scores"]) == {"isomap", "map", "laplacian", "kernel-pca", "pca"}
    page = Path("page.html").read_text()
    names = {"isomap": "Isomap", "map": "LandmarkMap", "laplacian": "LaplacianEigenmaps"}
    titles = [page.index(f">{names[name]}</th>") for name in values["scores"] if name in names]
    assert titles == sorted(titles)
    assert main([*command, "-o", "again.npy"]) == 0
    said = capsys.readouterr().out.splitlines()[1]
    assert said.startswith(f"  method {best}: best neighborhood agreement, 0.")
    assert embed("--method", best, "--force", "-k", "200") == 0
    np.testing.assert_array_equal(np.load("Y.npy"), np.load("again.npy"))


@pytest.mark.parametrize("arguments", [["-l", "4"], ["--neighbors", "9"], ["--extension", "all"]])
def test_without_a_method_some_options_mean_eigenmaps(folder, capsys, arguments):
    command = ["embed", "roll.npy", "-o", "Y.npy", "-k", "50", "--quiet", "--json"]
    assert main([*command, *arguments]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["method"], values["scores"]) == ("laplacian", {})


def test_methods_that_were_not_compared(folder, capsys):
    np.save("few.npy", np.load("roll.npy")[:12])
    assert main(["embed", "few.npy", "-o", "Y.npy", "--quiet"]) == 0
    assert "method laplacian: methods are compared for 20 points or" in capsys.readouterr().out
    np.save("line.npy", np.random.default_rng(0).normal(size=(100, 1)))
    assert main(["embed", "line.npy", "-l", "2", "-o", "Z.npy", "--quiet"]) == 0
    assert "isomap was not tried: " in " ".join(capsys.readouterr().out.split())


def test_json_is_all_that_is_printed(folder, capsys):
    assert embed("--json", "--save", "m.trig") == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert err == ""
    assert values["input"] == {"name": "roll.npy", "rows": 2000, "columns": 3, "dtype": "float32"}
    assert values["landmarks"] == 100
    assert values["written"] == ["Y.npy", "m.trig"]
    assert len(values["eigenvalues"]) == values["components"] == 2


def test_a_sparse_file_by_direction(folder, capsys, rng):
    counts = rng.poisson(0.2, size=(300, 40)).astype(np.float32)
    counts[:, 0] += 1
    sparse.save_npz("counts.npz", sparse.csr_array(counts))
    options = "-k", "40", "--metric", "cosine", "--save", "m.trig"
    assert result(capsys, "embed", "counts.npz", "-o", "Y.npy", *options)["metric"] == "cosine"
    sparse.save_npz("longer.npz", sparse.csr_array(4 * counts))
    assert run("transform", "m.trig", "longer.npz", "-o", "Z.npy") == 0
    np.testing.assert_array_equal(np.load("Z.npy"), np.load("Y.npy"))
    radii = [
        result(capsys, "evaluate", "m.trig", name)["coverage_radius"]
        for name in ("counts.npz", "longer.npz")
    ]
    assert radii[0] == radii[1] < 2
    assert run("info", "counts.npz") == 0
    assert "300 rows x 40 columns, sparse float32" in capsys.readouterr().out


def test_the_device_is_for_transform_only(folder, monkeypatch):
    seen = []
    transform = tp.LaplacianEigenmaps.transform

    def watched(self, X, *, out=None, device=None):
        seen.append(device)
        return transform(self, X, out=out)

    monkeypatch.setattr(tp.LaplacianEigenmaps, "transform", watched)
    assert embed("--device", "cpu", "--save", "m.trig") == 0
    assert run("transform", "m.trig", "roll.npy", "-o", "Z.npy", "--device", "auto") == 0
    assert embed("--force") == 0
    assert seen == ["cpu", "auto", None]


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines(folder, capsys):
    np.save("two.npy", np.concatenate([np.load("roll.npy"), np.load("roll.npy") + 1e4]))
    assert run("embed", "two.npy", "-o", "Y.npy", "-k", "100") == 0
    err = capsys.readouterr().err
    assert "trigpoint: warning: the landmark graph " in err
    assert ".py:" not in err


def colors_of(page):
    """Return the names of the colorings that a page offers."""
    return [column["name"] for column in facts_of(page)["colors"]]


def facts_of(page):
    """Return the facts that a page carries."""
    return unpacked(Path(page).read_text(encoding="utf-8"))[0]


def test_colors_of_a_page(folder):
    """Colorings do not change the embedding; a column precedes a folder of the same name."""
    (folder / "name").mkdir()
    assert run("embed", "roll.csv", "-o", "Y.npy", "-k", "60") == 0
    arguments = ["-o", "Z.npy", "-k", "60", "--report", "page.html", "--color"]
    assert run("embed", "roll.csv", *arguments, "name,up,labeled.npz::y") == 0
    np.testing.assert_array_equal(np.load("Z.npy"), np.load("Y.npy"))
    assert colors_of("page.html") == ["name", "up", "y"]
    assert facts_of("page.html")["colors"][0]["labels"] == ["point"]


def test_images_and_text_of_a_page(folder, capsys):
    arguments = ["-o", "Y.npy", "-k", "60", "--report", "page.html", "--force"]
    columns = ["roll.csv", *COLUMNS]
    assert run("embed", *columns, *arguments, "--images", "1x3", "--text", "name") == 0
    facts, array = unpacked(Path("page.html").read_text(encoding="utf-8"))
    (texts,) = facts["texts"]
    assert (texts["name"], texts["cut"]) == ("name", 0)
    assert array(texts["joined"]).tobytes().split(b"\0") == [b"point"] * 2000
    assert facts["tiles"]["height"] == 1
    assert run("embed", *columns, *arguments, "--images", "name") == 0
    assert facts_of("page.html")["addresses"][0] == "point"
    capsys.readouterr()
    assert run("embed", *columns, *arguments, "--images", "28x28") == FAILED
    assert "does not match the 3 values of a row" in said(capsys)


def test_title_texts_and_sample_of_a_page(folder, capsys):
    arguments = ["-o", "Y.npy", "-k", "60", "--report", "page.html", "--force"]
    columns = ["roll.csv", *COLUMNS]
    more = ["--title", "A <roll>", "--text", "name,labeled.npz::y", "--sample", "70"]
    assert run("embed", *columns, *arguments, *more) == 0
    facts = facts_of("page.html")
    assert "<title>A &lt;roll&gt;</title>" in Path("page.html").read_text(encoding="utf-8")
    assert [texts["name"] for texts in facts["texts"]] == ["name", "y"]
    assert facts["sampled"] == 70
    for option in ("--title", "--text", "--sample"):
        capsys.readouterr()
        with pytest.raises(SystemExit):
            run("embed", *columns, "-o", "Z.npy", option, "9")
        assert f"{option} applies only to --report" in capsys.readouterr().err


def test_a_picture(folder, capsys):
    imread = pytest.importorskip("matplotlib.image").imread
    assert embed("--png", "Y.png") == 0
    assert "  Y.npy\n  Y.png\n" in capsys.readouterr().out
    plain = imread("Y.png")
    assert plain.shape == (900, 1200, 4)
    days = np.datetime64("2020-01-01") + np.arange(2000)
    days[7] = np.datetime64("NaT")
    np.save("days.npy", days)
    assert embed("--force", "--png", "Y.png", "--color", "days.npy") == 0
    assert not np.array_equal(imread("Y.png"), plain)
    np.save("names.npy", np.arange(2000).astype(str))
    capsys.readouterr()
    assert run("embed", "roll.npy", "-o", "Z.npy", "--png", "Z.png", "--color", "names.npy") == 1
    assert "2,000 classes" in said(capsys)
    assert not (folder / "Z.npy").exists()
