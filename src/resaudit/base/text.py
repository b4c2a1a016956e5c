"""Numbers, intervals and effects in words."""

import math

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
NEAR_ONE = 0.1
"""Ratios this close to 1 are printed in per cent."""


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
