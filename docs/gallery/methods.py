"""Which method unrolls a Swiss roll.

The plot shows every method with the same landmarks and the score that `compare_methods` uses, which
measures how well neighborhoods of all sizes agree with those along the roll. See [Which
method](../../guide/methods.md).
"""

import trigpoint as tp

X, intrinsic = tp.datasets.make_swiss_roll(5_000, random_state=0)
compared = tp.compare_methods(X, landmarks=500, random_state=0)
tried = {f"{one.method}: {one.score:.2f}": one.coordinates for one in compared.attempts[::-1]}

axes = tp.plot.compare(tried, color=intrinsic[compared.rows, 0], ncols=4, label="length")
figure = axes[0].figure
