"""What the view in the browser is given: blocks, their boundary, wireframes, the file's texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.drillholes import Drillholes
from geodomain.mesh.mesh import Mesh
from geodomain.report.coarse import coarser
from geodomain.report.geometry import Geometry
from geodomain.report.holes import packed_holes
from geodomain.report.packing import Pack, narrowed, runs_of
from geodomain.report.shell import boundary_faces
from geodomain.report.shown_label import ShownLabel
from geodomain.report.texts import TextColumns

# More are thinned out: a browser without a graphics card draws as many in about a second.
MOST_DRAWN = 300_000
# Of all wireframes together.
MOST_TRIANGLES = 400_000
# Characters for the texts of cells; columns beyond them are left out.
_MOST_CHARACTERS = 17_000_000


@dataclass(frozen=True)
class CoarseWireframe:
    """A wireframe that is drawn with fewer triangles than it has."""

    name: str
    drawn: int
    whole: int


@dataclass(frozen=True)
class Scene:
    """What the view draws.

    Attributes
    ----------
    values : dict
        For the page, as JSON.
    drawn, every : int
        Boundary blocks that are drawn, one of so many.
    count : int
        All blocks.
    coarse : tuple of CoarseWireframe
        Wireframes that are not drawn as they are.
    left_out : tuple of str
        Columns whose texts are not there.
    """

    values: dict[str, object]
    drawn: int
    every: int
    count: int
    coarse: tuple[CoarseWireframe, ...]
    left_out: tuple[str, ...]


def scene_of(
    geometry: Geometry,
    texts: TextColumns,
    labels: Sequence[ShownLabel],
    wireframes: Mapping[str, Sequence[Mesh]],
    colours: Mapping[str, str],
    holes: Drillholes | None,
    pack: Pack,
) -> Scene:
    """Return what the view draws, as plain values and arrays in a pack.

    Parameters
    ----------
    geometry : Geometry
        The blocks.
    texts : TextColumns
        What the file says in each row.
    labels : sequence of ShownLabel
        What the codes of blocks stand for.
    wireframes : mapping of str to sequence of Mesh
        By domain.
    colours : mapping of str to str
        Of domains.
    holes : Drillholes, optional
        Drawn as lines.
    pack : Pack
        Takes the arrays.
    """
    shell, faces, every = _shell(geometry, labels)
    rows, count = geometry.rows, len(geometry.rows)
    values, lengths = runs_of(geometry.codes)
    whole = count == 0 or int(rows[-1]) == count - 1
    columns, left_out = _columns(texts, pack)
    drawn, coarse = _wireframes(wireframes, colours, geometry.origin, pack)
    return Scene(
        {
            "origin": geometry.origin.tolist(),
            "matrix": geometry.matrix.tolist(),
            "turned": geometry.is_turned,
            "extent": geometry.extent.tolist(),
            "count": count,
            "centres": [pack.add(each) for each in geometry.centres],
            "places": [
                pack.add_codes(codes, len(centres))
                for codes, centres in zip(geometry.places, geometry.centres, strict=True)
            ],
            "sizes": geometry.sizes.tolist(),
            "kinds": pack.add_codes(geometry.kinds, len(geometry.sizes)),
            "rows": None if whole else pack.add(rows.astype(np.uint32), differences=True),
            "labels": [asdict(label) for label in labels],
            "runs": {
                "values": pack.add(narrowed(values, len(labels))),
                "lengths": pack.add(lengths),
            },
            "shell": pack.add(shell.astype(np.uint32), differences=True),
            "faces": pack.add(faces),
            "wireframes": drawn,
            "holes": None if holes is None else packed_holes(holes, geometry.origin, pack),
            "columns": columns,
        },
        drawn=len(shell),
        every=every,
        count=count,
        coarse=coarse,
        left_out=(*left_out, *texts.left_out),
    )


def _shell(
    geometry: Geometry, labels: Sequence[ShownLabel]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], int]:
    """Return the blocks on a boundary of a domain, their faces on it, of how many one is drawn."""
    is_domain = np.array([not label.ground for label in labels])
    drawn = is_domain[geometry.codes]
    faces = boundary_faces(geometry)
    if faces is not None:
        drawn &= faces > 0
    found = np.flatnonzero(drawn)
    every = max(1, -(-len(found) // MOST_DRAWN))
    kept = found[::every]
    whole = faces is None or every > 1
    return kept, np.full(len(kept), 63, np.uint8) if whole or faces is None else faces[kept], every


def _columns(texts: TextColumns, pack: Pack) -> tuple[list[dict[str, object]], list[str]]:
    """Pack the texts of cells, column by column, as far as there is room."""
    found: list[dict[str, object]] = []
    left_out, begin = [], pack.size
    for name, words, codes in zip(texts.names, texts.texts, texts.codes, strict=True):
        mark = len(pack.blocks)
        packed = {"texts": pack.add_texts(words), "codes": pack.add_codes(codes, len(words))}
        if pack.size - begin > _MOST_CHARACTERS:
            del pack.blocks[mark:]
            left_out.append(name)
        else:
            found.append({"name": name, **packed})
    return found, left_out


def _wireframes(
    wireframes: Mapping[str, Sequence[Mesh]],
    colours: Mapping[str, str],
    origin: NDArray[np.float64],
    pack: Pack,
) -> tuple[list[dict[str, object]], tuple[CoarseWireframe, ...]]:
    """Pack the wireframes, coarser where they have too many triangles."""
    total = sum(len(mesh.triangles) for meshes in wireframes.values() for mesh in meshes)
    share = min(1.0, MOST_TRIANGLES / max(total, 1))
    found: list[dict[str, object]] = []
    coarse = []
    for domain, mesh in [(name, mesh) for name, meshes in wireframes.items() for mesh in meshes]:
        vertices, triangles = coarser(mesh, int(share * len(mesh.triangles)))
        found.append(
            {
                "domain": domain,
                "colour": colours[domain],
                "vertices": pack.add((vertices - origin).astype(np.float32)),
                "triangles": pack.add(triangles.astype(np.uint32), differences=True),
            }
        )
        if len(triangles) < len(mesh.triangles):
            coarse.append(CoarseWireframe(mesh.name, len(triangles), len(mesh.triangles)))
    return found, tuple(coarse)
