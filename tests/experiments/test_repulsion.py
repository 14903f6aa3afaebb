"""Figure 2: the two functions, and the errors that they lead to."""

import numpy as np
import pytest
from reproducing import reproduce

from experiments.framework.experiment import Settings
from experiments.paper.repulsion import largest_gap
from experiments.paper.table1 import COUNTS, SURFACES, UNIFORM, errors_of
from experiments.paper.table1 import run as run_table1


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """One quick run of the experiment."""
    return reproduce("repulsion", tmp_path_factory.mktemp("repulsion"), Settings(quick=True))


def errors(result, data, repulsion):
    """Errors with the paper's m."""
    m = SURFACES[data].n_neighbors
    wanted = (data, m, repulsion)
    rows = result.rows
    return errors_of([row for row in rows if (row["data"], row["m"], row["repulsion"]) == wanted])


def test_functions_differ_most_where_their_slopes_agree():
    place, gap = largest_gap()
    assert np.sin(2 * place) == pytest.approx(2 * place * np.exp(-(place**2)), abs=1e-4)
    assert gap == pytest.approx(np.sin(place) ** 2 - 1 + np.exp(-(place**2)), abs=1e-12)
    assert 0.11 < gap < 0.12


@pytest.mark.parametrize("data", ["roll", "bowl"])
def test_it_hardly_matters_which_function_repels(result, data):
    plain, sine = errors(result, data, "welsch"), errors(result, data, "sin2")
    assert plain.shape == sine.shape == (6, len(COUNTS))
    # Not one and the same sampler.
    assert (plain != sine).any()
    ratios = sine.mean(axis=0) / plain.mean(axis=0)
    assert abs(np.log(ratios).mean()) < 0.2


@pytest.mark.parametrize("data", ["roll", "bowl"])
@pytest.mark.parametrize("repulsion", ["welsch", "sin2"])
def test_both_functions_repel(result, data, repulsion):
    """Without repulsion the landmarks would be a uniform sample, and the errors those of one."""
    case = {"data": data, "n": 400, "scale": SURFACES[data].scale, "method": UNIFORM}
    uniform = errors_of([run_table1({**case, "seed": seed}, Settings()) for seed in range(6)])
    repelled = errors(result, data, repulsion)
    assert (repelled.mean(axis=0)[1:] < 0.5 * uniform.mean(axis=0)[1:]).all()
