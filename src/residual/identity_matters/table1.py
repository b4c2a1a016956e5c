"""Table 1: the convolutions of the network for CIFAR and their weights, beside the paper's counts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.figures.style import panels, print_rows
from residual.images.measured import LayerCounts

MILLION = 1e6
NAMES = {"cifar": "CIFAR", "imagenet": "ImageNet"}


def table(found: Mapping[str, tuple[LayerCounts, Mapping[str, float]]]) -> pd.DataFrame:
    """Rows of counts.

    Columns: network, part (of the network, ``all``, or a place in the paper), property (with the network's name), value
    (a number of layers, of weights, or of millions of parameters).
    """
    rows: list[dict[str, Any]] = []
    for network, (counts, published) in found.items():

        def add(part: str, what: str, value: float, network: str = network) -> None:
            rows.append({"network": network, "part": part, "property": f"{network}: {what}", "value": float(value)})

        for part, chosen in _parts(counts).items():
            add(part, "convolutions of a part", chosen.sum())
            add(part, "weights of a part", counts.weights[chosen].sum())
        total = int(counts.trainable)
        add("all", "convolutions", len(counts.layer))
        add("all", "weights", total)
        add("all", "million parameters", total / MILLION)
        add("all", "million parameters with biases", (total + counts.outputs.sum()) / MILLION)
        extra = counts.outputs.sum() + _shortcuts(counts)
        add("all", "million parameters with biases and 1x1 shortcuts", (total + extra) / MILLION)
        for place, millions in published.items():
            add(place, "published, millions", millions)
            add(place, f"million parameters counted minus {place}", total / MILLION - millions)
    return pd.DataFrame(rows)


def _parts(counts: LayerCounts) -> dict[str, np.ndarray]:
    """The layers of each part: the first convolution, then the blocks by their channels."""
    first = counts.layer == "first"
    parts = {f"first, to {counts.outputs[0]}": first}
    return parts | {f"blocks, to {c}": ~first & (counts.outputs == c) for c in np.unique(counts.outputs[~first])}


def _shortcuts(counts: LayerCounts) -> int:
    """Weights of 1x1 convolutions where a block changes the number of channels, which Table 1 does not have."""
    change = counts.inputs[1:] != counts.outputs[1:]
    return int((counts.inputs[1:] * counts.outputs[1:])[change].sum())


def plot(table: pd.DataFrame) -> Figure:
    """Printed tables, one a network: its parts, its totals, and what the paper says."""
    blocks = printed(table)
    figure, axes = panels("ab"[: len(blocks)], 0.17 * (max(map(len, blocks)) + 2))
    for panel, rows in zip(axes, blocks, strict=True):
        print_rows(panel, rows, (0.0, 0.72, 1.0))
    return figure


def printed(table: pd.DataFrame) -> list[list[tuple[str, ...]]]:
    """For each network the lines of its table: a heading, its parts, its totals and the paper's numbers."""
    blocks = []
    for network, own in table.groupby("network", sort=False):
        heading = (NAMES.get(str(network), str(network)), "convolutions", "parameters")
        rows: list[tuple[str, ...]] = [heading]
        for part, chosen in own.groupby("part", sort=False):
            here = chosen.set_index("property")["value"]
            if part == "all":
                totals = (here[f"{network}: convolutions"], here[f"{network}: weights"])
                rows.append(("all", f"{totals[0]:.0f}", f"{totals[1]:,.0f}"))
                for what in ("with biases", "with biases and 1x1 shortcuts"):
                    rows.append((f"  {what}", "", f"{here[f'{network}: million parameters {what}']:.3f} M"))
            elif f"{network}: published, millions" in here:
                rows.append((f"paper, {part}", "", f"{here[f'{network}: published, millions']:g} M"))
            else:
                counts = (here[f"{network}: convolutions of a part"], here[f"{network}: weights of a part"])
                rows.append((f"{part} channels", f"{counts[0]:.0f}", f"{counts[1]:,.0f}"))
        blocks.append(rows)
    return blocks


def beside_the_paper(figure: Any, table: pd.DataFrame | None) -> dict[str, Any]:
    """The paper's counts with that of the network as it is printed."""
    counts: Any = {} if table is None else table[table["part"] == "all"].set_index("property")["value"]
    return {
        "quantity": "parameters, millions",
        "digits": 2,
        "spread": "",
        "remark": figure.legend,
        "values": [
            {
                "what": f"{NAMES.get(network, network)}, {place}",
                "printed": millions,
                "here": counts.get(f"{network}: million parameters"),
            }
            for network, published in figure.protocol.published.items()
            for place, millions in published.items()
        ],
    }
