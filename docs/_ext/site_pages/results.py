"""The results of the reference run: its figures, drawn anew from the committed tables, and verdicts on their claims."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from resaudit.figures.drawing import plot_of, read_about, read_csv
from site_pages.ledgers import configuration
from site_pages.links import CHECKOUT, DOCS, plain

REFERENCE = CHECKOUT / "figures" / "reference"
DRAWN = "_drawn"
"""Folder of the drawings, in that of the site."""
DPI = 160
_ROW = re.compile(r"^\| .*", re.MULTILINE)


def results() -> Iterator[str]:
    """Every figure that has a committed table, by paper: its drawing, how it was run, and its claims with verdicts."""
    sections = (DOCS / "verdicts.md").read_text(encoding="utf-8").split("\n## ")[1:]
    tables = {section.partition("\n")[0]: _ROW.findall(section) for section in sections}
    for paper, claims in configuration().claims.items():
        of_paper = next(figure.paper for name, figure in configuration().figure.items() if name.startswith(f"{paper}/"))
        yield from ("", f"## {of_paper.title}", "", f"{plain(of_paper.short)}; {of_paper.cited}.")
        header, *rows = tables[of_paper.title]
        verdicts = {re.findall(r"`([\w-]+)`", row)[0]: row for row in rows}
        for csv in _tables(paper):
            # A table of other data than the paper's has their name behind the figure's, and is no evidence.
            short, other_data, _ = csv.stem.partition("-")
            figure, about = configuration().figure[f"{paper}/{short}"], read_about(csv)
            yield from ("", f"### {plain(figure.title)}", "")
            yield f'<img src="{DRAWN}/{_png(csv)}" alt="{escape(figure.title)}" loading="lazy">'
            yield from ("", plain(figure.full_caption), "")
            yield f"[`{paper}/{short}`](#figure-{paper}-{short}), scale {about['scale']}. {plain(about['note'])}"
            yield ""
            if not other_data:
                shown = [verdicts[key] for key, claim in claims.items() if claim.evidence == short and key in verdicts]
                yield from (header, "|---" * header.count(" | ") + "|---|", *shown) if shown else ()


def draw(site: Path) -> None:
    """Draw every figure from its committed table, of which alone it is a function."""
    for paper in configuration().claims:
        for csv in _tables(paper):
            drawing = plot_of(configuration().figure[f"{paper}/{csv.stem.partition('-')[0]}"], read_csv(csv))
            png = site / DRAWN / _png(csv)
            png.parent.mkdir(parents=True, exist_ok=True)
            drawing.savefig(png, dpi=DPI)


def _tables(paper: str) -> list[Path]:
    """A paper's committed tables, those of other data last."""
    tables = (csv for csv in (REFERENCE / paper).glob("*.csv") if csv.stem != "robustness")
    return sorted(tables, key=lambda csv: ("-" in csv.stem, csv))


def _png(csv: Path) -> str:
    return f"{csv.parent.relative_to(REFERENCE)}/{csv.stem}.png"
