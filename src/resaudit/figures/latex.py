"""The tables that a drawing prints, as LaTeX."""

import re
from itertools import groupby

from matplotlib.figure import Figure

from resaudit.figures.style import PRINTED

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


def tables_in(drawing: Figure) -> str:
    r"""The texts of each panel that :func:`resaudit.figures.style.print_rows` printed, for ``\usepackage{booktabs}``.

    Returns:
        A ``tabular`` for each such panel; nothing for a drawing without any.
    """
    tables = []
    for axes in drawing.axes:
        if axes.get_label() == PRINTED:
            by_row = groupby(axes.texts, lambda cell: cell.get_position()[1])
            rows = [[cell.get_text() for cell in row] for _, row in by_row]
            heading, *lines = (" & ".join(map(escaped, row)) + r" \\" for row in rows)
            begin = rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}"
            tables += [begin, r"\toprule", heading, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(tables)


def escaped(text: str) -> str:
    r"""A text as LaTeX prints it; what is between dollars is a formula, two spaces before a text are an indent.

    >>> print(escaped("  50 % of a_1 & $L^{-1}$, 1 ≤ 4π"))
    \quad 50 \% of a\_1 \& $L^{-1}$, 1 $\leq$ 4$\pi$
    """
    parts = re.split(r"(\$[^$]*\$)", re.sub("^  ", "\N{EM SPACE}", text))
    plain = "".join(part if number % 2 else part.translate(_LETTERS) for number, part in enumerate(parts))
    return plain.replace("\N{EM SPACE}", r"\quad ")
