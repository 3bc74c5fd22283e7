"""The settings of a labelling, each declared once.

Keywords, options, the record and the job hash are derived from these fields. To add a setting, add
a field to `LabelSettings`, and its type to one of the TypedDicts below it. A field of
`LabelDefaults` is also a key of `domains.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypedDict, get_args

from geodomain.domains.defaults import LabelBy, LabelDefaults, Proportions
from geodomain.errors import DomainError
from geodomain.settings import (
    FLAG,
    LENGTH,
    TEXT,
    BackendName,
    Rule,
    one_of,
    require_values,
    setting,
    whole,
)
from geodomain.tables.settings import NumberKeywords, TableKeywords

if TYPE_CHECKING:
    from geodomain.domains.order import Domains

# Square root of the number of vertical lines along which a block is sampled.
LINES = 16


@dataclass(frozen=True, kw_only=True)
class LabelSettings(LabelDefaults):
    """Settings of a labelling. A setting of None is taken from the domains.

    Raises
    ------
    ValueError
        If a value is invalid or settings contradict each other.
    """

    column: str = setting("domain", TEXT, "Name of the new column.", hashed=True, metavar="NAME")
    replace: bool = setting(
        False, FLAG, "Overwrite the existing column.", hashed=True, option=False
    )
    codes: bool = setting(False, FLAG, "Write the domains' codes, not their names.", hashed=True)
    background: str | None = setting(
        None,
        TEXT,
        "Label for blocks outside every domain.",
        hashed=True,
        metavar="LABEL",
        note="The default is the setting of `domains`.",
    )
    unassigned: str | None = setting(
        None,
        TEXT,
        "Label for rows without coordinates.",
        hashed=True,
        metavar="LABEL",
        note="Blocks outside the footprint of a surface get this label, too. By default the "
        "setting of `domains`.",
    )
    leaky: str | None = setting(
        None,
        TEXT,
        "With allow_open=: label for rows above or below a gap in an open mesh, where inside and "
        "outside cannot be told apart. A row that is also in a domain of higher priority than the "
        "open mesh gets the label of that domain.  [default: as unassigned=]",
        hashed=True,
        metavar="LABEL",
    )
    flags: bool = setting(
        False,
        FLAG,
        "For each domain, add a column in_<name>: 1 inside the domain, 0 outside. These columns do "
        "not depend on the order of the domains.",
        hashed=True,
    )
    uncertain: bool = setting(
        False,
        FLAG,
        "Add a column that is 1 if rounding may have decided whether the row is inside an open "
        "mesh, and 0 otherwise.",
        hashed=True,
    )
    rule: Rule = setting(
        "parity",
        one_of(get_args(Rule)),
        "A point is inside if an odd number of triangles lies above it (parity), or if its winding "
        "number is not 0 (winding).",
        hashed=True,
    )
    allow_open: bool = setting(False, FLAG, "Use solids even if they are not closed.", hashed=True)
    # The job's hash covers the welded meshes.
    weld: float | None = setting(
        None,
        LENGTH,
        "In each mesh, join vertices that are at most this far apart, such as 0.001, and report "
        "how many moved.",
        hashed=False,
        metavar="TOLERANCE",
    )
    allow_disjoint: bool = setting(
        False,
        FLAG,
        "Write labels even if no row is in any domain; otherwise this is an error.",
        hashed=False,
    )
    # Counts are stored with the parts of a dataset.
    count_on_wall: bool = setting(
        False, FLAG, "Count the rows that lie exactly on a wireframe.", hashed=True
    )
    samples: bool = setting(
        False,
        FLAG,
        "The rows are samples or composites, as for `geodomain flag`, not blocks of a model. "
        "geodomain then does not check whether solids fit the model.",
        hashed=True,
        option=False,
    )
    backend: BackendName = setting(
        "auto",
        one_of(get_args(BackendName), toml_only=True),
        "Where to compute; all backends give the same results.",
        hashed=False,
    )
    threads: int | None = setting(
        None,
        whole(1, toml_only=True),
        "Number of threads.  [default: all cores]",
        hashed=False,
        metavar="N",
    )

    def __post_init__(self) -> None:
        """Raise ValueError for invalid values, and for settings that contradict each other."""
        try:
            require_values(self)
        except DomainError as error:
            raise ValueError(str(error)) from None
        message = ""
        if not self.column:
            message = "column= needs a name"
        elif self.samples and (self.proportions or self.by == "majority"):
            message = "proportions= and by= are for blocks with sizes, which samples do not have"
        elif self.leaky is not None and not self.allow_open:
            message = (
                "leaky= needs allow_open=True, because it labels rows above or below gaps in open "
                "meshes"
            )
        elif self.replace:
            for name in ("flags", "uncertain", "proportions"):
                if getattr(self, name):
                    message = (
                        f"replace=True overwrites one column, but {name}= adds more columns: use "
                        "only one of the two, or write the labels to a new column with column="
                    )
        if message:
            raise ValueError(message)

    def over(self, domains: Domains) -> LabelSettings:
        """Return a copy in which settings that are None come from the domains or the defaults.

        Samples have no proportions, even if the domains set them.

        Raises
        ------
        DomainError
            If `percent` is set without proportions, if `lines` is set although no proportions are
            computed, or if the domains contradict the caller.
        """
        defaults = LabelDefaults() if self.samples else domains
        own = {}
        for entry in fields(LabelDefaults):
            candidates = (
                getattr(self, entry.name),
                getattr(defaults, entry.name),
                entry.metadata["usual"],
            )
            own[entry.name] = next((value for value in candidates if value is not None), None)
        try:
            complete = LabelSettings(**(vars(self) | own))
        except ValueError as error:
            raise DomainError(str(error)) from None
        message = ""
        if self.percent and complete.proportions is None:
            message = "percent= needs proportions=, because it writes proportions from 0 to 100"
        elif self.lines is not None and not complete.measures:
            message = (
                "lines= has an effect only with proportions= or by='majority': give one of these"
            )
        if message:
            raise DomainError(message)
        return complete

    def refuse_unused(self, domains: Domains) -> None:
        """Raise DomainError if the domains set `percent` or `lines` although neither has an effect.

        `percent` has an effect only if proportions are written, and `lines` only if they are
        computed.
        """
        message = ""
        if self.samples:
            return
        if self.percent and self.proportions is None:
            message = (
                "the domain list sets 'percent', which needs 'proportions': set 'proportions' in "
                "the list too, or give proportions="
            )
        # An explicit by centroid is a choice, not a mistake.
        elif domains.lines is not None and domains.by != "majority" and not self.measures:
            message = (
                "the domain list sets 'lines', which has an effect only with 'proportions' or "
                "by = 'majority': set one of these in the list too, or give proportions= or "
                "by='majority'"
            )
        if message:
            raise DomainError(message)

    @property
    def by_order(self) -> bool:
        """Whether proportions by the order of the domains are computed."""
        return self.proportions == "priority" or self.by == "majority"

    @property
    def measures(self) -> bool:
        """Whether any proportions are computed."""
        return self.proportions is not None or self.by_order

    @property
    def line_count(self) -> int:
        """Square root of the number of lines along which a block is sampled."""
        return self.lines or LINES

    @property
    def rest(self) -> tuple[str, str, str, str]:
        """Labels of blocks outside all domains, in the order of the codes.

        The four labels are for blocks in no domain, blocks without coordinates, blocks above or
        below a gap in an open mesh, and blocks outside the footprint of a surface.
        """
        lost = self.unassigned or ""
        return self.background or "", lost, lost if self.leaky is None else self.leaky, lost

    def share_column(self, name: str) -> str:
        """Return the name of the column with the proportions of a domain."""
        return f"{'pct' if self.percent else 'prop'}_{name}".lower()


# --- Keywords of functions, for type checkers; a test compares them with the fields.


class PointKeywords(TypedDict, total=False):
    """The keywords of every function that labels; all are optional."""

    background: str | None
    unassigned: str | None
    rule: Rule
    allow_open: bool
    backend: BackendName
    threads: int | None


class WriteKeywords(PointKeywords, total=False):
    """Keywords of functions that write a column of labels."""

    column: str
    weld: float | None
    allow_disjoint: bool


class SubblockKeywords(WriteKeywords, TableKeywords, total=False):
    """The keywords of `subblock_file`."""

    leaky: str | None


class LabelKeywords(WriteKeywords, total=False):
    """Keywords of functions that label a file of blocks."""

    replace: bool
    codes: bool
    leaky: str | None
    flags: bool
    uncertain: bool
    count_on_wall: bool


class ArrayKeywords(PointKeywords, NumberKeywords, total=False):
    """The keywords of `label_points` and similar functions, and keywords for reading numbers."""


class DatasetKeywords(LabelKeywords, TableKeywords, total=False):
    """Keywords of `label_dataset`, and keywords for reading the files."""


class FileKeywords(DatasetKeywords, total=False):
    """The keywords of `label_file`."""

    samples: bool
    proportions: Proportions | None
    percent: bool | None
    by: LabelBy | None
    lines: int | None
