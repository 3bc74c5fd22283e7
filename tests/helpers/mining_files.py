"""Files of the mining packages, made from their descriptions for the tests that read them."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from pathlib import Path

import numpy as np

VERTICES = np.array(
    [
        [478000.125, 6771000.25, 300.5],
        [478010.125, 6771000.25, 300.5],
        [478010.125, 6771010.25, 300.5],
        [478000.125, 6771010.25, 300.5],
        [478005.125, 6771005.25, 320.5],
        [478005.125, 6771005.25, 290.5],
    ]
)
TRIANGLES = np.array(
    [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]]
)


def surpac_records(ends: tuple[int, ...] = (3,)) -> list[tuple[int, float, float, float, str]]:
    """Return the records of the vertices, a segment ending after each of `ends` points."""
    records = []
    for i, (x, y, z) in enumerate(VERTICES.tolist(), 1):
        records.append((7, y, x, z, "a, b.c" if i == 2 else ""))
        if i in ends:
            records.append((0, 0.0, 0.0, 0.0, ""))
    return [*records, (0, 0.0, 0.0, 0.0, ""), (0, 0.0, 0.0, 0.0, "END")]


def surpac_corners(ends: tuple[int, ...] = (3,)) -> np.ndarray:
    """Return the triangles as numbers of records, from 1, separators counted."""
    number = [i + sum(end < i for end in ends) for i in range(1, len(VERTICES) + 1)]
    return np.array(number)[TRIANGLES]


def surpac_text(folder: Path, groups: dict[tuple[int, int], np.ndarray]) -> Path:
    lines = ["a,01-Jan-20,,", "0, 1.96e+290, 0.000, 0.000, 0.000, 0.000, 0.000"]
    lines += [
        ", ".join([str(s), repr(y), repr(x), repr(z), d]) for s, y, x, z, d in surpac_records()
    ]
    (folder / "a.str").write_text("\r\n".join([*lines, "5, 1.0, what follows, is ignored", ""]))
    lines = ["A.str,0;algorithm=standard;fields=x,y", "1, 2.0, 3.0, 4.0, ", "0, 0.0, 0.0, 0.0, END"]
    for (thing, part), corners in groups.items():
        lines += [f"OBJECT, {thing}, ", f"TRISOLATION, {part}, neighbours=yes,closed=no"]
        lines += [f"{i}, {a}, {b}, {c}, 999, 0, 0, " for i, (a, b, c) in enumerate(corners, 1)]
        lines.append("END")
    (folder / "a.dtm").write_text("\r\n".join([*lines, ""]))
    return folder / "a.dtm"


def _record(string: int, y: float, x: float, z: float, text: str) -> bytes:
    return struct.pack(">i3d", string, y, x, z) + text.encode() + b"\0"


def surpac_binary(folder: Path, groups: dict[tuple[int, int], np.ndarray]) -> Path:
    head = b"a,01-Jan-20,,\r\n0, 0, 0, 0\r\n" + b"\0" * 5
    (folder / "a.str").write_bytes(head + b"".join(_record(*one) for one in surpac_records()))
    out = b"a.str,0;algorithm=standard\r\n" + b"\0" * 5 + _record(1, 2.0, 3.0, 4.0, "")
    out += _record(0, 0.0, 0.0, 0.0, "END")
    last = 0
    for (thing, part), corners in groups.items():
        if thing == last:
            out += struct.pack(">iBi", 0, 2, part)
        else:
            out += struct.pack(">iiiBi", 1, thing, 0, 2, part)
        last = thing
        out += b"neighbours=yes\0"
        for i, (a, b, c) in enumerate(corners.tolist(), 1):
            out += struct.pack(">8iB", 3, i, a, b, c, 0, 0, 0, 0)
    (folder / "a.dtm").write_bytes(out + b"\xff" * 8)
    return folder / "a.dtm"


def datamine_table(
    fields: dict[str, list | str], width: int, order: str, fixed: dict | None = None
):
    """Return a table; a list is a column of numbers or texts of 4, `fixed` holds implicit ones."""
    fixed = fixed or {}
    kind = f"{order}f{width}"
    page = bytearray(512 * width)

    def put(word: int, value: float | str) -> None:
        text = isinstance(value, str)
        raw = value.ljust(4).encode().ljust(width) if text else np.array(value, kind).tobytes()
        page[word * width : (word + 1) * width] = raw

    count = len(next(iter(fields.values())))
    each = 508 // len(fields)
    pages = -(-count // each)
    put(24, 456789.0 if width == 8 else 987654.0)
    put(25, float(len(fields) + len(fixed)))
    put(26, float(1 + pages))
    put(27, float(count - (pages - 1) * each))
    for i, (name, values) in enumerate([*fields.items(), *fixed.items()]):
        at = 28 + 7 * i
        stored = name in fields
        text = isinstance(values[0] if stored else values, str)
        for word, value in enumerate([name[:4], name[4:8], "A" if text else "N"]):
            put(at + word, value)
        put(at + 3, float(i + 1 if stored else 0))
        put(at + 4, 1.0)
        put(at + 5, "")
        put(at + 6, values if not stored else ("" if text else 0.0))
    out = bytes(page)
    rows = list(zip(*fields.values(), strict=True))
    for start in range(0, count, each):
        page = bytearray(512 * width)
        for r, row in enumerate(rows[start : start + each]):
            for c, value in enumerate(row):
                put(r * len(fields) + c, value)
        out += bytes(page)
    return out


def datamine_pair(folder: Path, width: int, order: str, shift=(0.0, 0.0, 0.0), repeat: int = 1):
    """Write the wireframe of two colours; ids are not positions."""
    ids = [10.0 * i + 7 for i in range(len(VERTICES))][::-1]
    place = (VERTICES + shift).T.tolist()
    points = {"PID": ids, **dict(zip(("XP", "YP", "ZP"), place, strict=True))}
    (folder / "apt.dm").write_bytes(datamine_table(points, width, order))
    corners = np.array(ids)[np.tile(TRIANGLES, (repeat, 1))].T.tolist()
    count = 8 * repeat
    rows = {
        "TRIANGLE": [float(i) for i in range(count)],
        **dict(zip(("PID1", "PID2", "PID3"), corners, strict=True)),
        "COLOUR": [2.0 if i % 8 < 4 else 1.0 for i in range(count)],
    }
    (folder / "atr.dm").write_bytes(datamine_table(rows, width, order))
    return folder / "atr.dm"


def landxml(face: str = "p1 p2 p3") -> str:
    return f"""<?xml version="1.0"?>
