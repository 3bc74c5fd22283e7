"""The picture of what `growth.py` measured: dots with lines, both axes logarithmic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

MIDDLE, MILLION = 81_920, 1_000_000
# Kernels alone on the same H200 in another run, 10 million points and 79,380 triangles.
WARP = ("Warp 1.19: kernels", [10_000_000], [8.3e-3])
COLOURS = {
    "geodomain": "#b5382c",
    "Open3D compute_occupancy": "#2b5f8a",
    "trimesh with Embree": "#6d7f2f",
    "PyVista select_interior_points": "#8a6d9c",
    "geodomain: from ordinary arrays, index included": "#d9822b",
    "geodomain: call, data on the GPU": "#c75b8a",
    "geodomain: kernels": "#5b2333",
    "Warp 1.19: kernels": "#4d4d4d",
}
Curve = tuple[str, list[int], list[float]]


def curves(rows: list[dict[str, Any]], along: str, fixed: dict[str, int]) -> list[Curve]:
    """Return each one's sizes and seconds, of the rows in which the other size is fixed."""
    found: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if all(row[name] == value for name, value in fixed.items()):
            found.setdefault(row["who"], []).append((row[along], row["seconds"]))
    return [(who, *map(list, zip(*sorted(dots), strict=True))) for who, dots in found.items()]


def plot(axes: Axes, drawn: list[Curve], gpu: bool) -> None:
    line, mark = ("--", "s") if gpu else ("-", "o")
    for who, sizes, seconds in drawn:
        style = {"marker": mark, "markersize": 5}
        if who == WARP[0]:
            style = {"marker": "D", "markersize": 9, "fillstyle": "none"}
        name = f"{who} (GPU)" if gpu else f"{who} (CPU)"
        axes.plot(sizes, seconds, line, color=COLOURS[who], label=name, **style)


def draw(picture: Path, *measured: Path) -> None:
    """Draw the files' rows: one panel for points, one for triangles, and who is who below."""
    mpl.rcParams.update({"svg.hashsalt": "geodomain", "svg.fonttype": "none", "font.size": 10})
    figure = Figure(figsize=(6, 8.8), layout="constrained")
    panels = figure.subplots(2, 1)
    titles = ["Which of many points are inside a closed mesh"]
    for path in measured:
        told = json.loads(path.read_text(encoding="utf-8"))
        gpu = any("kernels" in row["who"] for row in told["rows"])
        timer = "Squares: by the clock" if gpu else "Dots: time that all threads worked"
        titles.append(f"{timer}, {told['machine']}")
        points = curves(told["rows"], "points", {"triangles": MIDDLE})
        plot(panels[0], points + ([WARP] if gpu else []), gpu)
        plot(panels[1], curves(told["rows"], "triangles", {"points": MILLION}), gpu)
    for axes, along in zip(panels, (f"points, in {MIDDLE:,} triangles", "triangles"), strict=True):
        axes.set(xscale="log", yscale="log", xlabel=along, ylabel="seconds")
        axes.grid(color="#e6e6e6")
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].set_xlabel(f"triangles, {MILLION:,} points")
    figure.suptitle("\n".join(titles), fontsize=10)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", frameon=False)
    figure.savefig(picture, dpi=150, metadata={"Date": None} if picture.suffix == ".svg" else None)
