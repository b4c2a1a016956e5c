"""JSON from elsewhere: bounded, without duplicate keys, with finite numbers only."""

import json
import math
from typing import Any

from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line

LARGEST_JSON = 64 * 2**20
"""Bytes; the metadata of a run of four papers has three million."""


def parse_strictly(content: bytes, where: str) -> Any:
    """Parse JSON that somebody else wrote.

    Raises:
        ResauditError: it is too large, not JSON, has a key twice, or a number that is not finite.
    """
    if len(content) > LARGEST_JSON:
        raise ResauditError(f"{where} has {len(content)} bytes; allowed: at most {LARGEST_JSON}")
    try:
        return json.loads(content, object_pairs_hook=_each_once, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ResauditError(f"{where} is no JSON that is taken here ({error})") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no finite number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{one_line(text)} is no finite number")
    return number