<!-- made --><LandXML xmlns="http://www.landxml.org/schema/LandXML-1.2" version="1.2">
<Units><Imperial linearUnit="foot"/></Units><Surfaces>
<Surface name="EG &amp; co"><SourceData><Breaklines/></SourceData><Definition surfType="TIN">
<Pnts><P id="p1">6771000.25 478000.125 300.5</P><P id="p2">6771000.25 478010.125 300.5</P></Pnts>
<Pnts><P id="p3">6771010.25 478010.125 3.1e2</P><P id="9">6771010.25 478000.125 300.5</P></Pnts>
<Faces><F n="1 2 3">{face}</F><F i="1">p1 p2 9</F></Faces><Faces><F>p1 p3 9</F></Faces>
</Definition></Surface>
<Surface name="FG"><Definition surfType="TIN"><Pnts><P id="1">1 0 0</P><P id="2">0 0 0</P>
<P id="3">0 1 0</P><P id="4">1 1 0</P></Pnts><Faces><F>1 2 3 4</F></Faces></Definition></Surface>
</Surfaces></LandXML>
"""


def omf1(origin=(0.0, 0.0, 0.0), shift=(0.0, 0.0, 0.0), kind: str = "SurfaceElement") -> bytes:
    """Return a project of one surface, and of one over a grid of 1 x 2 cells."""
    names = [str(uuid.UUID(int=i)) for i in range(10)]
    blob, arrays = b"", []
    heights = np.arange(6.0)
    for values in (VERTICES.astype("<f8"), TRIANGLES.astype("<i8"), heights.astype("<f8")):
        packed = zlib.compress(values.tobytes())
        told = {"start": 60 + len(blob), "dtype": values.dtype.str, "length": len(packed)}
        arrays.append({"__class__": "Array", "array": told})
        blob += packed
    objects = {
        names[0]: {"__class__": "Project", "elements": [names[1], names[6]], "origin": origin},
        names[1]: {"__class__": kind, "name": "ORE", "geometry": names[2]},
        names[2]: {
            "__class__": "SurfaceGeometry",
            "origin": shift,
            "vertices": names[3],
            "triangles": names[4],
        },
        names[3]: arrays[0],
        names[4]: arrays[1],
        names[5]: arrays[2],
        names[6]: {"__class__": kind, "name": "TOPO", "geometry": names[7]},
        names[7]: {
            "__class__": "SurfaceGridGeometry",
            "origin": [1, 2, 3],
            "tensor_u": [10],
            "tensor_v": [5, 7],
            "axis_u": [1, 0, 0],
            "axis_v": [0, 1, 0],
            "offset_w": names[5],
        },
    }
    head = b"\x84\x83\x82\x81" + b"OMF-v0.9.0".ljust(32, b"\0") + uuid.UUID(names[0]).bytes
    return head + struct.pack("<Q", 60 + len(blob)) + blob + json.dumps(objects).encode()
