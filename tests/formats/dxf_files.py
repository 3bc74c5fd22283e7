"""DXF drawings for tests: groups of entities and blocks, as text or binary."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

Groups = list[tuple[int, object]]


def entity(kind: str, layer: str, *corners: tuple[float, ...], **groups: int) -> Groups:
    found: Groups = [(0, kind), (8, layer)]
    for i, corner in enumerate(corners):
        found += [(10 + i, corner[0]), (20 + i, corner[1]), (30 + i, corner[2])]
    return [*found, *((int(code[1:]), value) for code, value in groups.items())]


def drawing(*entities: Groups) -> Groups:
    inner = [group for one in entities for group in one]
    return [(0, "SECTION"), (2, "ENTITIES"), *inner, (0, "ENDSEC"), (0, "EOF")]


def as_text(groups: Groups, end: str = "\n") -> bytes:
    return "".join(f"{code:>3}{end}{value}{end}" for code, value in groups).encode("cp1252")


def as_binary(groups: Groups, wide: bool = True) -> bytes:
    parts = [b"AutoCAD Binary DXF\r\n\x1a\0"]
    for code, value in groups:
        parts.append(struct.pack("<H" if wide else "<B", code))
        if isinstance(value, str):
            parts.append(value.encode("cp1252") + b"\0")
        else:
            parts.append(struct.pack("<h" if 60 <= code < 80 else "<d", value))
    return b"".join(parts)


def with_blocks(blocks: Groups, *entities: Groups) -> Groups:
    return [(0, "SECTION"), (2, "BLOCKS"), *blocks, (0, "ENDSEC"), *drawing(*entities)]


def block(
    name: str, *entities: Groups, base: Sequence[float] = (0, 0, 0), flags: int = 0
) -> Groups:
    head: Groups = [
        (0, "BLOCK"),
        (8, "0"),
        (2, name),
        (70, flags),
        *zip((10, 20, 30), base, strict=True),
    ]
    return [*head, *(group for one in entities for group in one), (0, "ENDBLK"), (8, "0")]


def insert(name: str, layer: str = "0", place: Sequence[float] = (0, 0, 0), **more: Any) -> Groups:
    head: Groups = [(0, "INSERT"), (8, layer), (2, name), *zip((10, 20, 30), place, strict=True)]
    numbers = {
        "scale": (41, 42, 43),
        "normal": (210, 220, 230),
        "count": (70, 71),
        "step": (44, 45),
    }
    for key, codes in numbers.items():
        if key in more:
            head += zip(codes, more[key], strict=True)
    return [*head, *([(50, more["angle"])] if "angle" in more else [])]


TRIANGLE = entity("3DFACE", "0", (0, 0, 0), (1, 0, 0), (0, 1, 0))


def mesh_entity(places: list[str], faces: list[int]) -> Groups:
    found: Groups = [(0, "MESH"), (100, "AcDbSubDMesh"), (71, 2), (72, 0), (91, 0)]
    found += [(92, len(places) // 3), *zip([10, 20, 30] * (len(places) // 3), places, strict=True)]
    found += [(93, len(faces)), *((90, number) for number in faces)]
    return [*found, (94, 1), (90, 0), (90, 1), (95, 1), (140, 0.5), (90, 0)]
