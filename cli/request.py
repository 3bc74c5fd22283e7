"""What the user asks of `geodomain label`, checked option against option; nothing is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import click


@dataclass(frozen=True)
class Request:
    """What the user has asked for, option by option."""

    blocks: str
    solids: tuple[tuple[str, str], ...]
    output: str | None
    column: str
    background: str
    unassigned: str
    leaky: str | None
    flags: bool
    replace: bool
    rule: Literal["parity", "winding"]
    allow_open: bool
    weld: float | None
    allow_disjoint: bool
    count_on_wall: bool
    overwrite: bool
    in_place: bool
    dry_run: bool
    backend: str
    threads: int | None
    as_json: bool
    quiet: bool
    table: dict[str, Any]

    @property
    def destination(self) -> str | None:
        """Name the file that is written, `-` for stdout, None for a dry run."""
        return None if self.dry_run else self.blocks if self.in_place else self.output


def read_request(given: dict[str, Any]) -> Request:
    """Check options against each other, and sort them."""
    replace, column = given.pop("replace_column"), given.pop("column")
    if column == "":
        _misuse("--column needs a name")
    if replace and column and replace != column:
        _misuse("--replace-column and --column name different columns")
    if replace is not None and given["flags"]:
        _misuse("--flags adds columns; label with --replace-column first, then with --flags")
    table = {key: given.pop(key) for key in ("x", "y", "z", "dx", "dy", "dz")}
    table |= {key: given.pop(key) for key in ("delimiter", "decimal", "encoding")}
    codes = given.pop("missing")
    table["missing"] = tuple(code for code in codes if not isinstance(code, str))
    table["missing_words"] = tuple(code for code in codes if isinstance(code, str))
    request = Request(
        **given, column=replace or column or "domain", replace=replace is not None, table=table
    )
    _require_one_destination(request)
    if request.leaky is not None and not request.allow_open:
        _misuse("--leaky says what open meshes do, and needs --allow-open")
    return request


def _require_one_destination(request: Request) -> None:
    """Refuse no output, two outputs, and stdin changed in place."""
    if request.output is None and not (request.in_place or request.dry_run):
        _misuse("say where to write: -o OUT.csv, --in-place, or --dry-run")
    if request.output is not None and request.in_place:
        _misuse("--in-place writes to BLOCKS.csv, and -o elsewhere: give one of them")
    if request.in_place and request.blocks == "-":
        _misuse("--in-place cannot rewrite stdin")


def _misuse(message: str) -> NoReturn:
    """End with exit code 2."""
    raise click.UsageError(message)
