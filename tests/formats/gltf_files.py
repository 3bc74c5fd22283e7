"""Binary glTF files for tests, made from accessors."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence

import numpy as np


def made(
    accessors: Sequence[tuple[np.ndarray, Mapping[str, object]]],
    part: Mapping[str, object],
    node: Mapping[str, object] | None = None,
    **more: object,
) -> bytes:
    """Return a glTF of one mesh, each of whose accessors has a view of its own."""
    types = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
    blob, views, described = b"", [], []
    for array, settings in accessors:
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": array.nbytes})
        described.append(
            {
                "bufferView": len(views) - 1,
                "componentType": types[array.dtype.str[1:]],
                "count": len(array),
                "type": "SCALAR" if array.ndim == 1 else "VEC3",
                **settings,
            }
        )
        blob += array.tobytes() + b"\0" * (-array.nbytes % 4)
    return packed(
        {
            "asset": {"version": "2.0"},
            "nodes": [{"mesh": 0, **(node or {})}],
            "meshes": [{"name": "ORE", "primitives": [part]}],
            "accessors": described,
            "bufferViews": views,
            **more,
        },
        blob,
    )


def packed(tree: dict[str, object], blob: bytes) -> bytes:
    """Return a description and its numbers as one file."""
    text = json.dumps({"buffers": [{"byteLength": len(blob)}], **tree}).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(blob), b"BIN\0") + blob
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


RING = np.array([[0, 0, 0], [2, 0, 0], [3, 0, -1], [2, 0, -2], [0, 0, -2]], dtype="<f4")

POSITION = {"attributes": {"POSITION": 0}}
