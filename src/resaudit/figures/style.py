"""One look for every figure: print sizes, told apart without colour, the same bytes on every run."""

import re
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

if TYPE_CHECKING:
    import pandas as pd

ONE_COLUMN, TWO_COLUMNS = 3.35, 6.9
"""Widths of print in inches: a figure of one panel, of several."""
SMALLEST_POINTS = 6.5
PRINTED = "printed rows"
"""Label of the panels that :meth:`Panel.print_rows` has filled, by which a drawing's tables are found."""


class Look:
    """Colours, and patterns of lines, by which curves are told apart.

    The colours are those of Okabe and Ito's palette, much of the same lightness: patterns and markers tell curves apart
    in grey.
    """

    BLUE, RED, GREEN, PINK, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
    BLACK, GREY, YELLOW = "#000000", "#7F7F7F", "#F0E442"
    DASHED, DASH_DOTTED, DOTTED = (0, (4, 1.5)), (0, (4, 1.2, 1, 1.2)), (0, (1, 1))

    @staticmethod
    def colours_of(values: Sequence[int]) -> list[Any]:
        """A palette for ordered values, such as depths; the largest is darkest."""
        return [mpl.colormaps["viridis_r"](x) for x in np.linspace(0.3, 1.0, len(values))]


_SPECIAL = {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "–": "--", "—": "---", "…": r"\dots{}",
    "[": "{[}", "*": "{*}",  # which the end of the row above would take as its own
} | {letter: f"\\{letter}" for letter in "&%$#_{}"}  # fmt: skip
_MATH = {
    "−": "-", "±": r"\pm", "×": r"\times", "·": r"\cdot", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx",
    "∞": r"\infty", "√": r"\surd", "ℓ": r"\ell", "→": r"\to", "∝": r"\propto", "∈": r"\in", "°": r"^\circ",
    "²": "^2", "³": "^3", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon",
    "ζ": r"\zeta", "η": r"\eta", "θ": r"\theta", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu",
    "ξ": r"\xi", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\varphi", "χ": r"\chi", "ψ": r"\psi",
    "ω": r"\omega", "Γ": r"\Gamma", "Δ": r"\Delta", "Θ": r"\Theta", "Λ": r"\Lambda", "Σ": r"\Sigma", "Φ": r"\Phi",
    "Ψ": r"\Psi", "Ω": r"\Omega",
}  # fmt: skip
_LETTERS = str.maketrans(_SPECIAL | {letter: f"${command}$" for letter, command in _MATH.items()})


def apply_style() -> None:
    """Set matplotlib's defaults: those of ``print.mplstyle``, whatever the user's own are."""
    mpl.use("agg")
    mpl.rc_file(Path(__file__).with_name("print.mplstyle"))


