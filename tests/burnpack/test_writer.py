"""What a writer checks before the first byte, and in which order the bytes come."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.burnpack import writer
from refimpl.burnpack.api import burnpack_bytes, open_burnpack, write_burnpack
from refimpl.burnpack.writer import plan
from refimpl.errors import (
    ArgumentTypeError,
    BurnpackError,
    InvalidArgumentError,
    ResourceError,
    UnsupportedDTypeError,
)
from refimpl.param.param_id import ParamId
from refimpl.tensor.data import TensorData
from refimpl.tensor.device import Device
from refimpl.tensor.dtype import DType
from refimpl.tensor.scheme import BlockSize, QuantScheme, QuantStore, QuantValue, ScaleDtype
from refimpl.tensor.tensor import Tensor

F32, U8 = DType.F32, DType.U8


def u8(data: bytes) -> TensorData:
    return TensorData(U8, [len(data)], data)


def refused(entries: Any, **more: Any) -> BurnpackError:
    with pytest.raises(BurnpackError) as caught:
        burnpack_bytes(entries, **more)
    return caught.value


@pytest.mark.clause("BPK-11", "BPK-14", "BPK-15")
def test_each_tensor_begins_at_the_next_multiple_of_256_in_the_order_given() -> None:
    data = burnpack_bytes([("b", u8(b"x" * 257), None), ("a", u8(b"y"), None), ("c", u8(b""), None)])
    found = open_burnpack(data)

    assert [(n, found[n].start, found[n].end) for n in "bac"] == [
        ("b", 0, 257),
        ("a", 512, 513),
        ("c", 768, 768),
    ]
    assert len(data) == found.data_start + 768
    assert data[found.data_start + 512 :] == b"y" + bytes(255)


@pytest.mark.clause("BPK-12")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            TensorData(F32, [2], bytes(4)),
            "Validation error: tensor 'w' declares 4 bytes but its shape [2] and dtype F32 need 8",
        ),
        (
            TensorData(F32, [2**64 - 1, 2], b""),
            "Validation error: tensor 'w' byte length calculation overflows u64 for shape "
            "[18446744073709551615, 2] and dtype F32",
        ),
    ],
)
def test_a_length_that_contradicts_its_shape_is_refused_in_burns_words(data: TensorData, text: str) -> None:
    error = refused([("w", data, None)])

    assert (str(error), error.tensor, error.kind) == (text, "w", "ValidationError")


@pytest.mark.clause("BPK-13")
@pytest.mark.report("BL-19", "BL-40")
def test_a_name_twice_is_refused() -> None:
    assert (
        str(refused([("w", u8(b"a"), 1), ("w", u8(b"b"), 2)]))
        == "Validation error: Duplicate tensor name 'w'"
    )


@pytest.mark.report("BL-40")
def test_composed_and_decomposed_names_are_two_names() -> None:
    found = open_burnpack(burnpack_bytes([("\u00e9", u8(b"1"), None), ("e\u0301", u8(b"2"), None)]))

    assert list(found) == ["e\u0301", "\u00e9"]


@pytest.mark.clause("QNT-8", "QNT-30")
def test_a_quantised_tensor_that_no_reader_could_read_is_refused() -> None:
    block = (BlockSize([2, 4]), ScaleDtype.F32)
    scheme = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE, per_block=block)
    no_layout = refused([("w", TensorData(DType.qfloat(scheme), [8], bytes(24)), None)])
    plain = QuantScheme(QuantValue.Q8S, QuantStore.NATIVE)
    short = refused([("w", TensorData(DType.qfloat(plain), [8], bytes(11)), None)])

    assert "has no layout" in str(no_layout)
    assert "has 11 bytes but its layout needs 12" in str(short)
    assert no_layout.clause == "QNT-30"


@pytest.mark.clause("BPK-20", "BPK-22")
@pytest.mark.report("BL-41")
def test_what_no_reader_would_open_is_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = tmp_path / "m.bpk"
    empty = u8(b"")
    with pytest.raises(BurnpackError, match="File contains 100001 tensors"):
        write_burnpack(target, ((str(i), empty, None) for i in range(100_001)))

    def unread() -> bytes:
        raise AssertionError("nothing is written, so nothing is asked for")

    big = TensorData.deferred(U8, [10 * 2**30 + 1], 10 * 2**30 + 1, unread)
    with pytest.raises(BurnpackError, match="Tensor 'w' size 10737418241 exceeds"):
        write_burnpack(target, [("w", big, None)])
    large = TensorData.deferred(U8, [10 * 2**30], 10 * 2**30, unread)
    with pytest.raises(BurnpackError, match="File size 547608330240 bytes exceeds"):
        write_burnpack(target, [(str(i), large, None) for i in range(51)])
    with pytest.raises(InvalidArgumentError, match=r"from 0 to 2\^64-1, got 18446744073709551616"):
        write_burnpack(target, [("w", TensorData(U8, [0, 2**64], b""), None)])
    monkeypatch.setattr(writer, "MAX_METADATA_SIZE", 99)
    with pytest.raises(BurnpackError, match="Metadata size 124 exceeds maximum allowed size of 99 bytes"):
        write_burnpack(target, [], {"k": "v" * 100})
    monkeypatch.setattr(writer, "MAX_USER_ENTRIES", 1)
    with pytest.raises(BurnpackError, match="our own reader would refuse") as caught:
        write_burnpack(target, [], {"k": "v"}, {"s": 1})
    assert not caught.value.errno
    assert not list(tmp_path.iterdir())


@pytest.mark.report("BL-38")
@pytest.mark.parametrize("name", ["", "../x", "/abs", "CON", "a\0b", "\n", "n" * 5000])
def test_a_name_is_a_key_and_never_a_path(name: str, tmp_path: Path) -> None:
    target = tmp_path / "m.bpk"
    write_burnpack(target, [(name, u8(b"x"), 1)], {name: name}, {name: 1})

    assert [p.name for p in tmp_path.iterdir()] == ["m.bpk"]
    with open_burnpack(target) as found:
        assert (list(found), dict(found.metadata)) == ([name], {name: name})


@pytest.mark.report("BL-38")
@pytest.mark.parametrize(
    "more",
    [{"entries": [("\ud800", u8(b"x"), 1)]}, {"metadata": {"\ud800": ""}}, {"metadata": {"a": "b\udfff"}}],
)
def test_a_lone_surrogate_is_a_clean_error(more: dict[str, Any]) -> None:
    error = refused(more.pop("entries", []), **more)

    assert error.kind == "MetadataSerializationError"
    assert "holds a lone surrogate" in str(error)
    str(error).encode()


@pytest.mark.report("BL-38")
def test_an_array_of_objects_is_refused() -> None:
    with pytest.raises(UnsupportedDTypeError):
        TensorData.from_array(np.array([object()]))


@pytest.mark.clause("BPK-6")
@pytest.mark.parametrize(
    "entry",
    [
        ("w", b"x", 1),
        (b"w", u8(b"x"), 1),
        ("w", u8(b"x")),
        ("w", u8(b"x"), 1.0),
        ("w", u8(b"x"), True),
        3,
        None,
    ],
)
def test_an_entry_of_another_form_is_refused(entry: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="an entry is a tuple of a name"):
        burnpack_bytes([entry])


@pytest.mark.parametrize(
    ("entries", "hint"),
    [
        (None, None),
        (3, None),
        ({"w": u8(b"x")}, "mapping.items()"),
        ([("w", Tensor.ones((1,), Device("cpu")), None)], "tensor.to_data()"),
        ([("w", np.ones(1), None)], "TensorData.from_array"),
    ],
)
def test_what_is_no_list_of_entries_is_refused_with_a_way_out(entries: Any, hint: str | None) -> None:
    with pytest.raises(ArgumentTypeError) as raised:
        burnpack_bytes(entries)
    assert hint is None or hint in (raised.value.hint or "")


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize("wrong", ["x", 3, [1], 0])
def test_metadata_and_scalars_are_mappings(wrong: Any) -> None:
    for more in ({"metadata": wrong}, {"scalars": wrong}):
        with pytest.raises(ArgumentTypeError, match="is a mapping by name"):
            burnpack_bytes([], **more)


@pytest.mark.clause("BPK-6")
@pytest.mark.parametrize("param_id", [-1, 2**64])
def test_a_parameter_id_has_64_bits(param_id: int) -> None:
    with pytest.raises(InvalidArgumentError, match="from 0 to 2"):
        burnpack_bytes([("w", u8(b"x"), param_id)])
    assert (
        open_burnpack(burnpack_bytes([("w", u8(b"x"), ParamId.from_int(2**64 - 1))]))["w"].param_id
        == 2**64 - 1
    )


@pytest.mark.clause("BPK-8")
@pytest.mark.parametrize(
    "more", [{"metadata": {"a": 1}}, {"metadata": {1: "a"}}, {"scalars": {1: 1}}, {"scalars": {"a": "b"}}]
)
def test_user_texts_and_scalars_have_their_types(more: dict[str, Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        burnpack_bytes([], **more)


class Logged:
    """Deferred data that logs when it is asked for, and whether what it gave is still alive."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.alive: list[weakref.ref[Any]] = []

    def entry(
        self, name: str, size: int = 4, gives: Callable[[], bytes] | None = None
    ) -> tuple[str, TensorData, int]:
        def provider() -> Any:
            gc.collect()
            assert not any(ref() is not None for ref in self.alive)
            self.log.append(name)
            data = np.zeros(size, np.uint8) if gives is None else np.frombuffer(gives(), np.uint8)
            self.alive.append(weakref.ref(data))
            return data.data

        return name, TensorData.deferred(U8, [size], size, provider), 1


