"""The matrix claim x variant as a heat map."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.colors import ListedColormap, to_rgba
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch

from resaudit.claims.decision import Verdict
from resaudit.figures.style import TWO_COLUMNS

_LOOKS = {
    Verdict.supported.value: ("#009E73", "holds"),
    Verdict.contradicted.value: ("#D55E00", "fails"),
    Verdict.depends.value: ("#8E7CC3", "depends"),
    Verdict.inconclusive.value: ("#E9C46A", "open"),
    Verdict.not_run.value: ("#DDDDDD", "not run"),
}


def plot(table: pd.DataFrame, titles: Mapping[str, str]) -> Drawing:
    """A heat map of verdicts, in words and colour: claims in rows, readings in columns.

    A pale cell with a dot: the claim's evidence does not depend on the variant; the verdict is the control's.
    """
    import seaborn as sns  # loads scipy.stats, which a run without this matrix can do without

    claims, variants = list(table["claim"].unique()), list(table["variant"].unique())
    verdicts, depends = (
        table.pivot_table(column, "claim", "variant", aggfunc="first").loc[claims, variants]
        for column in ("verdict", "depends")
    )
    words = {verdict: word for verdict, (_, word) in _LOOKS.items()}
    places = {verdict: place for place, verdict in enumerate(_LOOKS)}
    colours = [to_rgba(colour, alpha) for alpha in (0.25, 1.0) for colour, _ in _LOOKS.values()]
    figure = Drawing(figsize=(TWO_COLUMNS, 1.5 + 0.18 * len(claims)), layout="constrained")
    axes = figure.add_subplot()
    sns.heatmap(
        verdicts.replace(places).astype(int) + len(_LOOKS) * depends.astype(int),
        vmin=0,
        vmax=len(colours),
        cmap=ListedColormap(colours),
        annot=verdicts.replace(words).where(depends.astype(bool), "·"),
        fmt="",
        annot_kws={"fontsize": 6.5, "color": "0.15"},
        cbar=False,
        linewidths=0.8,
        xticklabels=[titles[variant] for variant in variants],
        yticklabels=[claim.replace("-", " ") for claim in claims],
        ax=axes,
    )
    axes.set(xlabel="", ylabel="")
    axes.grid(visible=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False, labelsize=7)
    axes.tick_params(axis="y", rotation=0)  # seaborn's own are vertical where they are short
    for text in axes.get_xticklabels():
        text.set(rotation=45, horizontalalignment="left")
    axes.axvline(1, color="0.25", linewidth=1.2)
    seen = [verdict for verdict in _LOOKS if verdict in set(table["verdict"])]
    handles = [Patch(facecolor=_LOOKS[verdict][0], label=f"{_LOOKS[verdict][1]}: {verdict}") for verdict in seen]
    handles.append(Patch(facecolor="white", edgecolor="0.7", label="·: does not depend on it"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=6.5, handlelength=1.2)
    return figure
