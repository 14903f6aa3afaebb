"""A model that takes the place of a fitted one."""

from trigpoint._sources import Columns


class Model:
    """The first two columns, squared; rows whose first value exceeds 2 are far."""

    n_components = 2

    def __init__(self, columns: Columns, step: int = 1000):
        self.columns, self.step = columns, step
        self.blocks = []

    def __call__(self, block, first_row=0):
        self.blocks.append((first_row, block.shape[0]))
        dense = block.toarray() if self.columns.sparse else block
        return dense[:, :2].astype(float) ** 2, dense[:, 0] > 2
