"""A report is about the fit, whatever has happened to the estimator since."""

import trigpoint as tp


def test_parameters_that_were_changed_after_the_fit(roll):
    X = roll[0][:600]
    graph = tp.KNNGraph(12)
    emb = tp.DiffusionMaps(landmarks=80, graph=graph, time=2, random_state=0).fit(X)
    page = emb.report(X=X).html
    graph.set_params(n_neighbors=3)
    emb.set_params(time=60, alpha=0.1, n_components=5)
    assert emb.report(X=X).html == page
