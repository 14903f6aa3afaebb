"""How many landmarks.

The error of the kernel approximation decreases with the number of landmarks.
"""

import matplotlib.pyplot as plt

import trigpoint as tp

X, _ = tp.datasets.make_swiss_roll(5_000, random_state=0)
BANDWIDTH = 3.0
samplers = {
    "uniform": tp.Uniform(random_state=0),
    "EfficientDPP": tp.EfficientDPP(random_state=0),
    "EfficientDPP, refined twice": tp.EfficientDPP(
        refine=2, kernel_bandwidth=BANDWIDTH, random_state=0
    ),
}
counts = [30, 60, 120, 240, 480]

figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
for name, sampler in samplers.items():
    errors = []
    for count in counts:
        rows = sampler.set_params(n_landmarks=count).fit(X).indices_
        errors.append(tp.metrics.nystrom_error(X, rows, BANDWIDTH, relative=True))
    ax.loglog(counts, errors, "o-", label=name)
ax.set(xlabel="number of landmarks", ylabel="relative trace error")
ax.legend(frameon=False)
