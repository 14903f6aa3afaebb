"""A Swiss roll, unrolled.

The plane from which a roll of 200,000 points was generated is recovered from 800 landmarks. The
roll is a long strip whose leading eigenvectors are all functions of its length, so the second
coordinate is the first eigenvector that is not. White specks in the last panel are pixels without a
point.
"""

import matplotlib.pyplot as plt

import trigpoint as tp

X, intrinsic = tp.datasets.make_swiss_roll(200_000, random_state=0)
emb = tp.LaplacianEigenmaps(landmarks=800, random_state=0)
Y = emb.fit_transform(X)

figure = plt.figure(figsize=(11, 3.8), layout="constrained")
points = figure.add_subplot(1, 3, 1, projection="3d")
points.scatter(*X[::40].T, c=intrinsic[::40, 0], s=2, linewidths=0)
points.view_init(elev=8, azim=-75)
points.set(xticklabels=[], yticklabels=[], zticklabels=[], title="200,000 points (some shown)")

landmarks = figure.add_subplot(1, 3, 2)
length, height = intrinsic[emb.landmark_indices_].T
landmarks.scatter(length, height, c=length, s=6)
landmarks.set(xlabel="length", ylabel="height", title="800 landmarks, unrolled by hand")

tp.plot.embedding(
    Y, color=intrinsic[:, 0], ax=figure.add_subplot(1, 3, 3), title="every point, unrolled"
)
