"""What the user asks of `label` and `flag`, checked option against option; nothing is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

if TYPE_CHECKING:
    from geodomain.frames import LocalFrame


@dataclass(frozen=True)
class Request:
    """What the user has asked for, option by option."""

    blocks: str
    solids: tuple[tuple[str, str], ...]
    domains: Path | None
    codes: bool
    output: str | None
    column: str
    background: str | None
    unassigned: str | None
    leaky: str | None
    flags: bool
    uncertain: bool
    replace: bool
    rule: Literal["parity", "winding"]
    allow_open: bool
    weld: float | None
    allow_disjoint: bool
    count_on_wall: bool
    overwrite: bool
    in_place: bool
    dry_run: bool
    record: Path | None
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
    for option in ("flags", "uncertain"):
        if replace is not None and given[option]:
            _misuse(
                f"--replace-column rewrites one column, and --{option} adds others: do without one "
                "of the two, or put the labels in a column of their own with --column"
            )
    table = table_of(given)
    request = Request(
        **given, column=replace or column or "domain", replace=replace is not None, table=table
    )
    _require_one_source(request)
    _require_one_destination(request)
    if request.leaky is not None and not request.allow_open:
        _misuse("--leaky says what open meshes do, and needs --allow-open")
    return request


def _require_one_source(request: Request) -> None:
    """Refuse no domains, and two kinds of them."""
    if not request.solids and request.domains is None:
        _misuse("say what to label with: --solid NAME=PATH, or --domains FILE.toml")
    if request.solids and request.domains is not None:
        _misuse("--solid and --domains both list domains: give one of them")
    if request.codes and request.domains is None:
        _misuse("--codes writes the codes of --domains FILE.toml, which solids do not have")


def table_of(given: dict[str, Any]) -> dict[str, Any]:
    """Take what is said of the table out of the options, as TableOptions wants it."""
    table = {key: given.pop(key) for key in ("x", "y", "z", "dx", "dy", "dz")}
    table |= {key: given.pop(key) for key in ("delimiter", "decimal", "encoding")}
    table["position"] = given.pop("position", None)  # samples are no blocks, and have none
    codes = given.pop("missing")
    table["missing"] = tuple(code for code in codes if not isinstance(code, str))
    table["missing_words"] = tuple(code for code in codes if isinstance(code, str))
    table["rotation"] = _rotation(
        *(given.pop(key, None) for key in ("rotation", "origin", "local_origin"))
    )
    return table


def _rotation(turns: Any, origin: Any, local_origin: Any) -> LocalFrame | None:
    """Make a frame of the three options that describe one."""
    if turns is None:
        if origin or local_origin:
            _misuse("--origin and --local-origin belong to a --rotation")
        return None
    if origin is None:
        _misuse("--rotation needs --origin: the world coordinates of the model's origin")
    from geodomain.frames import LocalFrame

    return LocalFrame(turns, origin, local_origin or (0.0, 0.0, 0.0))


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
