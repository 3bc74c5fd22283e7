"""The keywords of functions that read tables of holes, and how they say to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from geodomain.drillholes.curves import Method
from geodomain.drillholes.directions import DipDown
from geodomain.drillholes.naming import check_roles
from geodomain.inputs.kinds import MeshesLike
from geodomain.io.header.keywords import Missing, table_options
from geodomain.io.header.options import TableOptions
from geodomain.io.number_columns import BelowDetection


@dataclass(frozen=True)
class Reading:
    """How tables of text are to be read.

    Attributes
    ----------
    columns : mapping of str to str
        Names of columns by role, as for `find_roles`.
    options : TableOptions
        Delimiter, decimal mark, encoding, and what stands for missing values.
    threads : int, optional
        For scanning text.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    options: TableOptions = field(default_factory=TableOptions)
    threads: int | None = None

    def __post_init__(self) -> None:
        """Refuse roles that there are not."""
        check_roles(self.columns)


class TextKeywords(TypedDict, total=False):
    """The keywords about text: as for `label_file`."""

    missing: Missing
    delimiter: str | None
    decimal: str | None
    encoding: str
    below_detection: BelowDetection | None
    detection_limit: Mapping[str, float] | None


class HoleKeywords(TextKeywords, total=False):
    """The keywords of `Drillholes` that functions on files take too."""

    method: Method
    down: DipDown
    vertical: bool
    topography: MeshesLike | None
    bend: tuple[float, float]
    accept: str | Sequence[str]
    columns: Mapping[str, str] | None


def reading_of(
    columns: Mapping[str, str] | None, threads: int | None, text: TextKeywords
) -> Reading:
    """Return how tables are read, of keywords for `Drillholes`; keywords about curves are ignored.

    Raises
    ------
    TypeError
        For a keyword that there is not.
    """
    for name in text.keys() - HoleKeywords.__annotations__.keys():
        message = f"there is no keyword {name!r}; columns are named with columns={{'x': 'EAST'}}"
        raise TypeError(message)
    options = table_options(
        missing=text.get("missing", ()),
        delimiter=text.get("delimiter"),
        decimal=text.get("decimal"),
        encoding=text.get("encoding") or "utf-8",
        below_detection=text.get("below_detection"),
        detection_limit=text.get("detection_limit"),
    )
    return Reading(dict(columns or {}), options, threads)


def require_choice(key: str, value: object, choices: Sequence[object]) -> None:
    """Raise ValueError for a value that is none of the choices."""
    if value not in choices:
        message = f"{key} is {value!r}; it can be {', '.join(map(repr, choices))}"
        raise ValueError(message)
