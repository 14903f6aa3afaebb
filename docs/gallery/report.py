"""An interactive page about the digits."""

from pathlib import Path

from sklearn.datasets import load_digits

import trigpoint as tp

X, y = load_digits(return_X_y=True)
emb = tp.LaplacianEigenmaps(10, landmarks=600, random_state=0).fit(X)


def write(path: Path) -> None:
    """Write the page."""
    emb.report(path, X, color={"digit": y}, images=(8, 8), title="Handwritten digits")
