"""Landmarks of a fish bowl.

The bowl is dense around its hole and sparse at the bottom. Uniform landmarks follow the density,
diverse landmarks also cover the bottom, and refined landmarks are spread most evenly. [When to
refine](../../guide/landmarks.md#when-to-refine) explains why the bandwidth is set here.
"""

import matplotlib.pyplot as plt

import trigpoint as tp

X, _ = tp.datasets.make_fish_bowl(5_000, random_state=0)
samplers = {
    "uniform": tp.Uniform(60, random_state=0),
    "EfficientDPP": tp.EfficientDPP(60, random_state=0),
    "EfficientDPP, refined": tp.EfficientDPP(60, refine=True, kernel_bandwidth=0.5, random_state=0),
}

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, (name, sampler) in zip(axes, samplers.items(), strict=True):
    sampler.fit(X)
    radius = tp.metrics.coverage_radius(X, sampler.landmarks_)
    tp.plot.landmarks(
        sampler,
        X,
        covariances=False,
        plane=(0, 2),
        ax=ax,
        title=f"{name}\nfarthest point from a landmark: {radius:.2f}",
    )
