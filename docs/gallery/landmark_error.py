"""How many landmarks.

The error of the kernel approximation decreases with the number of landmarks. Dots mark the number
that keeps the error within 2 %.
"""

import matplotlib.pyplot as plt

import trigpoint as tp

X, _ = tp.datasets.make_swiss_roll(5_000, random_state=0)
samplers = {
    "uniform": tp.Uniform(),
    "EfficientDPP": tp.EfficientDPP(),
    "EfficientDPP, refined twice": tp.EfficientDPP(refine=2),
}

figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
for name, sampler in samplers.items():
    curve = tp.landmark_curve(X, [30, 60, 120, 240, 480], sampler=sampler, random_state=0)
    needed = curve.needed(0.02)
    (line,) = ax.loglog(curve.n_landmarks, curve.errors, label=f"{name}: {needed} landmarks")
    ax.plot(needed, 0.02, "o", color=line.get_color())
ax.axhline(0.02, color="black", linewidth=0.8, linestyle="--")
ax.set(xlabel="number of landmarks", ylabel="relative trace error")
ax.legend(frameon=False)
