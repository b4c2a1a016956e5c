"""Numbers, intervals, lists, times and sizes in words."""

import math
import shutil
import textwrap
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
LONGEST_LIST = 8
"""Longer lists are abbreviated."""
NEAR_ONE = 0.1
"""Ratios this close to 1 are printed in per cent."""


def folded(text: str, first: str = "", others: str = "    ") -> str:
    """A paragraph folded at the terminal's width: 40 to 120 columns, 80 where there is no terminal.

    Args:
        text: the paragraph; words and paths are never broken.
        first: what stands before its first line.
        others: what stands before each other line.
    """
    width = min(max(shutil.get_terminal_size().columns, 40), 120)
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many significant digits and written-out powers of ten.

    >>> number(1.0141), number(-2.3e9), number(0.00012), number(60000.0), number(None)
    ('1.014', '−2.3 × 10⁹', '1.2 × 10⁻⁴', '60000', 'not known')
    >>> number(3.0, 2), number(0.4583, 3), number(float("inf"))
    ('3', '0.458', 'infinite')
    """
    if value is None:
        return "not known"
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    if float(value).is_integer() and abs(value) < 1e5:
        text = f"{value:.0f}"
    elif 1e-3 <= abs(value) < 9999.5:
        text = f"{value:.{max(digits, len(f'{abs(value):.0f}'))}g}"
    else:
        mantissa, exponent = f"{value:.{min(digits, 3) - 1}e}".split("e")
        power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
        text = power if float(mantissa) == 1 else f"{float(mantissa):g} × {power}"
    return text.replace("-", "−")


def span(low: float | None, high: float | None, digits: int = 4) -> str:
    """An interval in words; None: unbounded.

    >>> span(0.909, 1.1), span(2, None), span(None, 3), span(None, None), span(1, 1)
    ('0.909 to 1.1', 'at least 2', 'at most 3', 'unbounded', '1')
    >>> span(2, math.inf), span(math.inf, math.inf)
    ('at least 2', 'infinite')
    """
    if low is not None and low == high:
        return number(low, digits)
    low, high = None if low == -math.inf else low, None if high == math.inf else high
    if low is not None and high is not None:
        return f"{number(low, digits)} to {number(high, digits)}"
    if low is not None:
        return f"at least {number(low, digits)}"
    return "unbounded" if high is None else f"at most {number(high, digits)}"


def effect_and_interval(
    effect: float | None, low: float | None, high: float | None, ratio: bool, digits: int = 4
) -> tuple[str, str]:
    """An effect and its interval; a ratio near 1 as a change in per cent.

    >>> effect_and_interval(1.0141, 1.0132, 1.0151, ratio=True)
    ('+1.41 %', '+1.32 to +1.51 %')
    >>> effect_and_interval(3.0, 1.1, 8.2, ratio=True)
    ('3', '1.1 to 8.2')
    >>> effect_and_interval(1.0004, 1.0, 1.001, ratio=True)
    ('+0.04 %', '+0 to +0.1 %')
    """
    known = [value for value in (effect, low, high) if value is not None]
    if ratio and len(known) == 3 and all(abs(value - 1) < NEAR_ONE for value in known):
        changes = [f"{100 * (value - 1):+.3g}".replace("-", "−") for value in known]
        return f"{changes[0]} %", f"{changes[1]} to {changes[2]} %" if changes[1] != changes[2] else f"{changes[1]} %"
    return number(effect, digits), span(low, high, digits)


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "job"), counted(3, "job")
    ('1 job', '3 jobs')
    """
    return f"{number} {what}{'s' * (number != 1)}"


def in_words(value: Any) -> str:
    """A setting in a few words, for people; None sets no limit.

    >>> in_words([1, 2.5, True]), in_words(list(range(9))), in_words(None), in_words({"a": [1, 2], "b": 3})
    ('1, 2.5, yes', '0 … 8 (9 values)', 'all', 'a: 1, 2; b: 3')
    """
    if isinstance(value, BaseModel) and type(value).__str__ is BaseModel.__str__:
        return ", ".join(f"{key.replace('_', ' ')} {in_words(part)}" for key, part in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {in_words(part)}" for key, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        if len(value) > LONGEST_LIST:
            return f"{in_words(value[0])} … {in_words(value[-1])} ({len(value)} values)"
        return ", ".join(map(in_words, value)) or "none"
    if value is None:
        return "all"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def two_in_words(one: Any, other: Any) -> tuple[str, str]:
    """Two different settings, exact where the words would be the same.

    >>> two_in_words(100, None), two_in_words(0.0123, 0.01234), two_in_words([*range(9)], [*range(8), 9])
    (('100', 'all'), ('0.0123', '0.01234'), ('0 … 8 (9 values)', '0 … 9 (9 values)'))
    >>> two_in_words({"at": [1, 2.00001]}, {"at": [1, 2]})
    ("{'at': [1, 2.00001]}", "{'at': [1, 2]}")
    """
    words = in_words(one), in_words(other)
    return words if words[0] != words[1] else (str(one), str(other))


def value_in_words(value: Any) -> str:
    """A check's parameter, any JSON value, in words.

    >>> value_in_words([4, 96]), value_in_words(0.00002), value_in_words({"n": None}), value_in_words(True)
    ('4, 96', '2 × 10⁻⁵', 'n none', 'yes')
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {value_in_words(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(value_in_words, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return number(value) if isinstance(value, int | float) else str(value)


def moment(text: str) -> str:
    """An ISO 8601 time as a date and a time of day in UTC; other text is unchanged.

    >>> moment("2026-11-21T07:05:09+01:00"), moment("yesterday")
    ('21 November 2026, 06:05 UTC', 'yesterday')
    """
    try:
        at = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return text
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def duration(seconds: float | None) -> str:
    """Seconds in a suitable unit.

    >>> duration(3.21), duration(123.4), duration(7260), duration(1_349_156), duration(None)
    ('3.2 s', '2 min 3 s', '2 h 1 min', '15 d 14 h', 'not known')
    """
    if seconds is None:
        return "not known"
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def megabytes(size: int) -> str:
    """A file's size.

    >>> megabytes(18733), megabytes(2_297_946)
    ('19 kB', '2.3 MB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"


def decimals(value: float, digits: int) -> str:
    """A number with so many decimals.

    >>> decimals(-6.384, 2)
    '−6.38'
    """
    return f"{value:.{digits}f}".replace("-", "−")


def difference(value: float, digits: int) -> str:
    """A difference with its sign.

    >>> difference(0.051, 2), difference(-1.2, 1), difference(-0.001, 2)
    ('+0.05', '−1.2', '0.00')
    """
    shown = f"{value:+.{digits}f}"
    return decimals(0.0, digits) if float(shown) == 0 else shown.replace("-", "−")


def in_minutes(seconds: float) -> str:
    """A duration in words.

    >>> in_minutes(20), in_minutes(1860), in_minutes(3600 * 5.4), in_minutes(86_400 * 15.6)
    ('less than a minute', 'about 31 minutes', 'about 5.4 hours', 'about 15.6 days')
    """
    if seconds >= 172_800:
        return f"about {seconds / 86_400:.1f} days"
    if seconds >= 7200:
        return f"about {seconds / 3600:.1f} hours"
    minutes = round(seconds / 60)
    return f"about {minutes} minute{'s' * (minutes > 1)}" if minutes else "less than a minute"
