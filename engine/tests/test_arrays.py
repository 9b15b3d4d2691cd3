from pathlib import Path

import numpy as np
import pytest
from task_files import save, values_of

from mucast_engine.arrays import INLINE_VALUES, ArrayRef, ArrayStore
from mucast_engine.failure import TaskError


@pytest.mark.parametrize("count", [0, 3, INLINE_VALUES, INLINE_VALUES + 1])
def test_an_array_comes_back_bit_for_bit_from_a_message_and_from_a_file(
    count: int, store: ArrayStore, tmp_path: Path
) -> None:
    # Any bits at all: most are numbers, and the first are -0.0 and two NaNs with payloads.
    bits = np.random.default_rng(count).integers(0, 2**64, size=count, dtype=np.uint64)
    bits[:3] = np.array([0x8000_0000_0000_0000, 0x7FF8_0000_0000_0123, 0xFFF0_0000_0000_0001], dtype=np.uint64)[:count]
    values = bits.view(np.float64)
    written = store.write("q.npy", values)
    np.save(tmp_path / "numpy.npy", values)
    assert (tmp_path / "q.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
    given = store.hand_over(str(tmp_path / "p.npy"), values)
    assert values_of(given).tobytes() == store.read(written).tobytes() == bits.tobytes()
    assert given["shape"] == [count]
    assert ("base64" not in given) == (tmp_path / "p.npy").exists() == (count > INLINE_VALUES)


@pytest.mark.parametrize("shape", [(0, 3), (3, 3), (60_000, 3)])
def test_a_matrix_is_mapped_read_only(shape: tuple[int, int], store: ArrayStore, tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=shape)
    found = store.read(save(tmp_path, "x.npy", values))
    np.testing.assert_array_equal(found, values)
    assert not found.flags.writeable


@pytest.mark.parametrize(
    "ref", ["../outside.npy", "/etc/hostname", "deeper/../../outside.npy", "..", ".", "{folder}/.."]
)
def test_nothing_outside_the_work_folder_is_read_or_written(ref: str, store: ArrayStore, tmp_path: Path) -> None:
    named: ArrayRef = {"ref": ref.format(folder=tmp_path), "dtype": "<f8", "shape": [1], "order": "C"}
    for use in (lambda: store.read(named), lambda: store.write(named["ref"], np.zeros(1))):
        with pytest.raises(TaskError, match="out of the work folder") as refused:
            use()
        assert refused.value.code == "internal"


def test_a_file_that_is_not_the_array_is_refused_by_its_name(store: ArrayStore, tmp_path: Path) -> None:
    ref = save(tmp_path, "x.npy", np.zeros((40, 3)))
    whole = (tmp_path / "x.npy").read_bytes()
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    for content in [
        *(whole[:length] for length in (0, 5, 64, 127, 128, len(whole) - 8)),
        whole + bytes(8),
        b"PK" + whole[2:],
        (tmp_path / "o.npy").read_bytes(),
    ]:
        (tmp_path / "x.npy").write_bytes(content)
        with pytest.raises(TaskError, match=r"x\.npy") as refused:
            store.read(ref)
        assert refused.value.code == "internal"
    for wrong in [
        {**save(tmp_path, "x.npy", np.zeros((2, 3))), "shape": [3, 2]},
        save(tmp_path, "x.npy", np.zeros(2, dtype=np.float32)),
        save(tmp_path, "x.npy", np.asfortranarray(np.zeros((2, 3)))),
    ]:
        with pytest.raises(TaskError, match="is no array file of float64 with the shape"):
            store.read(wrong)


def test_a_work_folder_that_is_gone_is_told_without_its_path(store: ArrayStore, tmp_path: Path) -> None:
    ref = save(tmp_path, "x.npy", np.zeros(2))
    (tmp_path / "x.npy").unlink()
    for use in (lambda: store.read(ref), lambda: store.write("missing/p.npy", np.zeros(1))):
        with pytest.raises(TaskError, match=r"^the work folder of the job cannot be") as failed:
            use()
        assert failed.value.code == "output_failed"
        assert str(tmp_path) not in failed.value.message
