"""Beyond the paper: what there is now, on its data and with its splits."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from experiments.internals import knn_labels
from experiments.pages import Page, grouped, mean
from experiments.paper import headneck, mnist
from experiments.paper.classification import (
    BHATTACHARYYA,
    DPP,
    LIBRARY,
    PARAMETERS,
    REFERENCE,
    Task,
    estimator,
    mean_and_spread,
    runs_text,
    scored,
)
from experiments.runner import Experiment, Row, Settings
from trigpoint import (
    DiffusionMaps,
    EfficientDPP,
    Isomap,
    KernelPCA,
    LandmarkMap,
    LaplacianEigenmaps,
    RPCholesky,
)

RUNS, N_LANDMARKS, QUICK_LANDMARKS = 3, 1000, 150
DATA = {"mnist": "MNIST", "patch": "CT, split by patch", "patient": "CT, split by patient"}
N_COMPONENTS, QUICK_COMPONENTS = {"mnist": 100, "patch": 50, "patient": 50}, 20

# Takes the points, the numbers of coordinates and of landmarks, and the seed; returns coordinates.
Method = Callable[[Task, int, int, int], tuple[Any, Any]]


def _fitted(make: Callable[[int, int, int], Any]) -> Method:
    """Coordinates by an estimator with scikit-learn's methods."""

    def embed(task: Task, wanted: int, k: int, seed: int) -> tuple[Any, Any]:
        method = make(wanted, k, seed)
        return method.fit_transform(task.train), method.transform(task.test)

    return embed


def _estimator(kind: type) -> Method:
    """An estimator with its defaults, but for the number of coordinates and of landmarks."""
    return _fitted(lambda wanted, k, seed: kind(wanted, landmarks=k, random_state=seed))


def _sampled(sampler: Callable[[int, int], Any]) -> Method:
    """Laplacian eigenmaps from the landmarks of a sampler."""

    def embed(task: Task, wanted: int, k: int, seed: int) -> tuple[Any, Any]:
        emb = LaplacianEigenmaps(wanted, landmarks=sampler(k, seed).fit(task.train).indices_)
        return emb.fit_transform(task.train), emb.transform(task.test)

    return embed


def _pca(wanted: int, k: int, seed: int) -> Any:
    from sklearn.decomposition import PCA

    return PCA(wanted, random_state=seed)


def _nystroem(wanted: int, k: int, seed: int) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    return make_pipeline(Nystroem(n_components=k, random_state=seed), _pca(wanted, k, seed))


def _umap(wanted: int, k: int, seed: int) -> Any:
    from umap import UMAP

    return UMAP(n_components=wanted, random_state=seed)


METHODS: dict[str, Method] = {
    REFERENCE: lambda task, wanted, k, seed: (task.train, task.test),
    "LaplacianEigenmaps": _estimator(LaplacianEigenmaps),
    "the same, refined landmarks": _sampled(
        lambda k, seed: EfficientDPP(k, refine=True, random_state=seed)
    ),
    "the same, landmarks by RPCholesky": _sampled(lambda k, seed: RPCholesky(k, random_state=seed)),
    "DiffusionMaps": _estimator(DiffusionMaps),
    "KernelPCA": _estimator(KernelPCA),
    "Isomap": _estimator(Isomap),
    "LandmarkMap, 2 coordinates, own number of landmarks": _fitted(
        lambda wanted, k, seed: LandmarkMap(random_state=seed)
    ),
    "PCA": _fitted(_pca),
    "scikit-learn's Nystroem, then PCA": _fitted(_nystroem),
    "umap-learn": _fitted(_umap),
    "umap-learn, 2 coordinates": _fitted(lambda wanted, k, seed: _umap(2, k, seed)),
}
THE_PAPERS = {"efficient DPP, library's graph": DPP, "the same, Bhattacharyya graph": BHATTACHARYYA}


