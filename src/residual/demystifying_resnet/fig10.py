"""Figure 10: the path of a column on the sphere at a distance of at least rho/2 from the others, computed."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, Panel, panels
from residual.demystifying_resnet.theory.records import SpherePath

COLOURS = {"path": Look.BLUE, "direct": Look.RED, "obstacle": "0.35"}


def table(sphere: SpherePath) -> pd.DataFrame:
    """Columns: kind (path, direct or obstacle), step, x, y, z, nearest (distance to the nearest obstacle), rho."""
    parts = []
    for kind, points in (("path", sphere.path), ("direct", sphere.direct), ("obstacle", sphere.obstacles)):
        part = pd.DataFrame({"kind": kind, "step": range(len(points))})
        part[["x", "y", "z"]] = points
        parts.append(part)
    return pd.concat(parts, ignore_index=True).assign(**DERIVED, rho=float(sphere.rho))


def nearest(table: pd.DataFrame) -> "pd.Series[float]":
    """Distances to the nearest obstacle; NaN of obstacles."""
    points, obstacles = table[["x", "y", "z"]].to_numpy(), table["kind"] == "obstacle"
    apart = np.linalg.norm(points[:, None] - points[None, obstacles], axis=2)
    return pd.Series(apart.min(axis=1), table.index).mask(obstacles)


DERIVED = {"nearest": nearest}


def plot(table: pd.DataFrame) -> Figure:
    """a: the path on the sphere, seen from above its middle. b: its distance to the nearest other data point."""
    figure, (left, right) = panels("ab", 3.0)
    _plot_sphere(left, table)
    rho = float(table["rho"].iloc[0])
    for kind, line in (("direct", "--"), ("path", "-")):
        rows = table[table["kind"] == kind]
        right.plot(rows["step"] / rows["step"].max(), rows["nearest"], line, color=COLOURS[kind])
    right.axhline(rho / 2, color="0.25", linewidth=1.0)
    right.note(rf"$\rho/2$,  $\rho$ = {rho:.2f}", (0.0, rho / 2), (0, 3))
    right.set_ylim(bottom=0)
    right.set(xlabel="share of the path", ylabel="distance to nearest data point")
    return figure


def _plot_sphere(axes: Panel, table: pd.DataFrame) -> None:
    rho = float(table["rho"].iloc[0])
    points = {kind: rows[["x", "y", "z"]].to_numpy() for kind, rows in table.groupby("kind")}
    view = _view(points["path"])
    dot: dict[str, Any] = {"color": COLOURS["obstacle"], "marker": "o", "linestyle": "", "markersize": 3.5}
    _plot_globe(axes, view)
    for obstacle in points["obstacle"]:
        x, y, depth = view @ obstacle
        if depth > 0:
            _plot_cap(axes, view, obstacle, rho / 2)
            axes.plot(x, y, **dot)
    for kind, line, name in (("direct", "--", "great circle"), ("path", "-", "path of Lemma 2")):
        x, y, _ = view @ points[kind].T
        axes.plot(x, y, line, color=COLOURS[kind], label=name, zorder=3)
    for end, name, marker in ((0, "x", "s"), (-1, "y", "*")):
        x, y, _ = view @ points["path"][end]
        axes.plot(x, y, marker, color="black", markersize=8 if marker == "*" else 5, zorder=4)
        axes.note(name, (x, y), (5, 5), fontsize=8, zorder=4)
    axes.plot([], [], **dot, label=r"other data points; shaded: within $\rho/2$")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02))


def _view(path: np.ndarray) -> np.ndarray:
    """Axes of the view in rows: right, up, towards the eye. The eye is above the path's middle; the path runs right."""
    towards = path.mean(axis=0) / np.linalg.norm(path.mean(axis=0))
    along = path[-1] - path[0]
    right = along - (along @ towards) * towards
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(towards, right), towards])


def _plot_globe(axes: Panel, view: np.ndarray) -> None:
    """The sphere's outline and, on its near side, a net of parallels and meridians."""
    turn = np.linspace(0, 2 * np.pi, 361)
    axes.fill(np.cos(turn), np.sin(turn), facecolor="#f4f6f8", edgecolor="0.6", linewidth=0.8, zorder=0)
    parallels, meridians = np.radians(range(-60, 61, 30)), np.radians(range(0, 180, 30))
    lines = [(np.cos(h) * np.cos(turn), np.cos(h) * np.sin(turn), np.full_like(turn, np.sin(h))) for h in parallels]
    lines += [(np.cos(a) * np.cos(turn), np.sin(a) * np.cos(turn), np.sin(turn)) for a in meridians]
    for line in lines:
        x, y, depth = view @ np.stack(line)
        axes.plot(np.where(depth > 0, x, np.nan), y, color="0.85", linewidth=0.5, zorder=1)


def _plot_cap(axes: Panel, view: np.ndarray, centre: np.ndarray, distance: float) -> None:
    """The points of the sphere within a Euclidean distance of one of its points."""
    height = 1 - distance**2 / 2
    across = np.linalg.svd(centre[None])[2][1:]
    turn = np.linspace(0, 2 * np.pi, 121)
    rim = height * centre[:, None] + np.sqrt(1 - height**2) * (across.T @ np.stack([np.cos(turn), np.sin(turn)]))
    x, y, depth = view @ rim
    # Points beyond the horizon are drawn on it.
    far, length = depth < 0, np.hypot(x, y)
    x, y = np.where(far, x / length, x), np.where(far, y / length, y)
    axes.fill(x, y, facecolor="#bbbbbb", edgecolor="0.5", alpha=0.55, linewidth=0.7, zorder=2)
