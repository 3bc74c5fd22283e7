"""A section through labelled sub-blocks, drawn as SVG.

It cuts the blocks and the wireframes from west to east, and is the picture of the README.
"""

import sys
from pathlib import Path

import numpy as np

from geodomain import label_points, synthetic

COLOURS = {"WASTE": "#e4e0d6", "OXIDE": "#e6b566", "ORE": "#b5382c", "DYKE": "#3d6b73"}
NORTHING = 7_480_208.3  # between the lattice lines, so that no cut lies on block faces
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
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # each corner that is alone on its side
        alone = (north[:, a] != north[:, b]) & (north[:, b] == north[:, c])
        ends = [cut_between(corners[alone, a], corners[alone, other]) for other in (b, c)]
        for x0, z0, x1, z1 in np.concatenate(ends, axis=1).tolist():
            path.append(f"M{x0:.1f} {z0:.1f}L{x1:.1f} {z1:.1f}")
    return "".join(path)


def cut_between(start, end):
    """Return where edges meet the section, in pixels from its upper left corner."""
    part = (NORTHING - start[:, 1:2]) / (end[:, 1:2] - start[:, 1:2])
    place = start + part * (end - start)
    return np.stack([(place[:, 0] - west) * SCALE, height - (place[:, 2] - base) * SCALE], axis=1)


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