class Panel(Axes):
    """One panel of a figure in the common look."""

    def inset(self, bounds: tuple[float, float, float, float]) -> "Panel":
        """A panel within this one, in shares of its width and height: left, bottom, width, height."""
        inset = self.inset_axes(bounds, axes_class=Panel)
        assert isinstance(inset, Panel)
        return inset

    def note(self, text: str, at: tuple[Any, Any], shift: tuple[float, float] = (0, 0), **how: Any) -> None:
        """Small text, shifted by points from a place."""
        self.annotate(text, at, xytext=shift, textcoords="offset points", **{"fontsize": 7} | how)

    def label_ends(self, ends: Sequence[tuple[tuple[float, float], str, Any]]) -> None:
        """Names at the ends of curves, moved apart where they would overlap at the right edge; set the limits before.

        Args:
            ends: each curve's last point, name and colour; a curve without a point, whose last is NaN, gets no name.
        """
        edge = self.get_xlim()[1]
        to_share = self.transData + self.transAxes.inverted()
        place = -np.inf
        for (x, y), name, colour in sorted((end for end in ends if np.isfinite(end[0][1])), key=lambda end: end[0][1]):
            if x < edge:
                self.note(name, (x, y), (3, 0), color=colour, va="center")
            else:
                place = max(float(to_share.transform((edge, y))[1]), place + 0.075)
                self.note(name, (1.0, place), (3, 0), xycoords="axes fraction", color=colour, va="center")

    def print_rows(
        self,
        rows: Sequence[tuple[str, ...]],
        places: Sequence[float],
        size: float = 7,
        pale: Collection[int] = (),
        ruled: int = 1,
    ) -> None:
        """Print a table of texts, the first row a heading.

        Args:
            rows: the texts of the columns.
            places: shares of the width: the left end of the first column, the right ends of the others.
            size: size of the letters in points.
            pale: numbers of the rows that are printed in grey.
            ruled: a line comes under the heading, and under the last of so many rows each.
        """
        self.set_label(PRINTED)
        self.set_axis_off()
        self.set_ylim(len(rows) - 0.5, -0.5)
        for number, row in enumerate(rows):
            look: dict[str, Any] = {"fontweight": "normal" if number else "bold", "fontsize": size}
            if number in pale:
                look["color"] = "0.4"
            for column, (x, text) in enumerate(zip(places, row, strict=True)):
                align = "right" if column else "left"
                printed = self.annotate(
                    text, (x, number), xycoords=self.get_yaxis_transform(), ha=align, va="center", **look
                )
                printed.set_in_layout(False)
            if number % ruled == 0:
                self.axhline(number + 0.5, color="0.9" if number else "0.25", linewidth=0.6)

    def print_errors(self, names: "pd.Series", shares: "pd.Series", places: Sequence[float]) -> None:
        """Print each statement, its number of cases, and its largest error relative to the bound on its round-off.

        Args:
            names: the statement of each case.
            shares: each case's error over its bound.
            places: the places of the three columns, as for :func:`print_rows`.
        """
        rows = [("statement", "cases", "error / bound")]
        for name, errors in shares.groupby(names, sort=False):
            share = errors.max()
            rows.append((str(name), f"{len(errors)}", f"{share:.1g}" if share <= 1 else f"{share:.2g} (!)"))
        self.print_rows(rows, places)

    def plot_band(self, middle: "pd.Series", low: Any, high: Any, alpha: float = 0.2, **look: Any) -> None:
        """Plot a series against its index as a curve, and a band of its colour between two others."""
        self.plot(middle.index, middle, **look)
        self.fill_between(middle.index, low, high, color=look["color"], alpha=alpha, linewidth=0)

    def plot_mean(
        self, rows: "pd.DataFrame", x: str, column: str, alpha: float = 0.2, **look: Any
    ) -> tuple[float, float]:
        """Plot a column's mean over runs as a curve, one standard deviation shaded; it ends where a run diverges.

        Args:
            rows: one network's rows, one for each run and x.
            x: column of the horizontal axis.
            column: the column to draw.
            alpha: opacity of the shade.
            look: the curve's look, with its colour.

        Returns:
            The curve's last point, as x and mean; NaN if all runs diverge at once.
        """
        by_x = rows.groupby(x)[column]
        mean, deviation = by_x.mean(), by_x.std(ddof=1).fillna(0.0)
        self.plot_band(mean, mean - deviation, mean + deviation, alpha, **look)
        finite = mean[np.isfinite(mean)]
        return (float(finite.index[-1]), float(finite.iloc[-1])) if len(finite) else (np.nan, np.nan)

    def plot_runs(self, x: "pd.Series", y: "pd.Series", look: dict[str, Any], least: float | None = None) -> None:
        """Plot means over runs as a curve, where every run is finite, and every finite run as a dot.

        Args:
            x: a value for each run.
            y: a value for each run.
            look: the curve's look, with its colour.
            least: dots of smaller values are drawn there.
        """
        mean = y.groupby(x.to_numpy()).mean()
        mean = mean[np.isfinite(mean)]
        self.plot(mean.index, mean, **look)
        dots = {"color": look["color"], "markersize": 3.5, "markeredgewidth": 0, "alpha": 0.5}
        finite = np.isfinite(y.to_numpy())
        self.plot(x[finite], y[finite].clip(lower=least), ".", **dots)

    def plot_screened(self, x: "pd.Series", y: "pd.Series", colour: Any, least: float | None = None) -> None:
        """The runs that chose a rate, as small dots right of those that are measured; ``least`` as in `plot_runs`."""
        small = {"color": colour, "markersize": 1.5, "markeredgewidth": 0, "alpha": 0.5}
        self.plot(x * 1.04, y.clip(lower=least), ".", **small)

    def plot_published(self, x: Any, y: Any, colour: Any) -> None:
        """A paper's published values, as large open marks over the measured ones."""
        self.plot(x, y, "o", markersize=9, markerfacecolor="none", color=colour, zorder=5, label="published")

    def mark(self, x: float | None = None, y: float | None = None, **how: Any) -> None:
        """A dotted grey line at a value of the horizontal or the vertical axis."""
        look: dict[str, Any] = {"color": "0.4", "linewidth": 0.8, "linestyle": ":"} | how
        if x is not None:
            self.axvline(x, **look)
        if y is not None:
            self.axhline(y, **look)

    def depth_axis(self, depths: Sequence[int], base: int = 2, label: str = "depth") -> None:
        """Depth on a logarithmic axis, with the depths that were run as its ticks."""
        self.set_xscale("log", base=base)
        self.plain_ticks("x", depths)
        self.set_xlabel(label)

    def plain_ticks(self, which: Literal["x", "y"], ticks: Sequence[float]) -> None:
        """Ticks as plain numbers on a logarithmic axis of few decades, where they are on it."""
        axis = self.xaxis if which == "x" else self.yaxis
        low, high = axis.get_view_interval()
        ticks = [tick for tick in ticks if low <= tick <= high]
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axis.set_ticks([], minor=True)


