"""What grades mean.

The same digits by three methods. The title states the share of neighbors preserved, and the range
of the best known maps of such data. The poor map shows little more than a cloud, the second one a
few groups, and the last one all digits and which of them are written alike. See [How good is
it?](../../guide/quality.md).
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import trigpoint as tp

warnings.simplefilter("ignore", tp.ParameterWarning)

X, y = load_digits(return_X_y=True)
embeddings = (tp.KernelPCA(random_state=0), tp.LaplacianEigenmaps(random_state=0), tp.LandmarkMap())

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, emb in zip(axes, embeddings, strict=True):
    Y = emb.fit_transform(X)
    found = emb.quality(X, advise=False)
    low, high = found.attainable
    title = f"{found.grade}: {found.preserved:.0%} of {low:.0%} to {high:.0%} preserved"
    tp.plot.embedding(Y, color=y, categories=True, ax=ax, legend=ax is axes[-1], title=title)
