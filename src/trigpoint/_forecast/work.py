"""Work of each stage, in seconds of one processor of the machine that `speed` compares with.

The constants were fitted to the processor time of runs with 10,000 to 5 million points of 3 to 784
dimensions and 300 to 4,000 landmarks. ``experiments/benchmarks/forecast.py`` has the measurements
beside forecasts.
"""

from dataclasses import dataclass, replace

from trigpoint._estimators.comparison import COMPARED_POINTS
from trigpoint._estimators.defaults import SHOWN, many_coordinates
from trigpoint._estimators.landmark_map import MOST_COLUMNS, POOL
from trigpoint._estimators.trying import (
    LOOKED_AT,
    MOST_COORDINATES,
    MOST_LANDMARKS,
    PICTURE_GRAPHS,
)
from trigpoint._forecast.job import Job
from trigpoint._geometry import covariance_mode
from trigpoint._graph import COUNTED, MATRIX_MAX

# What a stage takes even if there is nothing to do.
_LEAST = 0.005

# Directions in which points of many columns usually spread, at most.
_USUAL_DIMENSION = 15

# Neighborhoods that are searched in vain, in passes over all points that are not filled.
_UNFILLED = 300

# Seconds to compile loops, each of which stands for those that are compiled with it.
_TREE_LOOPS = {"tree.nearest": 10.0}
_COVARIANCE_LOOPS = {"ball.ball_covariances": 2.0}
_SMALL_TREE_LOOPS = {"race.race": 3.0}
_LARGE_TREE_LOOPS = {"repulsion.repelling_in_tree": 7.0}
_PRODUCT_LOOPS = {"scan.sift": 5.0, "repulsion.repelling": 4.0}
_PICTURE_LOOPS = {"extension.graph_sums_of_all": 6.0}
_COMPLETE_LOOPS = {"extension.dense_exponents": 3.0}
_LANDMARK_LOOPS = {"landmark_search.search_tree": 5.0}
_SURFACE_LOOPS = {"extension.blended_planes": 2.0}
_GRAPH_LOOPS = {"extension.graph_sums": 6.0}


@dataclass(frozen=True)
class Work:
    """Seconds of one processor.

    Attributes
    ----------
    alone : float
        In one thread, whatever the number of threads.
    shared : float
        In compiled loops, by all threads.
    products : float
        In matrix products, by all threads.
    """

    alone: float = 0.0
    shared: float = 0.0
    products: float = 0.0


def stage_work(job: Job, compare: bool, report: bool) -> dict[str, Work]:
    """Work of each stage; `compare` adds that of trying methods, `report` that of the page."""
    stages = {"comparison": _comparison(job)} if compare else {}
    stages |= {
        "landmarks": _tree_draw(job) if job.by_tree else _product_draw(job),
        "graph": Work(alone=_LEAST, shared=_graph(job)),
        "spectrum": _spectrum_and_trials(job),
        "points": _points(job),
    }
    if report:
        stages["report"] = _report(job)
    return stages


def map_work(job: Job, compare: bool, report: bool) -> dict[str, Work]:
    """Work of the stages of a map; its landmarks are drawn from a part of many points."""
    pool = replace(job, n=min(job.n, POOL * job.k), d=min(job.d, MOST_COLUMNS))
    others = stage_work(pool, compare, False)
    affinities = 4e-5 * job.k if job.by_tree else 4.5e-9 * pool.n * job.k
    # Places of points are predicted by planes, which takes longer than means.
    points = Work(_LEAST, 4 * _points(job).shared) if job.by_tree else _points(job)
    before = ("comparison", "landmarks")
    stages: dict[str, Work] = {stage: others[stage] for stage in before if stage in others}
    stages |= {
        "affinities": Work(shared=affinities),
        "layout": Work(shared=8e-4 * job.k),
        "points": points,
    }
    if report:
        stages["report"] = _report(job)
    return stages


def point_loops(job: Job) -> dict[str, float]:
    """Seconds to compile each of the loops over points of the job's type."""
    if job.by_tree:
        needed = _TREE_LOOPS | (_SMALL_TREE_LOOPS if job.races else _LARGE_TREE_LOOPS)
        return needed | (_COMPLETE_LOOPS if job.is_complete else _COVARIANCE_LOOPS)
    return _PRODUCT_LOOPS | (_COMPLETE_LOOPS if job.is_complete else _PICTURE_LOOPS)


