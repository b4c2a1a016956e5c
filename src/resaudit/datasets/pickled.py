"""Numbers out of a pickle of NumPy arrays, without running anything that the pickle names."""

import io
import math
import pickle
import pickletools
from typing import Any

import numpy as np

_ORDERS = ("<", ">", "|", "=")
_TYPES = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
_OPCODES = frozenset({
    "PROTO", "FRAME", "MARK", "STOP", "GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "EMPTY_TUPLE", "TUPLE", "TUPLE1",
    "TUPLE2", "TUPLE3", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "SHORT_BINSTRING",
    "BINSTRING", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "SHORT_BINUNICODE", "BINUNICODE", "BINPUT", "LONG_BINPUT",
    "MEMOIZE", "BINGET", "LONG_BINGET",
})  # fmt: skip
LONGEST_NAME = 80
_DAMAGED = (pickle.PickleError, ValueError, TypeError, LookupError, AttributeError, EOFError, ArithmeticError)
"""What unpickling raises where opcodes are in a wrong order, or a value is of a kind that they cannot take."""


class Unreadable(ValueError):
    """Why a pickle is not one of arrays."""


class Type:
    """Stands for a NumPy dtype in a pickle."""

    def __init__(self, code: object = None, *_: object) -> None:
        self._code, self._order = code, object()

    def __setstate__(self, state: tuple[object, ...]) -> None:
        self._order = state[1]

    def dtype(self) -> np.dtype[Any]:
        """The dtype, if it is one of plain numbers.

        Raises:
            Unreadable: it is not.
        """
        if self._code not in _TYPES or self._order not in _ORDERS:
            raise Unreadable("an array is of something else than plain numbers")
        return np.dtype(f"{self._order}{self._code}")


class Array:
    """Stands for a NumPy array in a pickle, and for the functions that would make one.

    NumPy's own ``__setstate__`` believes what a pickle says: it can be made to take bytes for pointers.
    """

    def __init__(self, *_: object) -> None:
        self._state: object = None

    def __setstate__(self, state: object) -> None:
        self._state = state

    def array(self) -> np.ndarray:
        """The array, read-only.

        Raises:
            Unreadable: what the pickle says of it does not fit together.
        """
        match self._state:
            case (_, tuple() as shape, Type() as kind, fortran, bytes() | str() as content):
                dtype = kind.dtype()
            case _:
                raise Unreadable("an array is described otherwise than NumPy does")
        if not 1 <= len(shape) <= 2 or not all(isinstance(size, int) and size > 0 for size in shape):
            raise Unreadable("an array has no such shape as images or labels have")
        raw = content.encode("latin1") if isinstance(content, str) else content
        if len(raw) != math.prod(shape) * dtype.itemsize:
            raise Unreadable(f"an array has {len(raw)} bytes, which is not what its shape means")
        return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")


class _ArraysOnly(pickle.Unpickler):
    """Gives stand-ins for what a pickle of arrays names, and refuses every other name."""

    _ALLOWED = {
        ("numpy.core.multiarray", "_reconstruct"): Array,
        ("numpy._core.multiarray", "_reconstruct"): Array,
        ("numpy", "ndarray"): Array,
        ("numpy", "dtype"): Type,
    }

    def find_class(self, module: str, name: str) -> type[Array] | type[Type]:
        if (module, name) not in self._ALLOWED:
            raise Unreadable(f"it names {_short(module)}.{_short(name)}, which no array needs")
        return self._ALLOWED[module, name]


def read_arrays(content: bytes) -> object:
    """The nested tuples that a pickle of protocol 2 to 4 holds, with :class:`Array` for each array.

    Takes memory in proportion to ``content``, whatever sizes the pickle states.

    Raises:
        Unreadable: it is damaged, or holds anything but tuples, numbers, text and arrays.
    """
    try:
        _check_opcodes(content)
        return _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
    except Unreadable:
        raise
    except _DAMAGED as error:
        raise Unreadable(f"it is damaged: {error}") from error


def _check_opcodes(content: bytes) -> None:
    """See that sizes fit the content before pickle allocates them, and that all of it is what arrays need."""
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if opcode.name not in _OPCODES:
            raise Unreadable(f"it has the opcode {opcode.name}, which no array needs")
        # The memo is an array as long as its largest index.
        if opcode.name in ("BINPUT", "LONG_BINPUT") and isinstance(argument, int) and argument > count:
            raise Unreadable(f"it numbers an object {argument}, but has {count} so far")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