@pytest.mark.clause("BPK-17")
@pytest.mark.report("BL-17")
def test_deferred_tensors_are_asked_once_in_order_and_one_is_alive_at_a_time(tmp_path: Path) -> None:
    logged = Logged()
    write_burnpack(tmp_path / "m", [logged.entry(name) for name in "cabde"])

    assert logged.log == list("cabde")


@pytest.mark.clause("BPK-17")
def test_planning_asks_no_deferred_tensor() -> None:
    logged = Logged()

    assert plan([logged.entry("a")]).size == 260
    assert logged.log == []


def fails(error: BaseException) -> Callable[[], bytes]:
    def provider() -> bytes:
        raise error

    return provider


@pytest.mark.clause("BPK-17")
@pytest.mark.parametrize(
    ("gives", "kind", "text"),
    [
        (
            lambda: b"12",
            "TensorBytesSizeMismatch",
            "Tensor bytes size mismatch: tensor 'q': deferred source has inconsistent length "
            "(expected 4, got 2)",
        ),
        (
            lambda: b"12345",
            "TensorBytesSizeMismatch",
            "Tensor bytes size mismatch: tensor 'q': deferred source has inconsistent length "
            "(expected 4, got 5)",
        ),
        (fails(OSError("gone")), "IoError", "I/O error: tensor 'q': OSError: gone"),
        (
            fails(BurnpackError("I/O error: device read failed", kind="IoError")),
            "IoError",
            "I/O error: tensor 'q': device read failed",
        ),
        (
            fails(BurnpackError("Tensor not found: z", kind="TensorNotFound")),
            "TensorNotFound",
            "Tensor not found: z",
        ),
    ],
)
def test_a_deferred_tensor_that_fails_is_named(gives: Callable[[], bytes], kind: str, text: str) -> None:
    error = refused([("q", TensorData.deferred(U8, [4], 4, gives), None)])

    assert (error.kind, str(error)) == (kind, text)