def landmark_loops(job: Job) -> dict[str, float]:
    """Seconds to compile each of the loops over landmarks, which are float64 in them."""
    if not job.by_tree or job.is_complete:
        return {}
    # In one column more than there are coordinates, points are most likely on a surface.
    is_surface = job.d <= job.n_components + 1
    return _LANDMARK_LOOPS | (_SURFACE_LOOPS if is_surface else _GRAPH_LOOPS)


def _dimension(job: Job) -> float:
    """Seconds to estimate the local dimension, from a fixed number of distances."""
    return 0.04 + 4e-4 * job.d


def _tree_draw(job: Job) -> Work:
    d = job.d
    build = 1.5e-7 * job.n * (1 + d / 7)
    # In more dimensions, more points around a neighborhood are looked at; fewer if it is large.
    per_neighbor = 7e-8 + 1e-7 * d**1.84 * job.m**-0.25
    draw = 1e-4 * job.k + per_neighbor * job.k * job.m
    if job.races:
        return Work(alone=_dimension(job) + draw, shared=build)
    return Work(alone=_dimension(job), shared=build + draw)


def _product_draw(job: Job) -> Work:
    distances = job.n * (job.k + _UNFILLED)
    # Covariances are not measured for a complete graph.
    per_column = 7e-11 if job.is_complete else 9e-11
    return Work(
        alone=_dimension(job),
        shared=5e-4 * job.k + 2e-9 * distances,
        products=per_column * job.d * distances,
    )


def _graph(job: Job) -> float:
    pairs = min(job.k, MATRIX_MAX) * job.k
    if job.is_complete:
        return 2.2e-7 * pairs
    if covariance_mode("auto", job.d) == "full":
        return (7e-8 + 2.3e-9 * job.d**2) * pairs
    return (5e-8 + 6e-10 * job.d) * pairs


def _spectrum(job: Job) -> float:
    if job.is_complete:
        return _spectrum_of_all_pairs(job)
    return 1e-4 * job.k * max(1.0, job.n_components / 4)


def _spectrum_of_all_pairs(job: Job) -> float:
    return 2e-10 * job.k**3


def _spectrum_and_trials(job: Job) -> Work:
    """Also that of other graphs, which are tried unless the first is good at once."""
    alone = _LEAST + _spectrum(job)
    is_picture = job.n_components <= SHOWN
    # Tried for points that spread in no more directions than there are features.
    has_room = min(job.d, _USUAL_DIMENSION) <= job.n_components <= MOST_COORDINATES
    are_features = many_coordinates(job.n_components) and has_room
    if job.k > MOST_LANDMARKS or not (is_picture or are_features):
        return Work(alone)
    per_pair = 2.9e-11 * job.d
    products = per_pair * min(job.n, LOOKED_AT) ** 2
    if are_features:
        # Two graphs, one of which has many edges to measure.
        lengths = 1e-9 * job.d * job.k**2
        return Work(0.1 + alone + 2 * _spectrum_of_all_pairs(job), lengths, products)
    alone += (len(PICTURE_GRAPHS) + 1) * _spectrum(job) + _spectrum_of_all_pairs(job)
    products += per_pair * min(job.n, COUNTED * job.k) * job.k
    return Work(0.1 + alone, products=products)


def _points(job: Job) -> Work:
    if job.is_complete:
        pairs = job.n * job.k
        shared = (4.8e-9 + 3e-11 * job.n_components) * pairs
        return Work(_LEAST, shared, products=2.9e-11 * job.d * pairs)
    if job.by_tree:
        # Nearest landmarks, and the sums of their neighbors' coordinates.
        shared = (5.5e-7 + 1.6e-8 * job.d**2 + 3e-8 * job.n_components) * job.n
        return Work(_LEAST, shared)
    pairs = job.n * job.k
    return Work(_LEAST, 1e-6 * job.n + 2.2e-9 * pairs, products=2.7e-11 * job.d * pairs)


def _comparison(job: Job) -> Work:
    """Four methods, fitted to a sample."""
    share = 0.45 + 0.55 * min(1.0, job.n / COMPARED_POINTS)
    return Work(alone=1.0, shared=0.9, products=9e-3 * job.d * share)


def _report(job: Job) -> Work:
    """All points again, and what takes as long for any number of them from some thousands on."""
    points = _points(job)
    few = min(1.0, job.n / 5000) ** 0.5
    # The curve of errors over landmarks is measured at a fixed number of values.
    fixed = few * (4 + 18 * job.d / (job.d + 10))
    return Work(fixed, 2 * points.shared, 2 * points.products)
