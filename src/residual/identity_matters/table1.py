"""Table 1: the convolutions of the network for CIFAR and their weights, beside the paper's counts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Examined, panels
from residual.identity_matters.jobs.count import LayerCounts

MILLION = 1e6
NAMES = {"cifar": "CIFAR", "imagenet": "ImageNet"}


def _values(table: pd.DataFrame) -> "pd.Series[float]":
    """Totals from the parts, millions from the totals, and what is counted minus what is published."""
    name = [
        text.removeprefix(f"{network}: ") for network, text in zip(table["network"], table["property"], strict=True)
    ]
    kinds, values = pd.Series(name, table.index), pd.Series(np.nan, table.index)
    for network, rows in table.groupby("network"):
        value = rows["value"].groupby(kinds)
        own, total = table["network"] == network, value.sum()
        for all_parts, part in (("convolutions", "convolutions of a part"), ("weights", "weights of a part")):
            values[own & (kinds == all_parts)] = total[part]
        counted = total["weights"] / MILLION
        values[own & (kinds == "million parameters")] = counted
        minus = own & kinds.str.startswith("million parameters counted minus")
        published = rows[kinds[rows.index] == "published, millions"].set_index("part")["value"]
        values[minus] = counted - table.loc[minus, "part"].map(published)
    return values


DERIVED = {"value": _values}


def table(results: Mapping[str, tuple[LayerCounts, Mapping[str, float]]]) -> pd.DataFrame:
    """Rows of counts.

    Columns: network, part (of the network, ``all``, or a place in the paper), property (with the network's name), value
    (a number of layers, of weights, or of millions of parameters).
    """
    rows: list[dict[str, Any]] = []
    for network, (counts, published) in results.items():
        first, total = counts.layer == "first", int(counts.trainable)
        parts = {f"first, to {counts.outputs[0]}": first}
        parts |= {f"blocks, to {c}": ~first & (counts.outputs == c) for c in np.unique(counts.outputs[~first])}
        values = [
            (part, name, value)
            for part, layers in parts.items()
            for name, value in (
                ("convolutions of a part", layers.sum()),
                ("weights of a part", counts.weights[layers].sum()),
            )
        ]
        with_biases = total + counts.outputs.sum()
        # 1x1 convolutions where a block changes the number of channels, which Table 1 does not have.
        products = counts.inputs[1:] * counts.outputs[1:]
        shortcuts = products[counts.inputs[1:] != counts.outputs[1:]].sum()
        values += [
            ("all", "convolutions", len(counts.layer)),
            ("all", "weights", total),
            ("all", "million parameters", total / MILLION),
            ("all", "million parameters with biases", with_biases / MILLION),
            ("all", "million parameters with biases and 1x1 shortcuts", (with_biases + shortcuts) / MILLION),
        ]
        for place, millions in published.items():
            values.append((place, "published, millions", millions))
            values.append((place, f"million parameters counted minus {place}", total / MILLION - millions))
        rows += [
            {"network": network, "part": part, "property": f"{network}: {name}", "value": float(value)}
            for part, name, value in values
        ]
    return pd.DataFrame(rows)


def plot(table: pd.DataFrame) -> Figure:
    """Printed tables, one a network: its parts, its totals, and what the paper says."""
    blocks = printed(table)
    figure, axes = panels(len(blocks), 0.17 * (max(map(len, blocks)) + 2))
    for panel, rows in zip(axes, blocks, strict=True):
        panel.print_rows(rows, (0.0, 0.72, 1.0))
    return figure


def printed(table: pd.DataFrame) -> list[list[tuple[str, ...]]]:
    """For each network the lines of its table: a heading, its parts, its totals and the paper's numbers."""
    blocks = []
    for network, rows in table.groupby("network", sort=False):
        values = rows["property"].str.removeprefix(f"{network}: ")
        lines: list[tuple[str, ...]] = [(NAMES.get(str(network), str(network)), "convolutions", "parameters")]
        for part, of_part in rows.assign(property=values).groupby("part", sort=False):
            value = of_part.set_index("property")["value"]
            if part == "all":
                lines.append(("all", f"{value['convolutions']:.0f}", f"{value['weights']:,.0f}"))
                for extra in ("with biases", "with biases and 1x1 shortcuts"):
                    lines.append((f"  {extra}", "", f"{value[f'million parameters {extra}']:.3f} M"))
            elif "published, millions" in value:
                lines.append((f"paper, {part}", "", f"{value['published, millions']:g} M"))
            else:
                counts = value["convolutions of a part"], value["weights of a part"]
                lines.append((f"{part} channels", f"{counts[0]:.0f}", f"{counts[1]:,.0f}"))
        blocks.append(lines)
    return blocks


def beside_the_paper(figure: Any, table: pd.DataFrame | None) -> dict[str, Any]:
    """The paper's counts with that of the network as it is printed."""
    counts: Any = {} if table is None else table[table["part"] == "all"].set_index("property")["value"]
    values = []
    for network, published in figure.protocol.published.items():
        here = counts.get(f"{network}: million parameters")
        for place, millions in published.items():
            others = {at: f"{other:g}" for at, other in published.items() if at != place}
            tests = [Examined.as_repeated(f"{millions:g}", other, at) for at, other in others.items()]
            # A network that the text does not state in full has no exact count.
            tests += [] if here is None or network in figure.assumptions else [Examined.as_exact(f"{millions:g}", here)]
            values.append(
                {
                    "what": f"{NAMES.get(network, network)}, {place}",
                    "printed": millions,
                    "here": here,
                    "examined": tests,
                }
            )
    return {
        "quantity": "parameters, millions", "digits": 2, "spread": "", "remark": figure.legend, "values": values,
    }  # fmt: skip
