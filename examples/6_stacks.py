"""Layers between surfaces that cross, eroded and onlapped.

Three surfaces make four layers. Where the basement rises above the top of the seam, the rule of
the stack decides which layer a block is in.
"""

import sys
from pathlib import Path

import numpy as np

from geodomain import Mesh, Stack, label_points

COLOURS = {"AIR": "#eaf1f5", "COVER": "#e6b566", "SEAM": "#4a4a4a", "BASEMENT": "#b98a6e"}
LENGTH, HEIGHT = 400.0, 130.0  # metres
BLOCK_X, BLOCK_Z = 5.0, 2.5


def surface(height, name):
    """Return an open surface over a strip, from the height at each x."""
    x = np.arange(0.0, LENGTH + 1, 10)
    south = np.stack([x, np.zeros_like(x), height(x)], axis=1)
    north = south + np.array([0, 20, 0])
    a = np.arange(len(x) - 1)
    b, c, d = a + 1, a + 1 + len(x), a + len(x)
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return Mesh(np.concatenate([south, north]), triangles, name=name)


surfaces = [
    surface(lambda x: 110 + 8 * np.sin(x / 60), "topography"),
    surface(lambda x: 78 + 6 * np.cos(x / 45), "top of seam"),
    surface(lambda x: 50 + 50 * np.exp(-(((x - 230) / 75) ** 2)) - x / 30, "basement"),
]
x, z = np.arange(BLOCK_X / 2, LENGTH, BLOCK_X), np.arange(BLOCK_Z / 2, HEIGHT, BLOCK_Z)
grid = np.stack(np.meshgrid(x, [10.0], z, indexing="ij"), axis=-1)
labels = {
    rule: label_points(grid.reshape(-1, 3), [Stack(surfaces, COLOURS, rule=rule)]).reshape(
        len(x), len(z)
    )
    for rule in ("erode", "onlap")
}


def blocks(found, name):
    """Return one SVG path with a rectangle for each run of blocks of a layer."""
    path = []
    for row in range(len(z)):
        inside = np.concatenate([[False], found[:, row] == name, [False]])
        starts, ends = np.flatnonzero(np.diff(inside.astype(int))).reshape(-1, 2).T * BLOCK_X
        top = HEIGHT - (row + 1) * BLOCK_Z
        path += [
            f"M{s:g} {top:g}h{e - s:g}v{BLOCK_Z:g}H{s:g}z"
            for s, e in zip(starts, ends, strict=True)
        ]
    return "".join(path)


def trace(mesh):
    """Return the line along which a surface cuts the section."""
    south = mesh.vertices[mesh.vertices[:, 1] == 0]
    return "M" + "L".join(f"{px:g} {HEIGHT - pz:.1f}" for px, _, pz in south)


def panel(rule, left):
    """Return the section that one rule makes."""
    fills = [f'<path fill="{COLOURS[n]}" d="{blocks(labels[rule], n)}"/>' for n in COLOURS]
    lines = "".join(f'<path d="{trace(mesh)}"/>' for mesh in surfaces)
    title = f'<text x="4" y="{HEIGHT + 14:g}">rule = "{rule}"</text>'
    lines = f'<g fill="none" stroke="#222" stroke-width="1.2">{lines}</g>'
    return f'<g transform="translate({left:g} 0)">{"".join(fills)}{lines}{title}</g>'


names = "".join(
    f'<rect x="{150 + 90 * i}" y="{HEIGHT + 24:g}" width="11" height="11" fill="{colour}" '
    f'stroke="#999"/><text x="{166 + 90 * i}" y="{HEIGHT + 34:g}">{name}</text>'
    for i, (name, colour) in enumerate(COLOURS.items())
)
svg = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * LENGTH + 20:g} {HEIGHT + 42:g}">'
    '<rect width="100%" height="100%" fill="#fff"/>'
    f'<g font-family="sans-serif" font-size="11" fill="#222" shape-rendering="crispEdges">'
    f"{panel('erode', 0)}{panel('onlap', LENGTH + 20)}{names}</g></svg>\n"
)
Path(sys.argv[1] if len(sys.argv) > 1 else "stacks.svg").write_text(svg)

cut, stays = labels["erode"], labels["onlap"]
for name in COLOURS:
    print(f"{name:9}{(cut == name).sum():6,} blocks eroded {(stays == name).sum():6,} onlapped")

# The rules differ only where the basement rises above the top of the seam: there the cover
# lies on basement that is cut off, or the basement stands up into the cover.
differ = cut != stays
assert differ.any() and (cut[differ] == "COVER").all() and (stays[differ] == "BASEMENT").all()
