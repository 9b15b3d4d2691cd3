"""Windows by index: one matrix of rows, of which every window is a view, gathered one batch at a time."""

import torch
from torch import Tensor

# Maximum number of windows in one batch of predictions, and of numbers in it.
PREDICTED_TOGETHER = 256
MAX_BATCH = 1 << 22


class Windows:
    """All windows of `lookback` successive rows of one matrix (rows, features)."""

    def __init__(self, rows: Tensor, lookback: int) -> None:
        count, features = rows.shape
        self.lookback, self.features = lookback, features
        self._views = rows.as_strided((count - lookback + 1, lookback, features), (features, features, 1))

    def gather(self, ends: Tensor) -> Tensor:
        """Shape (n, lookback, features): the windows that end on rows `ends` (n), each at least lookback - 1."""
        return self._views[ends - (self.lookback - 1)]

    def batches(self, ends: Tensor) -> list[Tensor]:
        """`ends` in pieces of one size, the last padded with its own last element.

        The last bit of a row of a matrix product can depend on how many rows there are. With pieces of one size, a
        prediction does not depend on how many later ones there are.
        """
        size = max(1, min(PREDICTED_TOGETHER, MAX_BATCH // (self.lookback * self.features)))
        if len(ends) == 0:
            return []
        missing = -len(ends) % size
        return list(torch.cat([ends, ends[-1:].expand(missing)]).split(size))
