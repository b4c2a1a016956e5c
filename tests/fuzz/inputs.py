"""Inputs for the fuzz tests: how many, valid bytes with something wrong in them, and a canary for code that runs."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import hypothesis
from hypothesis import strategies as st

from resaudit.base.errors import ResauditError

ASKED_FOR = int(os.environ.get("RESAUDIT_FUZZ", "0"))
"""Inputs of each test; 0: as few as fit into a run of all tests, and the same ones every time."""

T = TypeVar("T")
Test = Callable[..., Any]
fired: list[str] = []
"""What code that an input names has left here: nothing, if it never ran."""


def canary(*told: object) -> str:
    """What malicious inputs try to call."""
    fired.append(repr(told))
    return "fired"


def fuzzed(by_default: int) -> Callable[[Test], Test]:
    """Run a property on ``by_default`` inputs, or on as many as RESAUDIT_FUZZ says, then at random."""
    return hypothesis.settings(
        max_examples=ASKED_FOR or by_default,
        derandomize=not ASKED_FOR,
        database=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )


def unless_refused(action: Callable[[], T], kind: type[Exception] = ResauditError) -> T | None:
    """What an action gives; None where it is refused, which must be said in one line. Any other exception is raised."""
    try:
        return action()
    except kind as refusal:
        said = str(refusal)
    assert said.strip()
    assert len(said.splitlines()) == 1
    return None


_SIZES = st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1])
_PIECES = st.one_of(
    st.binary(max_size=9),
    st.builds(
        lambda number, length, order: (number % 256**length).to_bytes(length, order),
        _SIZES, st.sampled_from([1, 2, 4, 8]), st.sampled_from(["little", "big"]),
    ),
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, valid: bytes, changes: int = 4) -> bytes:
    """``valid`` with one to a few changes: cut off, bits flipped, numbers replaced, pieces put in, out or twice."""
    return damage(draw, valid, changes)


def damage(draw: st.DrawFn, valid: bytes, changes: int = 4) -> bytes:
    """The same as part of another strategy."""
    content = bytearray(valid)
    for _ in range(draw(st.integers(1, changes))):
        # Headers stand at both ends of a file.
        at = draw(st.one_of(st.integers(0, len(content)), st.integers(0, 64), st.integers(0, 256).map(lambda i: -i)))
        at = max(0, min(len(content), at if at >= 0 else len(content) + at))
        kind = draw(st.sampled_from(["cut", "flip", "write", "insert", "remove", "repeat"]))
        piece, length = draw(_PIECES), draw(st.integers(1, 40))
        if kind == "cut":
            del content[at:]
        elif kind == "flip" and at < len(content):
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "write":
            content[at : at + len(piece)] = piece
        elif kind == "insert":
            content[at:at] = piece
        elif kind == "remove":
            del content[at : at + length]
        else:
            content[at:at] = content[at : at + length]
    return bytes(content)
