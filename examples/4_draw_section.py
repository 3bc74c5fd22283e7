"""Draw a west-east section through the labelled deposit: the picture of the README."""

import sys
from pathlib import Path

import numpy as np

from geodomain import label_points, synthetic

COLOURS = {"WASTE": "#e4e0d6", "OXIDE": "#e6b566", "ORE": "#b5382c", "DYKE": "#3d6b73"}
NORTHING = 7_480_208.3  # between the lattice lines, so that every cut is a clean one
SCALE = 2.0  # pixels to a metre

deposit = synthetic.deposit("small")
blocks = deposit.subblocked
labels = label_points(blocks.centroids, deposit.domains, background="WASTE")
west, base = 414_000.0, 150.0
width, height = 500 * SCALE, 242 * SCALE


def rectangles(cut):
    """Return one SVG path with a rectangle for each block."""
    size = blocks.sizes[cut][:, [0, 2]] * SCALE
    corner = (blocks.centroids[cut][:, [0, 2]] - [west, base]) * SCALE - size / 2
    corner[:, 1] = height - corner[:, 1] - size[:, 1]
    return "".join(
        f"M{x:g} {y:g}h{w:g}v{h:g}h-{w:g}z"
        for (x, y), (w, h) in zip(corner.tolist(), size.tolist(), strict=True)
    )


def outline(mesh):
    """Return one SVG path with the section through a wireframe."""
    corners = mesh.vertices[mesh.triangles]
    north = corners[:, :, 1] > NORTHING
    path = []
    for triangle, side in zip(
        corners[north.any(1) & ~north.all(1)], north[north.any(1) & ~north.all(1)], strict=True
    ):
        ends = []
        for a, b in ((0, 1), (1, 2), (2, 0)):
            if side[a] != side[b]:
                part = (NORTHING - triangle[a, 1]) / (triangle[b, 1] - triangle[a, 1])
                ends.append(triangle[a] + part * (triangle[b] - triangle[a]))
        (x0, _, z0), (x1, _, z1) = (np.array(ends) - [west, 0, base]) * SCALE
        path.append(f"M{x0:.1f} {height - z0:.1f}L{x1:.1f} {height - z1:.1f}")
    return "".join(path)


crossed = abs(blocks.centroids[:, 1] - NORTHING) < blocks.sizes[:, 1] / 2
ground = blocks.rocks != "AIR"
shapes = [
    f'<path fill="{colour}" d="{rectangles(crossed & ground & (labels == domain))}"/>'
    for domain, colour in COLOURS.items()
]
cuts = "".join(outline(mesh) for mesh in deposit.solids.values())
legend = "".join(
    f'<rect x="{12 + 90 * i}" y="10" width="14" height="14" fill="{colour}"/>'
    f'<text x="{32 + 90 * i}" y="22">{domain}</text>'
    for i, (domain, colour) in enumerate(COLOURS.items())
)
svg = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">'
    '<rect width="100%" height="100%" fill="#fff"/>'
    f'<g stroke="#fff" stroke-width=".4">{"".join(shapes)}</g>'
    f'<path fill="none" stroke="#222" stroke-width="1.6" stroke-linecap="round" d="{cuts}"/>'
    f'<g font-family="sans-serif" font-size="13" fill="#222">{legend}</g></svg>\n'
)
Path(sys.argv[1] if len(sys.argv) > 1 else "section.svg").write_text(svg)

assert svg.count("<path") == len(COLOURS) + 1
assert all((labels[crossed] == domain).any() for domain in COLOURS)
