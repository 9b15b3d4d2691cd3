from pathlib import Path

import numpy as np
import pytest
from task_files import save

from mucast_engine.arrays import ArrayRef, ArrayStore
from mucast_engine.failure import TaskError


def test_what_is_written_is_read_back_bit_for_bit(store: ArrayStore) -> None:
    values = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308])
    ref = store.write("p.npy", values)
    assert store.read(ref).tobytes() == values.tobytes()


@pytest.mark.parametrize("ref", ["../outside.npy", "/etc/hostname", "deeper/../../outside.npy"])
def test_nothing_outside_the_work_folder_is_read_or_written(ref: str, store: ArrayStore) -> None:
    with pytest.raises(TaskError, match="out of the work folder"):
        store.read({"ref": ref, "dtype": "<f8", "shape": [1], "order": "C"})
    with pytest.raises(TaskError, match="out of the work folder"):
        store.write(ref, np.zeros(1))


def test_a_link_that_leads_out_of_the_work_folder_is_not_followed(store: ArrayStore, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.npy"
    np.save(outside, np.zeros(1))
    (tmp_path / "link.npy").symlink_to(outside)
    with pytest.raises(TaskError, match="out of the work folder"):
        store.read({"ref": "link.npy", "dtype": "<f8", "shape": [1], "order": "C"})


def test_an_array_of_another_shape_or_type_or_order_is_refused(store: ArrayStore, tmp_path: Path) -> None:
    wrong: list[ArrayRef] = [
        {**save(tmp_path, "a.npy", np.zeros((2, 3))), "shape": [3, 2]},
        save(tmp_path, "b.npy", np.zeros(2, dtype=np.float32)),
        save(tmp_path, "c.npy", np.asfortranarray(np.zeros((2, 3)))),
    ]
    for ref in wrong:
        with pytest.raises(TaskError):
            store.read(ref)


def test_objects_are_never_unpickled(store: ArrayStore, tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects"):
        store.read({"ref": "o.npy", "dtype": "<f8", "shape": [1], "order": "C"})


@pytest.mark.parametrize("rows", [1, 3, 60_000])
def test_small_and_large_files_of_either_writer_are_read_as_numpy_reads_them(
    rows: int, store: ArrayStore, tmp_path: Path
) -> None:
    values = np.random.default_rng(rows).normal(size=(rows, 3))
    ref = save(tmp_path, "x.npy", values)
    found = store.read(ref)
    np.testing.assert_array_equal(found, values)
    assert not found.flags.writeable
    # A header in other words, such as another version's, says the same.
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, values, version=(2, 0))
    np.testing.assert_array_equal(store.read(ref), values)


def test_a_file_that_ends_early_is_refused(store: ArrayStore, tmp_path: Path) -> None:
    ref = save(tmp_path, "x.npy", np.zeros((40, 3)))
    whole = (tmp_path / "x.npy").read_bytes()
    for length in (0, 5, 64, len(whole) - 1, len(whole) - 8):
        (tmp_path / "x.npy").write_bytes(whole[:length])
        with pytest.raises((ValueError, EOFError)):
            store.read(ref)


def test_what_is_written_has_the_bytes_that_numpy_writes(store: ArrayStore, tmp_path: Path) -> None:
    values = np.linspace(-1, 1, 77)
    store.write("p.npy", values)
    np.save(tmp_path / "q.npy", values)
    assert (tmp_path / "p.npy").read_bytes() == (tmp_path / "q.npy").read_bytes()