def cases(settings: Settings) -> Iterator[Row]:
    """Every method on all data, seed by seed."""
    k = QUICK_LANDMARKS if settings.quick else N_LANDMARKS
    for seed in settings.seeds(RUNS):
        for data in DATA:
            for method in (*THE_PAPERS, *METHODS):
                yield {"data": data, "method": method, "k": k, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Embed and classify once."""
    task = _task(case, settings)
    wanted = QUICK_COMPONENTS if settings.quick else N_COMPONENTS[case["data"]]
    k, seed = case["k"], case["seed"]
    if case["method"] in THE_PAPERS:
        emb = estimator(task, LIBRARY, THE_PAPERS[case["method"]], k, wanted, seed).fit(task.train)
        train, test = emb.transform(task.train), emb.transform(task.test)
    else:
        train, test = METHODS[case["method"]](task, wanted, k, seed)
    labels = knn_labels(train, task.train_labels, test)
    return {"accuracy": scored(task, labels)["accuracy"]}


def _task(case: Row, settings: Settings) -> Task:
    if case["data"] == "mnist":
        sizes = mnist.QUICK_SIZES if settings.quick else mnist.SIZES
        return mnist.digits(settings.find("mnist"), *sizes)
    variant = next(found for found in headneck.VARIANTS if found.split == case["data"])
    n_patches = variant.quick_patches if settings.quick else variant.n_patches
    place = settings.find("ct"), variant.source, variant.split, n_patches, case["seed"]
    return headneck.patch_task(*place)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracy of every method on all data, as bars and as a table."""
    page.text(
        """The paper's method and what there is now, on the same points, with the same splits and
        the nearest neighbor as before."""
    )
    from matplotlib.ticker import LogLocator

    cells = grouped(rows, "method", "data")
    shown = _shown(rows)
    with page.picture(
        "Error of every method", figsize=(9, 3.6), ncols=len(shown), sharey=True, squeeze=False
    ) as axes:
        for panel, data in zip(axes[0], shown, strict=True):
            found = [name for name in (*THE_PAPERS, *METHODS) if (name, data) in cells]
            errors = [100 - 100 * mean(cells[name, data], "accuracy") for name in found]
            colors = ["#d55e00" if name in THE_PAPERS else "#0072b2" for name in found]
            panel.scatter(errors, found, c=colors)
            panel.set(xlabel="error, %", xscale="log", title=DATA[data])
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_formatter("")
            panel.grid(axis="y", alpha=0.3)
        axes[0][0].invert_yaxis()
    brief(rows, settings, page)
    with page.details("How it was run"):
        _describe(settings, page)


def _shown(rows: Sequence[Row]) -> list[str]:
    """Data that there are rows of."""
    return [data for data in DATA if any(row["data"] == data for row in rows)]


def brief(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Accuracy of every method on all data."""
    cells, shown = grouped(rows, "method", "data"), _shown(rows)
    lines = [
        [method, *(mean_and_spread(cells.get((method, data), []), "accuracy") for data in shown)]
        for method in (*THE_PAPERS, *METHODS)
    ]
    page.table(
        ["accuracy, %", *(DATA[data] for data in shown)],
        [[cell or "not run" for cell in line] for line in lines],
    )
    runs = runs_text({len(found) for found in cells.values()})
    page.text(f"Of each, {runs}.")


def _describe(settings: Settings, page: Page) -> None:
    k = QUICK_LANDMARKS if settings.quick else N_LANDMARKS
    page.text(
        f"""{k:,} landmarks, and {N_COMPONENTS["mnist"]} coordinates of digits and
        {N_COMPONENTS["patch"]} of patches, unless the name says otherwise; everything else has
        its default. Where the table of all runs names a GPU, that found neighbors and refined
        landmarks; umap-learn was run there, and scored on all patches that a split leaves for
        testing, the others on {headneck.N_TEST:,}. With two coordinates, which are for pictures,
        the nearest neighbor says how well these separate the classes."""
    )


EXPERIMENT = Experiment(
    "beyond",
    "Beyond the paper: its data, its splits, and what there is now",
    cases,
    run,
    show,
    PARAMETERS | {"n_components": N_COMPONENTS},
    brief,
)
