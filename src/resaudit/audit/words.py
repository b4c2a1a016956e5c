"""Parameters, times, sizes and names as the page shows them."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from resaudit.base.text import effect_and_interval, number

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
KINDS = {"empirical": "measured", "theorem": "theory", "count": "counted"}
FITTED = "fitted"
STANDINGS = ("supported", "contradicted", "inconclusive", "not run", FITTED)
_NUMBERED = {"fig": "Figure", "table": "Table", "theorem": "Theorem"}


def in_words(value: Any) -> str:
    """A check's parameter, any JSON value, in words.

    >>> in_words([4, 96]), in_words(0.00002), in_words({"n": None}), in_words(True)
    ('4, 96', '2 × 10⁻⁵', 'n none', 'yes')
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {in_words(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(in_words, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return number(value) if isinstance(value, int | float) else str(value)


def standing(claim: dict[str, Any]) -> str:
    """What a claim counts as: its verdict, but fitted where it meets our thresholds and that is no evidence.

    >>> [standing({"verdict": verdict, "fitted": "to it"}) for verdict in ("supported", "inconclusive")]
    ['fitted', 'inconclusive']
    """
    return FITTED if claim.get("fitted") and claim["verdict"] == "supported" else str(claim["verdict"])


def counted(claims: Iterable[dict[str, Any]]) -> dict[str, int]:
    """How many claims count as what, in the order of :data:`STANDINGS`."""
    found = [standing(claim) for claim in claims]
    return {each: found.count(each) for each in STANDINGS}


def counts_in_words(*counts: dict[str, int]) -> str:
    """The sum of some counts of claims in words; fitted ones are named where there are any.

    >>> counts_in_words({"supported": 1, "not run": 2}, {"supported": 3, "not run": 0, "fitted": 0})
    '4 supported, 2 not run'
    """
    known = [each for each in STANDINGS if any(each in count for count in counts)]
    total = {each: sum(count.get(each, 0) for count in counts) for each in known}
    return ", ".join(f"{number} {each}" for each, number in total.items() if number or each != FITTED)


def set_in_words(entry: dict[str, str]) -> str:
    """A setting of a claim that is not the repository's.

    >>> set_in_words({"what": "threshold", "here": "≥ 0.02", "repository": "≥ 0.1"})
    "threshold set for this run: ≥ 0.02; the repository's: ≥ 0.1"
    """
    return f"{entry['what']} set for this run: {entry['here']}; the repository's: {entry['repository']}"


def set_for_run(claim: dict[str, Any]) -> list[str]:
    """All of a claim's settings that are not the repository's, a check's with its name where there are several."""
    lead = len(claim["checks"]) > 1
    own = [set_in_words(entry) for entry in claim.get("set_for_run", [])]
    return own + [
        (f"{check['name'].replace('-', ' ')}: " if lead else "") + set_in_words(entry)
        for check in claim["checks"]
        for entry in check.get("set_for_run", [])
    ]


def mixed_code(figure: dict[str, Any]) -> str:
    """Which results of a figure were made by more than one code; empty if none.

    >>> mixed_code({"codes": {"train": {"0a": 30, "1b": 2}, "whiten": {"0a": 1}}})
    '30 and 2 results of train'
    """
    mixed = {kind: sorted(of.values(), reverse=True) for kind, of in figure.get("codes", {}).items() if len(of) > 1}
    return "; ".join(f"{' and '.join(map(str, numbers))} results of {kind}" for kind, numbers in mixed.items())


def meets(result: dict[str, Any]) -> str:
    """How many comparisons of a check meet the threshold, and the least favourable effect against it.

    >>> worst = {"effect": 3.0, "low": 1.5, "high": 5.5, "verdict": "contradicted"}
    >>> result = {"points": [worst], "worst": worst, "ratio": True, "check": {"threshold": "≤ 1"}}
    >>> meets(result), meets(result | {"points": [worst, {"verdict": "supported"}]})
    ('3 vs ≤ 1', '1 of 2; worst 3 vs ≤ 1')
    """
    worst, points = result["worst"], result["points"]
    effect, _ = effect_and_interval(worst["effect"], worst["low"], worst["high"], result["ratio"], digits=3)
    against = f"{effect} vs {result['check']['threshold']}"
    met = sum(point["verdict"] == "supported" for point in points)
    return against if len(points) == 1 else f"{met} of {len(points)}; worst {against}"


def share_met(claim: dict[str, Any]) -> float:
    """The share of a claim's comparisons that meet the threshold; 2, and so last, without any."""
    verdicts = [point["verdict"] for result in claim["checks"] for point in result["points"]]
    return round(verdicts.count("supported") / len(verdicts), 4) if verdicts else 2.0


def needs_in_words(needs: dict[str, Any]) -> str:
    """The minimum sample of a claim.

    >>> needs_in_words({"runs": 5, "depths": [4, 96], "scales": ["laptop", "paper"], "datasets": ["cifar10"]})
    '5 runs; depths 4, 96; scale laptop or paper; data set cifar10'
    """
    runs = [] if needs["runs"] is None else [f"{needs['runs']} {'run' if needs['runs'] == 1 else 'runs'}"]
    depths = [f"depths {', '.join(map(str, needs['depths']))}"] if needs["depths"] else []
    scales = [f"scale {' or '.join(needs['scales'])}"] if needs["scales"] else []
    data = [f"data set {' or '.join(needs['datasets'])}"] if needs["datasets"] else []
    return "; ".join([*runs, *depths, *scales, *data]) or "nothing beyond the evidence itself"


def figure_label(name: str) -> str:
    """The name of ``paper/figure`` in a text; two digits of a theorem are its section's and its own.

    >>> figure_label("demystifying_resnet/fig04"), figure_label("x/theorem21"), figure_label("x/shortcut1")
    ('Figure 4', 'Theorem 2.1', 'shortcut1')
    >>> figure_label("x/fig01_cifar100"), figure_label("x/shortcut_depths")
    ('Figure 1 (cifar100)', 'shortcut depths')
    """
    slug = name.split("/")[-1]
    numbered = re.fullmatch(r"(fig|table|theorem)0*([0-9]+)(?:_(.+))?", slug)
    if numbered is None:
        return slug.replace("_", " ")
    number = ".".join(numbered[2]) if numbered[1] == "theorem" else numbered[2]
    variety = f" ({numbered[3].replace('_', ' ')})" if numbered[3] else ""
    return f"{_NUMBERED[numbered[1]]} {number}{variety}"


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

    >>> duration(3.21), duration(123.4), duration(7260), duration(None)
    ('3.2 s', '2 min 3 s', '2 h 1 min', 'not known')
    """
    if seconds is None:
        return "not known"
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def megabytes(size: int) -> str:
    """A file's size.

    >>> megabytes(18733), megabytes(2_297_946)
    ('19 kB', '2.3 MB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"


def kind_label(kind: str) -> str:
    """A claim's kind in words.

    >>> kind_label("empirical")
    'measured'
    """
    return KINDS[kind]


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
