"""Windows by index: one matrix of rows, of which every window is a view, gathered for a batch at a time."""

import torch
from torch import Tensor

# Windows in one batch of predictions, and numbers in it at most.
PREDICTED_TOGETHER = 256
MAX_BATCH = 1 << 22


class Windows:
    """All windows of `lookback` successive rows of one matrix (rows, features)."""

    def __init__(self, rows: Tensor, lookback: int) -> None:
        count, features = rows.shape
        self.lookback, self.features = lookback, features
        self._views = rows.as_strided((count - lookback + 1, lookback, features), (features, features, 1))

    def gather(self, ends: Tensor) -> Tensor:
        """Shape (n, lookback, features): those that end on rows `ends` (n), lookback - 1 or later."""
        return self._views[ends - (self.lookback - 1)]

    def batches(self, ends: Tensor) -> list[Tensor]:
        """`ends` in pieces of one size, the last filled up with its own last element.

        A row of a matrix product can depend, in its last bit, on how many rows there are. With pieces of one size a
        prediction does not change when later ones come or go.
        """
        size = max(1, min(PREDICTED_TOGETHER, MAX_BATCH // (self.lookback * self.features)))
        if len(ends) == 0:
            return []
        missing = -len(ends) % size
        return list(torch.cat([ends, ends[-1:].expand(missing)]).split(size))
