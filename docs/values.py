"""The numbers in prose: what each is, computed from the committed tables.

Under a block of text (a paragraph, a list, a table) stands ``<!-- numbers: VALUE; VALUE; … -->``, in YAML ``# numbers:
…``, with a value for each numeral of the block, in order. Numerals in code, links and headings need none, nor do those
that name something, after a word of :data:`NAMES` (depth 64, Figure 5). A value is

- ``CLAIM.FIELD``, ``CLAIM/CHECK.FIELD`` or ``CLAIM/CHECK/PLACE.FIELD``: of the claim's (first) check, at its worst
  place or the one named. Fields: ``effect``, ``low``, ``high``, ``n``; ``most``, the largest effect over tied rates;
  ``place``, the number in the place's name; of the check ``met``, ``of``, ``runs_to_decide``, ``coverage``. After
  ``paper:`` it is of scale paper; ``CLAIM@VARIANT.FIELD`` is of the committed matrix;
- ``.FIELD``: another field of the value before;
- ``FUNCTION FIGURE.COLUMN KEY=VALUE&…``: of the rows of a table that have these values; also ``KEY>=VALUE`` and
  ``KEY<=VALUE``, ``COLUMN/COLUMN`` for a ratio, and ``means_FUNCTION`` of the means by epoch;
- a number, or a name that :attr:`Values.counts` has;
- ``said``: by the paper or arithmetic, or a setting or threshold of ours; no run changes it;
- ``measured``: by an experiment of its own, whose command stands after ``by`` at the end.

``VALUE*N`` stands for N of them, ``VALUE ÷ VALUE`` is a ratio, ``VALUE - 1`` the excess, and ``VALUE in %`` a hundred
times it, as every value is before " %". ``docs/renew_verdicts.py`` writes the numerals anew;
``tests/engine/test_readme.py`` fails where one has moved.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from resaudit.audit.changes import opposed
from resaudit.audit.models import Audit, standings_of
from resaudit.claims.records import CheckResult
from resaudit.figures.curves import descending, interpolate

NUMERAL = r"[−-]?\d+(?: \d{3})*(?:\.\d+)?(?:e-?\d+)?"
NAMES = (
    r"[Ff]igures?|[Ss]ections?|[Tt]ables?|[Tt]heorems?|[Ll]emmas?|[Ee]qs?\.|[Pp]ropositions?|[Aa]ssumptions?|footnote"
    r"|[Dd]epths?|[Ee]pochs?|[Rr]ates?|widths?|layers|[Ll]oss(?:es)? (?:of|below)|[LkRdcn] =|Python|seed"
)
_NAMED = (
    rf"(?:{NAMES})(?: (?:of|from|to|over))? {NUMERAL}"
    rf"(?:(?:, | and | to | over | or |, and ){NUMERAL}(?![\d.]*\d| %| times| at ))*"
)
_HIDDEN = re.compile(
    rf"`[^`]*`|<!--.*?-->|\]\([^)]*\)|arXiv:?\s?\S+|https?://\S+|^#[^\n]*$|^\s*\d+\. |\b{_NAMED}(?![\w.]*\d)",
    re.M | re.DOTALL,
)
_FOUND = re.compile(rf"(?<![\w.,/^−-]){NUMERAL}(?![\w/^⁻²]|\.\d|-[a-z])")
FIXED = ("said", "measured")


@dataclass(frozen=True)
class Marked:
    """A numeral with the value that it must be.

    Attributes:
        start, text: its place in the file, and itself.
        value: the value's name; None if the block has none for it.
    """

    start: int
    text: str
    value: str | None


def numerals(text: str) -> list[tuple[int, str]]:
    """The numerals of a text that need a value, each with its place.

    >>> numerals("At depth 64 and `3` it is 4.2 times (2.5 to 7), 60 000 in Figure 5, 1-shortcut, 2e-9")
    [(26, '4.2'), (37, '2.5'), (44, '7'), (48, '60 000'), (80, '2e-9')]
    """
    masked = _HIDDEN.sub(lambda found: "x" * len(found[0]), text)
    return [(found.start(), found[0]) for found in _FOUND.finditer(masked)]


def marked(text: str) -> Iterator[Marked]:
    """Every numeral of a Markdown file with its value."""
    start = 0
    for part in re.split(r"(\n\s*\n(?!<!-- numbers))", text):
        mark = re.search(r"<!-- numbers: (.*?)\s-->", part, re.DOTALL)
        yield from _of_block(part[: mark.start()] if mark else part, mark and mark[1], start)
        start += len(part)


def marked_in_yaml(text: str) -> Iterator[Marked]:
    """Every numeral of the ``finding`` texts of a claims file with its value."""
    for found in re.finditer(r"^  finding: >-\n((?:    .*\n)+)((?:  # .*\n)*)", text, re.MULTILINE):
        mark = re.sub(r"^  # (numbers: )?", "", found[2], flags=re.MULTILINE)
        yield from _of_block(found[1], mark or None, found.start(1))


def _of_block(block: str, mark: str | None, start: int) -> Iterator[Marked]:
    found, before, values = numerals(block), "", list[str]()
    if mark:
        mark, _, command = " ".join(mark.split()).partition(" by ")
        values = [value for entry in mark.split("; ") for value in _repeated(entry)]
        if ("measured" in values) != bool(command) or len(values) != len(found):
            raise ValueError(f"{len(values)} values for {[text for _, text in found]} (by {command}): {mark}")
    for index, (place, text) in enumerate(found):
        value = values[index] if mark else None
        if value and value.startswith("."):
            value = before.rsplit(".", 1)[0] + value
        before = value or ""
        yield Marked(start + place, text, value)


def _repeated(entry: str) -> list[str]:
    value, _, times = entry.rpartition("*")
    return [value] * int(times) if times.isdigit() and value else [entry]


def shown(value: float, like: str, percent: bool) -> str:
    """A value with as many digits as a numeral has.

    >>> shown(0.8432, "84", True), shown(4.24, "4.1", False), shown(2587.0, "2600", False), shown(3e-10, "1e-9", False)
    ('84', '4.2', '2600', '3e-10')
    """
    value, plain = (100 * value if percent else value), like.replace(" ", "").replace("−", "-")
    if "e" in plain:
        mantissa, exponent = f"{value:.{len(plain.split('e')[0].partition('.')[2])}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    zeros = len(plain) - len(plain.rstrip("0")) if "." not in plain and abs(int(plain)) >= 100 else 0
    text = f"{round(value, -zeros) if zeros else value:.{len(plain.partition('.')[2])}f}"
    return f"{float(text):,.0f}".replace(",", " ") if " " in like else text.replace("-", "−") if "−" in like else text


_FUNCTIONS: dict[str, Callable[[pd.Series], float]] = {
    "mean": pd.Series.mean,
    "min": pd.Series.min,
    "max": pd.Series.max,
    "median": pd.Series.median,
    "count": pd.Series.nunique,
    "sum": pd.Series.sum,
    "over_one": lambda values: float((values > 1).mean()),
    "geomean": lambda values: float(np.exp(np.log(values).mean())),
}


class Values:
    """Values by name.

    Args:
        reduced: the audit of the committed tables.
        in_full: that of the committed tables of scale paper.
        tables: the folder of committed tables.
        counts: further numbers by name.
    """

    def __init__(self, reduced: Audit, in_full: Audit, tables: Path, counts: dict[str, float]) -> None:
        self.reduced, self.in_full, self.tables, self._counts = reduced, in_full, tables, counts

    def of(self, name: str) -> float:
        """The value of that name."""
        if " ÷ " in name:
            over, under = name.split(" ÷ ")
            return self.of(over) / self.of(under)
        if name.endswith(" in %"):
            return 100 * self.of(name[:-5])
        if name.endswith(" - 1"):
            return self.of(name[:-4]) - 1
        if re.fullmatch(r"[\d.e-]+", name):
            return float(name)
        if name.split(" ")[0].removeprefix("means_") in _FUNCTIONS:
            return self._of_table(*name.split(" ", 2))
        if name in self.counts:
            return self.counts[name]
        return self._of_claim(name)

    @cached_property
    def counts(self) -> dict[str, float]:
        """Numbers of claims: all, of each standing, with the opposite verdict under another reading."""
        claims, matrices = self.reduced.claims, {paper.id: paper.robustness for paper in self.reduced.papers}
        opposite = sum(bool(opposed(claim, matrices[claim.paper])) for claim in claims)
        theorems = [c.checks[0].worst for c in claims if c.id.startswith("demystifying_resnet/theorem")]
        return {
            "claims": len(claims),
            "opposite": opposite,
            "worst-theorem": max(worst.effect for worst in theorems if worst),
            **standings_of(claims),
            **by_excess(pd.read_csv(self.tables / "demystifying_resnet/fig05.csv"), self.of("mean fig07.optimal_loss")),
            **self._counts,
        }

    def _of_claim(self, name: str) -> float:
        audit = self.in_full if name.startswith("paper:") else self.reduced
        path, _, field = name.removeprefix("paper:").rpartition(".")
        of_claim, _, variant = path.split("/")[0].partition("@")
        (claim,) = (each for each in audit.claims if each.name == of_claim)
        if variant:
            (under,) = (each for each in claim.variants if each.id == variant)
            return float(getattr(under, field))
        _, check_name, place = [*path.split("/", 2), "", ""][:3]
        named = {each.name: each for each in claim.checks}
        check = named[check_name] if check_name else claim.checks[0]
        if field in ("met", "runs_to_decide", "coverage"):
            return float(getattr(check, field))
        return len(check.points) if field == "of" else _of_point(check, place, field)

    def _of_table(self, function: str, column: str, where: str = "") -> float:
        figure, _, name = column.rpartition(".")
        (csv,) = self.tables.glob(f"*/{figure}.csv") if "/" not in figure else [self.tables / f"{figure}.csv"]
        table = pd.read_csv(csv)
        for condition in filter(None, where.split("&")):
            key, sign, value = re.split("(>=|<=|=)", condition, maxsplit=1)
            one = table[key].dtype.type(value) if table[key].dtype != object else value
            table = table[{">=": table[key].ge, "<=": table[key].le, "=": table[key].eq}[sign](one)]
        if table.empty:
            raise LookupError(f"no row has {where} in {csv}")
        over, _, under = name.partition("/")
        values = table[over] / table[under] if under else table[over]
        if function.startswith("means_"):
            return float(_FUNCTIONS[function.removeprefix("means_")](values.groupby(table["epoch"]).mean()))
        return float(_FUNCTIONS[function](values))


def by_excess(along: pd.DataFrame, optimal_loss: float) -> dict[str, float]:
    """Ratios of condition numbers at equal excess loss, and the power of the excess as which 10th percentiles fall."""
    along = along[along["shown"] & np.isfinite(along["loss"]) & along["resolved"]]
    along = along[along["loss"] > optimal_loss + 1e-12]
    excesses, found, means = np.array([0.1, 0.03, 0.01, 0.003]), {}, {}
    for network in ("2-shortcut", "orthogonal"):
        # Fresh runs may have Hessians at the last epoch alone.
        rows = along[along["network"] == network].groupby("run").filter(lambda run: len(run) > 1)
        curves = [descending(run, "condition_number") for _, run in rows.groupby("run")]
        values = np.array([interpolate(optimal_loss + excesses, *curve) for curve in curves])
        means[network], late = np.log(values).mean(axis=0), rows[rows["epoch"] >= 30]
        logs = np.log(late["loss"] - optimal_loss), np.log(late["lambda_p10"])
        found[f"percentile-power-{network}"] = float(np.polyfit(*logs, 1)[0])
    ratios = np.exp(means["2-shortcut"] - means["orthogonal"])
    return found | {f"ratio-at-excess-{x:g}": float(ratio) for x, ratio in zip(excesses, ratios, strict=True)}


def _of_point(check: CheckResult, place: str, field: str) -> float:
    (point,) = (each for each in check.points if each.where == place) if place else (check.worst,)
    if point is None:
        raise LookupError(f"{check.name} has measured nothing")
    if field == "most":
        return max(choice.effect for choice in point.choices if np.isfinite(choice.effect))
    if field == "place":
        return float(re.findall(r"\d[\d.e-]*", point.where)[-1])
    return float(getattr(point, field))
