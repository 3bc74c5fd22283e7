"""The picture of the page "Mend a wireframe that is refused": two lenses that overlap, mended.

    python tests/solids/test_picture.py

writes docs/how_to/mend_wireframe.svg again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from late import needs

from geodomain import Mesh, solids, synthetic

PICTURE = Path(__file__).parents[2] / "docs" / "how_to" / "mend_wireframe.svg"
WIDTH, HEIGHT, SCALE = 390.0, 165.0, 0.84


def two_lenses() -> Mesh:
    """Return an ore lens and a copy of it, 45 m east and 14 m lower, as one wireframe."""
    lens = synthetic.deposit("small").solids["ore_upper"]
    vertices = np.r_[lens.vertices, lens.vertices + np.array([45.0, 0.0, -14.0])]
    return Mesh(vertices, np.r_[lens.triangles, lens.triangles + len(lens.vertices)], name="lenses")


def outline(mesh: Mesh, north: float, left: float) -> str:
    """Return an SVG path with the section through a wireframe across y, from the corner `left`."""
    corners = mesh.vertices[mesh.triangles]
    low, high = mesh.bounds
    beyond = corners[:, :, 1] > north
    path = []
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # each corner that is alone on its side
        alone = (beyond[:, a] != beyond[:, b]) & (beyond[:, b] == beyond[:, c])
        ends = []
        for other in (b, c):
            start, end = corners[alone, a], corners[alone, other]
            part = (north - start[:, 1:2]) / (end[:, 1:2] - start[:, 1:2])
            ends.append((start + part * (end - start))[:, [0, 2]])
        for x0, z0, x1, z1 in np.concatenate(ends, axis=1).tolist():
            points = [((x - low[0]) * SCALE + left, (high[2] - z) * SCALE + 40) for x, z in
                      ((x0, z0), (x1, z1))]  # fmt: skip
            path.append("M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*points[0], *points[1]))
    return "".join(sorted(path))


def drawing() -> str:
    """Return the picture as SVG: the wireframe on the left, the mended one on the right."""
    refused = two_lenses()
    mended = solids.repair(refused, rule="winding").mesh
    north = float(refused.bounds.mean(axis=0)[1]) + 0.3
    panels = []
    for number, (mesh, title, colour) in enumerate(
        ((refused, "refused: two shells overlap", "#b5382c"), (mended, "mended", "#3d6b73"))
    ):
        left = 20 + number * WIDTH
        panels.append(
            f'<text x="{left:g}" y="22">{title}</text>'
            f'<path fill="none" stroke="{colour}" stroke-width="1.6" stroke-linecap="round" '
            f'd="{outline(mesh, north, left)}"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH:g} {HEIGHT:g}">'
        '<rect width="100%" height="100%" fill="#fff"/>'
        f'<g font-family="sans-serif" font-size="14" fill="#222">{"".join(panels)}</g></svg>\n'
    )


@needs("manifold3d")
def test_the_picture_is_what_the_code_draws() -> None:
    assert PICTURE.read_text() == drawing(), "run python tests/solids/test_picture.py"


if __name__ == "__main__":
    PICTURE.write_text(drawing())
