"""The named solids of a file: collect, pick and join them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np

from geodomain.errors import MeshError, warn
from geodomain.formats.mesh_text import merge_equal
from geodomain.mesh.polygons import Faces, require_indices

Solids = dict[str, Faces]
NamedFaces = tuple[str, Faces]

_LISTED = 12  # names in a message; a drawing may have hundreds of layers


def gather(parts: Iterable[NamedFaces], stem: str) -> Solids:
    """Return the solids of a file by name.

    Parts with the same name are joined, and unnamed parts get the name `stem`. In each solid,
    vertices with equal coordinates become one vertex.
    """
    solids: dict[str, list[Faces]] = {}
    for name, faces in parts:
        name = name.strip() or stem
        require_indices(faces, name)  # otherwise they would refer to vertices of the next part
        solids.setdefault(name, []).append(faces)
    return {name: merged(join(faces)) for name, faces in solids.items()}


def warn_of_repeats(names: Iterable[str], file: str) -> None:
    """Warn of several objects with the same name in a file, because they are read as one solid."""
    for name, count in Counter(name.strip() for name in names).items():
        if name and count > 1:
            warn(
                f"{file} has {count:,} surfaces called {name!r}, which are read as one solid: "
                "rename them to keep them apart"
            )


def join(parts: Sequence[Faces]) -> Faces:
    """Return all parts as one object; its vertices are those of all parts, in order."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    return Faces(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([p.corners + start for p, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.sizes for part in parts]),
        any(part.single for part in parts),
    )


def merged(faces: Faces) -> Faces:
    """Return faces with equal vertices merged; faces that are invalid stay unchanged."""
    corners, vertices = faces.corners, faces.vertices
    in_range = not len(corners) or (corners.min() >= 0 and corners.max() < len(vertices))
    if not in_range or not np.isfinite(vertices).all():
        return faces
    unique, index = merge_equal(np.ascontiguousarray(vertices, dtype=np.float64))
    if len(unique) == len(vertices):
        return faces
    return Faces(unique, index[corners], faces.sizes, faces.single)


def compact(faces: Faces) -> Faces:
    """Return faces without unused vertices; used vertices keep their order."""
    used = np.zeros(len(faces.vertices), dtype=bool)
    used[faces.corners] = True
    place = np.cumsum(used) - 1
    return Faces(faces.vertices[used], place[faces.corners], faces.sizes, faces.single)


def as_one(solids: Solids) -> Faces:
    """Return all solids of a file as one list of faces."""
    parts = list(solids.values())
    return parts[0] if len(parts) == 1 else merged(join(parts))


def pick(solids: Solids, wanted: str, file: str) -> Faces:
    """Return the solid with the name `wanted`.

    Raises
    ------
    MeshError
        If no solid has that name; the message lists the names.
    """
    if wanted in solids:
        return solids[wanted]
    folded = {name.casefold(): name for name in solids}
    close = get_close_matches(wanted.casefold(), folded, 1)
    hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
    message = f"{file} has no solid {wanted!r}: it holds {listed(list(solids))}{hint}"
    raise MeshError(message)


def title(file: str, solids: Solids) -> str:
    """Return a title for messages: the name of a file, and of its solids if there are several."""
    return file if len(solids) == 1 else f"{file} ({listed(list(solids), 4)})"


def listed(names: Sequence[str], most: int = _LISTED) -> str:
    """Return names as a list in a sentence, shortened if there are many."""
    shown = [repr(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
