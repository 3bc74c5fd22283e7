"""What the head of a block-model table means; no data rows, no labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TableLayout:
    """Say how a table is written and which of its fields are which."""

    delimiter: bytes
    decimal: bytes
    names: tuple[str, ...]
    xyz: tuple[int, int, int]
    sizes: tuple[int, int, int] | None
    data_start: int
    data_line: int
    missing: tuple[float, ...]
    head_ends: tuple[int, ...]
    head_cells: tuple[bytes, ...]
