"""Oracle: pickles of known arrays, and a canary. Sees code that runs, lying sizes, and errors of other kinds."""

import pickle
import pickletools
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resaudit.datasets.idx import parse_idx
from resaudit.datasets.sources import Contents, Refused, _unpickle_split
from tests.fuzz.inputs import canary, damaged, fired, fuzzed, unless_refused


def split(side: int = 2) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Images and labels as the package has them, of three, two and one samples."""
    rng = np.random.default_rng(1)
    return tuple(
        (rng.integers(0, 256, (count, side * side)).astype(np.float32) / 256, rng.integers(0, 10, count))
        for count in (3, 2, 1)
    )


PICKLES = [pickle.dumps(split(), protocol=protocol) for protocol in (3, 4)]
NAMES = [
    ("os", "system"), ("builtins", "exec"), ("builtins", "eval"), ("builtins", "getattr"), ("posix", "system"),
    ("subprocess", "Popen"), ("numpy", "load"), ("numpy", "fromfile"), ("numpy", "ndarray"), ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray.tofile"),
    ("numpy._core.multiarray", "scalar"), ("resaudit.datasets.pickled", "Array"), (canary.__module__, "canary"),
    ("os\nx", "sys\r\nstem"), ("a" * 5000, "b"), ("collections", "OrderedDict"), ("copyreg", "_reconstructor"),
]  # fmt: skip


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def named(module: str, name: str) -> bytes:
    """The opcodes that put a global on the stack, in one of the two ways."""
    return text(module) + text(name) + b"\x93"


GLOBALS = st.sampled_from([named(*name) for name in NAMES] + [f"c{m}\n{n}\n".encode() for m, n in NAMES])
NUMBERS = st.one_of(
    st.integers(0, 255).map(lambda i: b"K" + bytes([i])),
    st.integers(-(2**31), 2**31 - 1).map(lambda i: b"J" + struct.pack("<i", i)),
    st.binary(max_size=255).map(lambda raw: b"\x8a" + bytes([len(raw)]) + raw),
)
RAW = st.one_of(
    st.binary(max_size=24).map(lambda raw: b"C" + bytes([len(raw)]) + raw),
    st.sampled_from([2**31 - 1, 2**32 - 1]).map(lambda size: b"B" + struct.pack("<I", size) + b"few"),
    st.sampled_from([2**33, 2**63, 2**64 - 1]).map(lambda size: b"\x8e" + struct.pack("<Q", size) + b"few"),
    st.sampled_from(["f4", "u1", "O", "V8", "S9", "<", ">", "|", "touch fired", "\n"]).map(text),
)
MEMO = st.one_of(
    st.integers(0, 9).map(lambda i: b"q" + bytes([i])),
    st.integers(0, 9).map(lambda i: b"h" + bytes([i])),
    st.sampled_from([2**31 - 1, 2**32 - 1]).map(lambda i: b"r" + struct.pack("<I", i)),
    st.just(b"\x94"),
)
# Every opcode, with arguments where they are needed or not.
ANY = st.sampled_from([opcode.code.encode("latin1") for opcode in pickletools.opcodes])
CALLS = st.sampled_from(
    [b"(", b")", b"t", b"\x85", b"\x86", b"\x87", b"R", b"b", b"o", b"\x81", b"\x92", b"N", b"0", b"2"]
)
FRAMES = st.sampled_from([b"", b"\x80\x04", b"\x80\x05", b"\x80\xff", b"\x80\x04\x95" + struct.pack("<Q", 2**62)])


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    """Opcodes one after the other, many of them calls of globals."""
    parts = draw(st.lists(st.one_of(GLOBALS, NUMBERS, RAW, MEMO, CALLS, CALLS, ANY), max_size=24))
    return draw(FRAMES) + b"".join(parts) + b"."


@st.composite
def states(draw: st.DrawFn) -> bytes:
    """Arrays whose state, shape and type are anything."""
    kind = named("numpy", "dtype") + draw(RAW) + b"\x89\x88\x87R" + draw(st.one_of(RAW, NUMBERS)) + b"\x85b"
    good_kind = named("numpy", "dtype") + text(draw(st.sampled_from(["f4", "i8", "O"]))) + b"\x89\x88\x87R"
    good_kind += (
        b"(K\x03" + text(draw(st.sampled_from(["<", "|", "?"]))) + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    shape = b"(" + b"".join(draw(st.lists(NUMBERS, max_size=4))) + b"t"
    state = b"(K\x01" + draw(st.one_of(st.just(shape), RAW)) + draw(st.sampled_from([kind, good_kind])) + b"\x89"
    made = named("numpy._core.multiarray", "_reconstruct") + named("numpy", "ndarray") + shape + text("b") + b"\x87R"
    array = made + state + draw(RAW) + b"tb"
    pair = array + draw(st.sampled_from([array, b"\x94h\x00", b"N"])) + b"\x86"
    return b"\x80\x04" + pair + pair + pair + b"\x87."


def unpickled(content: bytes) -> Contents | None:
    """What is read, or None where it is refused, with nothing run and nothing written."""
    before = sorted(Path.cwd().iterdir())
    found = unless_refused(lambda: _unpickle_split(content), Refused)
    assert not fired
    assert sorted(Path.cwd().iterdir()) == before
    return found


@pytest.mark.parametrize("content", PICKLES)
def test_arrays_of_images_and_labels_are_read(content: bytes) -> None:
    found = unpickled(content)
    assert found is not None
    (train, labels), (validation, more_labels), (test, _) = split()
    images = np.concatenate([train, validation]).reshape(5, 2, 2) * 256
    np.testing.assert_array_equal(parse_idx(found["train_images"], "it"), images)
    np.testing.assert_array_equal(parse_idx(found["train_labels"], "it"), np.concatenate([labels, more_labels]))
    np.testing.assert_array_equal(parse_idx(found["test_images"], "it"), test.reshape(1, 2, 2) * 256)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", [b"R", b"\x81", b"b"])
def test_nothing_that_a_pickle_names_is_called(name: tuple[str, str], call: bytes) -> None:
    assert unpickled(b"\x80\x04" + named(*name) + text("touch fired") + b"\x85" + call + b".") is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x80\x04Nr\xff\xff\xff\x7f.", id="a memo of 2^31 places"),
        pytest.param(b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"few.", id="2^40 bytes in few"),
        pytest.param(b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"N.", id="a frame of 2^40 bytes"),
        pytest.param(b"\x80\x04" + named("numpy", "ndarray") + b"J\xff\xff\xff\x7f\x85\x85R.", id="a call of ndarray"),
    ],
)
def test_sizes_that_a_pickle_states_take_no_memory(content: bytes) -> None:
    assert unpickled(content) is None


def test_pointers_cannot_be_made_of_bytes() -> None:
    """NumPy's own __setstate__ takes bytes for object references if the type's flags say that it may."""
    kind = (
        named("numpy", "dtype")
        + text("O")
        + b"\x89\x88\x87R(K\x03"
        + text("|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    made = (
        named("numpy._core.multiarray", "_reconstruct")
        + named("numpy", "ndarray")
        + b"K\x00\x85"
        + text("b")
        + b"\x87R"
    )
    array = made + b"(K\x01K\x01\x85" + kind + b"\x89C\x08AAAAAAAAtb"
    assert unpickled(b"\x80\x04" + 3 * (2 * array + b"\x86") + b"\x87.") is None


@fuzzed(1500)
@given(st.one_of(programs(), states(), *map(damaged, PICKLES)))
def test_any_pickle_is_of_arrays_or_refused(content: bytes) -> None:
    found = unpickled(content)
    if found is not None:
        for key, rank in (("train_images", 3), ("train_labels", 1), ("test_images", 3), ("test_labels", 1)):
            assert parse_idx(found[key], key).ndim == rank
