import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mucast_engine.networks.windows import MAX_BATCH, PREDICTED_TOGETHER, Windows


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 4), st.data())
def test_a_window_is_the_last_rows_up_to_the_one_it_ends_on(
    lookback: int, more: int, features: int, data: st.DataObject
) -> None:
    count = lookback + more
    rows = np.arange(count * features, dtype=np.float32).reshape(count, features)
    ends = data.draw(st.lists(st.integers(lookback - 1, count - 1), max_size=8))
    found = Windows(torch.from_numpy(rows), lookback).gather(torch.tensor(ends, dtype=torch.int64))
    assert found.shape == (len(ends), lookback, features)
    for window, end in zip(found.numpy(), ends, strict=True):
        for place in range(lookback):
            assert window[place].tolist() == rows[end - lookback + 1 + place].tolist()


@given(st.integers(0, 5 * PREDICTED_TOGETHER + 1))
def test_pieces_of_one_size_contain_every_end_once_and_then_repeat_the_last(count: int) -> None:
    windows = Windows(torch.zeros(count + 3, 2), 3)
    ends = torch.arange(count) + 2
    pieces = windows.batches(ends)
    assert len({len(piece) for piece in pieces}) <= 1
    together = [end for piece in pieces for end in piece.tolist()]
    assert together[:count] == ends.tolist()
    assert set(together[count:]) <= {count + 1}
    assert len(together) - count < max(1, len(pieces[0]) if pieces else 1)


@pytest.mark.parametrize(("lookback", "features"), [(1000, 500), (1000, 5000), (5, 2)])
def test_a_piece_has_at_least_one_window_and_at_most_what_memory_allows(lookback: int, features: int) -> None:
    pieces = Windows(torch.zeros(lookback, features), lookback).batches(torch.arange(40))
    size = len(pieces[0])
    assert size == 1 or size * lookback * features <= MAX_BATCH
    assert (size + 1) * lookback * features > MAX_BATCH or size == PREDICTED_TOGETHER