@pytest.mark.clause("BPK-17")
def test_running_out_of_memory_for_a_deferred_tensor_is_said_as_that() -> None:
    with pytest.raises(ResourceError, match="not enough memory for the 4 bytes of tensor 'q'"):
        burnpack_bytes([("q", TensorData.deferred(U8, [4], 4, fails(MemoryError())), None)])


@pytest.mark.report("BL-02")
@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda a: np.ascontiguousarray(a.T).T,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: a[::-1][::-1],
        lambda a: np.lib.stride_tricks.as_strided(a, a.shape, a.strides, writeable=False),
    ],
)
def test_the_memory_layout_of_an_array_does_not_reach_the_file(layout: Callable[[Any], Any]) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    data = burnpack_bytes([("w", TensorData.from_array(layout(array)), None)])

    assert data == burnpack_bytes([("w", TensorData.from_array(array), None)])
    assert data[-24:] == array.tobytes()
    assert np.array_equal(open_burnpack(data)["w"].data.to_numpy(), array)


@pytest.mark.report("BL-02")
def test_views_are_written_as_what_they_show() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    views = {
        "transposed": array.T,
        "strided": array[:, ::2],
        "reversed": array[::-1],
        "broadcast": np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)),
    }
    found = open_burnpack(burnpack_bytes([(n, TensorData.from_array(a), None) for n, a in views.items()]))

    assert all(np.array_equal(found[n].data.to_numpy(), a) for n, a in views.items())


