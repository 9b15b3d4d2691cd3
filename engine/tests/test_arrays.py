import contextlib
import os
import socket
from pathlib import Path

import numpy as np
import pytest
from task_files import save, values_of

from mucast_engine.arrays import INLINE_VALUES, ArrayRef, ArrayStore
from mucast_engine.failure import TaskError


def test_written_arrays_are_read_back_bit_for_bit(store: ArrayStore) -> None:
    values = np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308])
    ref = store.write("p.npy", values)
    assert store.read(ref).tobytes() == values.tobytes()


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_an_array_without_a_value_is_read(shape: tuple[int, ...], store: ArrayStore, tmp_path: Path) -> None:
    assert store.read(save(tmp_path, "x.npy", np.zeros(shape))).shape == shape


@pytest.mark.parametrize("count", [0, 1, INLINE_VALUES - 1, INLINE_VALUES, INLINE_VALUES + 1])
def test_arrays_in_a_message_equal_those_in_a_file_bit_for_bit(count: int, store: ArrayStore, tmp_path: Path) -> None:
    # Any bits at all: most are numbers, and the first are -0.0 and two NaNs with payloads.
    bits = np.random.default_rng(count).integers(0, 2**64, size=count, dtype=np.uint64)
    bits[:3] = np.array([0x8000_0000_0000_0000, 0x7FF8_0000_0000_0123, 0xFFF0_0000_0000_0001], dtype=np.uint64)[:count]
    values = bits.view(np.float64)
    kept = values_of(store.write(str(tmp_path / "q.npy"), values))
    given = store.hand_over(str(tmp_path / "p.npy"), values)
    assert values_of(given).tobytes() == kept.tobytes() == bits.tobytes()
    assert given["shape"] == [count]
    assert ("base64" not in given) == (tmp_path / "p.npy").exists() == (count > INLINE_VALUES)


def named(ref: str) -> ArrayRef:
    return {"ref": ref, "dtype": "<f8", "shape": [1], "order": "C"}


OUTSIDE = ["../outside.npy", "/etc/hostname", "deeper/../../outside.npy", "..", "."]


@pytest.mark.parametrize("ref", OUTSIDE)
def test_nothing_outside_the_work_folder_is_read_or_written(ref: str, store: ArrayStore) -> None:
    with pytest.raises(TaskError, match="out of the work folder"):
        store.read(named(ref))
    with pytest.raises(TaskError, match="out of the work folder"):
        store.write(ref, np.zeros(1))


@pytest.mark.parametrize("ref", ["/..", "/.", "/", "/deeper/../../outside.npy"])
def test_nothing_is_written_by_a_path_that_only_starts_like_the_work_folder(
    ref: str, store: ArrayStore, tmp_path: Path
) -> None:
    with pytest.raises(TaskError, match="out of the work folder"):
        store.write(f"{tmp_path}{ref}", np.zeros(1))


