"""Command-line arguments. This module imports nothing slow, so that help appears instantly."""

import argparse
import csv
import sys
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import trigpoint
from trigpoint._cli.results import USAGE, line
from trigpoint._common.words import VALUE_FORMATS

# Values of --method, and the estimator class of each.
METHODS = {
    "laplacian": "LaplacianEigenmaps",
    "diffusion": "DiffusionMaps",
    "isomap": "Isomap",
    "kernel-pca": "KernelPCA",
    "map": "LandmarkMap",
}
SAMPLERS = {
    "efficient-dpp": "EfficientDPP",
    "farthest-point": "FarthestPoint",
    "k-means++": "KMeansPlusPlus",
    "k-means": "KMeansLandmarks",
    "rp-cholesky": "RPCholesky",
    "uniform": "Uniform",
}

_OUTPUT = "coordinates: .npy, .csv or .parquet"
_MODEL = "a file written by --save"

_EXIT_CODES = """
exit codes:
  0    done
  1    failed: the reason is on standard error, and no partial file was left
  2    wrong arguments
  130  interrupted (Ctrl-C)
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are wrapped to the width of the terminal."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, line(f"error: {message}", self.prog) + "\n")


_Commands = Any  # argparse has no public name for this type.


def make_parser() -> argparse.ArgumentParser:
    """Create the argument parser with all subcommands."""
    parser = Parser(
        prog="trigpoint",
        description="Embed millions of points from a few diverse landmarks.",
        epilog=f"'trigpoint COMMAND --help' shows options and examples.\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"trigpoint {trigpoint.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for add in COMMANDS.values():
        add(commands)
    return parser


def _add_embed(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "embed",
        "embed every point of a file from a few landmarks",
        """
        trigpoint embed points.npy -o embedding.npy
        trigpoint embed cells.h5ad::obsm/X_pca -o cells.parquet -k 2500
        trigpoint embed scan.csv --columns x,y,z -o scan2d.csv --report scan.html
        trigpoint embed scan.csv --columns x,y,z -o Y.csv --png Y.png --color kind
        trigpoint embed digits.npy -o Y.npy --report digits.html --images 28x28
        trigpoint embed sentences.npy -o Y.npy --metric cosine
        trigpoint embed big.npy -o Y.npy --save big.trig --json > run.json
        """,
        "Coordinates are written block by block; the file appears only when complete.",
    )
    _add_input(parser)
    _add_drop(parser)
    _add_output(parser, _OUTPUT)
    _add_keep(parser)
    _add_selection(parser, fewest=2, words=("auto", "all"))
    _add_device(parser)
    add = parser.add_argument
    components = "dimension of the embedding (default: 2)"
    add("-l", "--components", type=count, default=2, metavar="N", help=components)
    add(
        "--method",
        choices=METHODS,
        help="default: for up to three coordinates, whichever method preserves the neighborhoods "
        "of a sample best; laplacian for more coordinates, for few points, or with any of the next "
        "four options",
    )
    add(
        "--graph",
        choices=("bhattacharyya", "euclidean", "complete"),
        help="link each landmark to its nearest neighbors under the given distance, or link all "
        "landmarks (default: chosen from the data)",
    )
    neighbors = "neighbors of each landmark (default: chosen from the data)"
    add("--neighbors", type=count, metavar="N", help=neighbors)
    add(
        "--eigenvectors",
        choices=("leading", "independent"),
        help="independent skips eigenvectors that are functions of earlier ones (default: "
        "independent for up to three coordinates, otherwise leading)",
    )
    add(
        "--extension",
        choices=("smooth", "graph", "all"),
        help="how to interpolate points: by local linear fits at the nearest landmarks (smooth), "
        "from the graph neighbors of the nearest landmarks (graph), or from all landmarks "
        "(default: chosen from the data)",
    )
    add("--save", type=Path, metavar="TRIG", help="also save the model")
    add("--report", type=Path, metavar="HTML", help="also write an interactive page")
    png = "also draw the first two coordinates, colored by the first of --color"
    add("--png", type=Path, metavar="PNG", help=png)
    add(
        "--color",
        type=names,
        metavar="NAME,...",
        help="values to color the page and plot by: columns of the same table, text or numbers, or "
        f"{VALUE_FORMATS}",
    )
    add(
        "--images",
        metavar="HxW|NAME",
        help="images of the points for the page: 28x28 or 32x32x3 if rows are images; otherwise a "
        "column or file of paths or URLs, which the page loads only on request",
    )
    add(
        "--text",
        type=names,
        metavar="NAME,...",
        help="texts of the points for the page, such as words or ids, by which they are found: "
        "columns, or files of values",
    )
    add("--title", metavar="TEXT", help="title of the page and plot")
    most = "points on the page (default: 100000, or 1000000 with --text)"
    add("--sample", type=count, metavar="N", help=most)


def _add_select(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "select",
        "choose a diverse subsample of the rows",
        """
        trigpoint select points.npy -k 500 > rows.txt
        trigpoint select cells.parquet -k 2000 -o subsample.parquet
        trigpoint select cells.h5ad::obsm/X_pca -k 500 > rows.txt
        trigpoint select points.npy -k 100 --method farthest-point > rows.txt
        trigpoint select scan.csv --columns x,y,z -k auto --refine -o small.csv
        """,
        """
        Row numbers, counted from 0, go to standard output; with -o, the rows themselves
        go to a file. Both are in the order drawn. All columns are written from text to
        text, from Parquet to Parquet or text, and from arrays; otherwise, only the
        compared columns are written.
        """,
    )
    _add_input(parser, columns="columns to compare, by name or number")
    _add_drop(parser)
    _add_output(
        parser,
        "the chosen rows: .npy, .csv or .parquet; from text also .tsv and .txt, from .h5ad also "
        ".h5ad",
        required=False,
    )
    _add_selection(parser, fewest=1, words=("auto",))
    parser.add_argument(
        "--method",
        choices=SAMPLERS,
        default="efficient-dpp",
        metavar="NAME",
        help=f"sampler: {', '.join(SAMPLERS)} (default: efficient-dpp); farthest-point includes "
        "rare rows and every outlier",
    )


def _add_transform(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "transform",
        "embed other points with a saved model",
        """
        trigpoint transform big.trig new.npy -o new_embedding.npy
        trigpoint transform scan.trig scan2.csv -o scan2_2d.csv
        """,
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help=_MODEL)
    _add_input(parser)
    _add_output(parser, _OUTPUT)
    _add_keep(parser)
    _add_jobs(parser)
    _add_device(parser)


def _add_evaluate(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "evaluate",
        "measure the landmarks and the embedding of a saved model",
        """
        trigpoint evaluate big.trig big.npy
        trigpoint evaluate digits.trig digits.npz::X --labels digits.npz::y
        """,
        "All scores are measured on a random sample of the points.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help=_MODEL)
    _add_input(parser)
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help=f"labels of the points, for nearest-neighbor accuracy: {VALUE_FORMATS}",
    )
    _add_seed(parser, "seed for the sample")


def _add_info(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "info",
        "show what a file holds, any problems, and how to embed it",
        """
        trigpoint info points.npy
        trigpoint info cells.h5ad::obsm/X_pca --json
        trigpoint info big.npy --check
        trigpoint info model.trig
        """,
    )
    _add_input(parser, "points, or a model written by --save")
    _add_drop(parser)
    parser.add_argument(
        "--check",
        action="store_true",
        help="check all values even of large files (above 268 MB)",
    )


def _add_demo(commands: _Commands) -> None:
    parser = _add_command(
        commands,
        "demo",
        "map images of digits, and unroll a Swiss roll of a million points",
        """
        trigpoint demo
        trigpoint demo --points 100000 --landmarks 300
        """,
    )
    for option, default in (("points", 1_000_000), ("landmarks", 1_000)):
        what = f"number of {option} of the roll (default: {default:,})"
        parser.add_argument(f"--{option}", type=count, default=default, metavar="N", help=what)
    _add_seed(parser, "seed for the data and the landmarks")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo"),
        metavar="DIR",
        help="folder for what is written",
    )


COMMANDS = {
    "embed": _add_embed,
    "select": _add_select,
    "transform": _add_transform,
    "evaluate": _add_evaluate,
    "info": _add_info,
    "demo": _add_demo,
}


def _add_command(
    commands: _Commands, name: str, help: str, examples: str, notes: str = ""
) -> argparse.ArgumentParser:
    """Add a subcommand, with examples at the end of its help."""
    lines = "\n".join(f"  {line.strip()}" for line in examples.strip().splitlines())
    more = "\n".join(line.strip() for line in notes.strip().splitlines())
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=f"examples:\n{lines}" + (f"\n\n{more}" if more else ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option, what in (
        ("--json", "print the result as JSON"),
        ("--quiet", "show no progress"),
        ("--debug", "show the traceback of an error"),
    ):
        parser.add_argument(option, action="store_true", help=what)
    parser.set_defaults(parser=parser)
    return parser


def _add_input(
    parser: argparse.ArgumentParser,
    what: str = "the points",
    columns: str = "columns to use, by name or number",
) -> None:
    parser.add_argument(
        "input",
        metavar="INPUT",
        help=f"{what}: .npy, .npz, .csv, .tsv, .txt, .parquet, .zarr, .h5 or .h5ad; FILE::KEY "
        "selects an array inside",
    )
    parser.add_argument("--columns", type=names, metavar="A,B,...", help=columns)


def _add_drop(parser: argparse.ArgumentParser) -> None:
    help = "columns of a table to leave out of the comparison"
    parser.add_argument("--drop", type=names, metavar="A,B,...", help=help)


def _add_keep(parser: argparse.ArgumentParser) -> None:
    help = "columns of a table to copy to the output, such as ids; for .csv and .parquet"
    parser.add_argument("--keep", type=names, metavar="A,B,...", help=help)


def _add_output(parser: argparse.ArgumentParser, help: str, *, required: bool = True) -> None:
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", required=required, help=help)
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def _add_selection(parser: argparse.ArgumentParser, fewest: int, words: tuple[str, ...]) -> None:
    """Add the options for choosing landmarks: a number of at least `fewest`, or one of `words`."""
    others = "".join(f", or {word}" for word in words)
    of_maps = "; for a map, all points up to 400000, otherwise 10000" if "all" in words else ""
    parser.add_argument(
        "-k",
        "--landmarks",
        type=lambda text: text if text in words else _whole(text, fewest, others),
        metavar="N",
        help=f"number of landmarks{others} (default: 1000, or every distinct point if there are "
        f"fewer{of_maps})",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="euclidean; cosine, which compares only directions, for embedding vectors and word "
        "counts; seuclidean, which divides each column by its standard deviation, for columns "
        "in different units; table, for columns of different kinds, such as numbers, text and "
        "dates, or with missing values; or correlation, hellinger, mahalanobis, manhattan, "
        "hamming, jaccard, haversine (latitude and longitude in degrees) or precomputed (default: "
        "table for tables of different kinds, otherwise euclidean)",
    )
    parser.add_argument(
        "--weight",
        metavar="NAME",
        help="weights of the points, which count like that many copies: a column of the table, "
        f"which is then not compared, or {VALUE_FORMATS}",
    )
    parser.add_argument(
        "--refine", action="store_true", help="improve landmarks by swapping points; slower"
    )
    _add_seed(parser, "seed for the landmarks")
    _add_jobs(parser)


def _add_seed(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--seed", type=partial(_whole, low=0), default=0, metavar="N", help=f"{what} (default: 0)"
    )


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=lambda text: -1 if text == "-1" else _whole(text, 1, ", or -1 for all cores"),
        default=-1,
        metavar="N",
        help="threads (default: -1, all cores)",
    )


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        metavar="cuda|cpu|auto",
        help="compute the coordinates of the points on a GPU, with PyTorch: cuda, cuda:1, ..., or "
        "auto for a GPU if available (default: cpu)",
    )


def names(text: str) -> list[str]:
    """Parse comma-separated names or numbers; names with commas are quoted, as in CSV."""
    found = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [""])]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} contains an empty name: write A,B,C")
    return found


def count(text: str) -> int:
    """Parse a whole number, 1 or more."""
    return _whole(text, 1)


def _whole(text: str, low: int, otherwise: str = "") -> int:
    if not text.isdecimal() or int(text) < low:
        raise argparse.ArgumentTypeError(
            f"{text!r} is invalid: pass a whole number of at least {low}{otherwise}"
        )
    return int(text)