@pytest.mark.report("BL-42")
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0, 2)])
@pytest.mark.parametrize("dtype", [F32, DType.BOOL_NATIVE])
def test_scalars_and_empty_tensors_keep_their_shapes(
    shape: tuple[int, ...], dtype: DType, tmp_path: Path
) -> None:
    data = TensorData.from_array(np.ones(shape, dtype.numpy))
    other = u8(b"between")
    entries = [("a", data, 1), ("b", other, 2), ("c", data, 3), ("d", other, 4), ("e", data, 5)]
    write_burnpack(tmp_path / "m", entries)

    for source in (tmp_path / "m", burnpack_bytes(entries)):
        with open_burnpack(source) as found:
            assert {n: e.data for n, e in found.items()} == {n: d for n, d, _ in entries}
            assert found["c"].data.to_numpy().shape == shape


@pytest.mark.report("BL-36")
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (DType.F64, "000000000000f87f0100000000000080efffffffffffef7f"),
        (F32, "0000c07f0100807f0000008001000000ffff7f7f"),
        (DType.FLEX32, "0000c0ff0100807f"),
        (DType.F16, "007e017c0080010000fc"),
        (DType.BF16, "803fc07f817f00800100"),
        (DType.I64, "ffffffffffffff7f0000000000000080"),
        (DType.U64, "ffffffffffffffff"),
        (DType.I8, "80ff7f"),
        (DType.BOOL_NATIVE, "0001"),
        (DType.BOOL_U8, "000102"),
        (DType.BOOL_U32, "0000000001000000"),
    ],
)
def test_dtype_and_bits_of_every_value_are_kept(dtype: DType, bits: str) -> None:
    raw = bytes.fromhex(bits)
    data = TensorData(dtype, [len(raw) // dtype.itemsize], raw)
    entry = open_burnpack(burnpack_bytes([("w", data, None)]))["w"]

    assert entry.dtype is dtype
    assert entry.data.to_numpy().tobytes() == raw


ENTRIES = st.dictionaries(
    st.text(max_size=5), st.tuples(st.binary(max_size=600), st.none() | st.integers(0, 2**64 - 1)), max_size=5
)
SCALARS = st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats()


@pytest.mark.clause("BPK-1")
@given(
    ENTRIES,
    st.dictionaries(st.text(max_size=5), st.text(max_size=5)),
    st.dictionaries(st.text(max_size=3), SCALARS),
)
def test_what_is_written_is_read_and_written_again_the_same(
    entries: dict[str, tuple[bytes, int | None]], texts: dict[str, str], scalars: dict[str, Any]
) -> None:
    items = [(name, u8(data), param_id) for name, (data, param_id) in entries.items()]
    data = burnpack_bytes(items, texts, scalars)
    found = open_burnpack(data)

    assert {n: (bytes(e.data.bytes), e.param_id) for n, e in found.items()} == entries
    assert dict(found.metadata) == texts
    assert burnpack_bytes([(n, found[n].data, i) for n, _, i in items], found.metadata, found.scalars) == data