def panels(layout: str | int = 1, height: float = 2.5, **grid: Any) -> tuple[Figure, list[Panel]]:
    """A figure of lettered panels at its width in print.

    Args:
        layout: how many panels are side by side, or a letter for each, as in matplotlib's ``subplot_mosaic``.
        height: the height in inches.
        grid: further arguments of ``subplot_mosaic``, as width_ratios.

    Returns:
        The figure and its panels by letter; several show their letters.
    """
    layout = ascii_lowercase[:layout] if isinstance(layout, int) else layout
    several = len(set(layout) - {";"}) > 1
    size = (TWO_COLUMNS if several else ONE_COLUMN, height)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.05))
    mosaic = figure.subplot_mosaic(layout, subplot_kw={"axes_class": Panel}, **grid)
    for letter, axes in mosaic.items() if several else ():
        axes.set_title(letter, loc="left", fontweight="bold", fontsize=9)
    drawn = [mosaic[letter] for letter in sorted(mosaic)]
    return figure, [each for each in drawn if isinstance(each, Panel)]


def tables_in(drawing: Figure) -> str:
    r"""The rows that :meth:`Panel.print_rows` printed, a ``tabular`` for each panel, for ``\usepackage{booktabs}``."""
    from pandas import DataFrame

    tables = []
    for axes in (axes for axes in drawing.axes if axes.get_label() == PRINTED):
        by_row = groupby(axes.texts, lambda cell: cell.get_position()[1])
        heading, *rows = ([escaped(cell.get_text()) for cell in row] for _, row in by_row)
        columns = f"l{'r' * (len(heading) - 1)}"
        tables.append(DataFrame(rows, columns=heading).to_latex(index=False, column_format=columns))
    return "\n".join(tables)


def escaped(text: str) -> str:
    r"""A text as LaTeX prints it; what is between dollars is a formula, two spaces before a text are an indent.

    >>> print(escaped("  50 % of a_1 & $L^{-1}$, 1 ≤ 4π"))
    \quad 50 \% of a\_1 \& $L^{-1}$, 1 $\leq$ 4$\pi$
    """
    parts = re.split(r"(\$[^$]*\$)", re.sub("^  ", "\N{EM SPACE}", text))
    plain = "".join(part if number % 2 else part.translate(_LETTERS) for number, part in enumerate(parts))
    return plain.replace("\N{EM SPACE}", r"\quad ")


def legend_above(figure: Figure, looks: Sequence[dict[str, Any]], **how: Any) -> None:
    """One legend of all panels, above them: a line for each look; further arguments are those of ``Figure.legend``."""
    handles = [Line2D([], [], **look) for look in looks]
    figure.legend(handles=handles, loc="outside upper center", **{"ncols": len(handles)} | how)