@pytest.mark.parametrize("ref", ["link.npy", "{folder}/link.npy", "deeper/link.npy"])
def test_a_link_that_leads_out_of_the_work_folder_is_not_followed(ref: str, store: ArrayStore, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.npy"
    np.save(outside, np.zeros(1))
    before = outside.read_bytes()
    (tmp_path / "deeper").mkdir()
    (tmp_path / "link.npy").symlink_to(outside)
    (tmp_path / "deeper" / "link.npy").symlink_to(outside)
    ref = ref.format(folder=tmp_path)
    with pytest.raises(TaskError, match=r"out of the work folder|is a symbolic link"):
        store.read(named(ref))
    with pytest.raises(TaskError, match=r"out of the work folder|is a symbolic link"):
        store.write(ref, np.ones(1))
    assert outside.read_bytes() == before


def test_a_work_folder_may_be_named_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    store = ArrayStore(tmp_path / "link")
    values = np.linspace(0, 1, 5)
    ref = store.write(str(tmp_path / "link" / "p.npy"), values)
    assert (tmp_path / "folder" / "p.npy").exists()
    np.testing.assert_array_equal(store.read(ref), values)


def test_an_array_of_another_shape_or_type_or_order_is_refused(store: ArrayStore, tmp_path: Path) -> None:
    wrong: list[ArrayRef] = [
        {**save(tmp_path, "a.npy", np.zeros((2, 3))), "shape": [3, 2]},
        save(tmp_path, "b.npy", np.zeros(2, dtype=np.float32)),
        save(tmp_path, "c.npy", np.asfortranarray(np.zeros((2, 3)))),
    ]
    for ref in wrong:
        with pytest.raises(TaskError, match=f"array '{ref['ref']}' is .*, not "):
            store.read(ref)


def test_objects_are_never_unpickled(store: ArrayStore, tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(TaskError, match=r"array 'o.npy' is .*'dtype': '\|O'"):
        store.read(named("o.npy"))


@pytest.mark.parametrize("rows", [1, 3, 60_000])
def test_small_and_large_files_of_either_writer_are_read_as_numpy_reads_them(
    rows: int, store: ArrayStore, tmp_path: Path
) -> None:
    values = np.random.default_rng(rows).normal(size=(rows, 3))
    ref = save(tmp_path, "x.npy", values)
    found = store.read(ref)
    np.testing.assert_array_equal(found, values)
    assert not found.flags.writeable
    # A header with another wording, such as another version's, has the same meaning.
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, values, version=(2, 0))
    np.testing.assert_array_equal(store.read(ref), values)


def test_a_file_that_ends_early_or_late_is_refused_by_its_name(store: ArrayStore, tmp_path: Path) -> None:
    ref = save(tmp_path, "x.npy", np.zeros((40, 3)))
    whole = (tmp_path / "x.npy").read_bytes()
    for length in (0, 5, 9, 10, 64, 127, 128, len(whole) - 1, len(whole) - 8):
        (tmp_path / "x.npy").write_bytes(whole[:length])
        with pytest.raises(TaskError, match=r"x\.npy") as refused:
            store.read(ref)
        assert refused.value.code == "internal"
    (tmp_path / "x.npy").write_bytes(whole + bytes(8))
    with pytest.raises(TaskError, match=r"x.npy' has 968 bytes of values, and 120 values take 960"):
        store.read(ref)


@pytest.mark.parametrize(
    "header", [b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,", b"(" * 60, b"{'a': 1}", b"\xff\xfe", b"9" * 60]
)
def test_an_invalid_header_is_refused_with_the_name_of_its_file(
    header: bytes, store: ArrayStore, tmp_path: Path
) -> None:
    magic = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    for begin in (magic, b"\x93NUMPY\x03\x00", b"PK\x03\x04"):
        (tmp_path / "x.npy").write_bytes(begin + header + bytes(8))
        with pytest.raises(TaskError, match=r"'x\.npy' is no array file: ") as refused:
            store.read(named("x.npy"))
        assert refused.value.code == "internal"


@pytest.mark.parametrize("ref", ["a\0b.npy", "deeper/a\0b.npy", "a\ud800.npy"])
def test_a_path_that_no_system_accepts_is_refused(ref: str, store: ArrayStore) -> None:
    for use in (lambda: store.read(named(ref)), lambda: store.write(ref, np.zeros(1))):
        with pytest.raises(TaskError, match="names no file") as refused:
            use()
        assert refused.value.code == "internal"


@pytest.mark.parametrize("ref", ["x.npy", "deeper/x.npy"])
@pytest.mark.parametrize("what", ["pipe", "pipe with a reader", "folder", "socket"])
def test_a_path_that_is_not_a_regular_file_is_refused_without_waiting(
    ref: str, what: str, store: ArrayStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deeper").mkdir()
    path = tmp_path / ref
    with contextlib.ExitStack() as opened:
        if what == "folder":
            path.mkdir()
        elif what == "socket":
            listener = opened.enter_context(socket.socket(socket.AF_UNIX))
            monkeypatch.chdir(tmp_path)  # The path of a socket may have 107 bytes.
            listener.bind(ref)
        else:
            os.mkfifo(path)
        if what == "pipe with a reader":
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            opened.callback(os.close, reader)
        for use in (lambda: store.read(named(ref)), lambda: store.write(ref, np.zeros(1))):
            with pytest.raises(TaskError, match=f"{ref}' is not a regular file") as refused:
                use()
            assert refused.value.code == "internal"


def test_written_files_have_the_bytes_that_numpy_writes(store: ArrayStore, tmp_path: Path) -> None:
    values = np.linspace(-1, 1, 77)
    store.write("p.npy", values)
    np.save(tmp_path / "q.npy", values)
    assert (tmp_path / "p.npy").read_bytes() == (tmp_path / "q.npy").read_bytes()
