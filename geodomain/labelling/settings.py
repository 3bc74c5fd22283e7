"""What a labelling is asked for: one data class for keywords, options, record and hash.

A new setting is a field of `LabelSettings`, and its type in one of the TypedDicts below it. A field
of `LabelDefaults` is a key of `domains.toml` as well.
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

# The root of the number of lines in a block that is cut along lines.
LINES = 16


@dataclass(frozen=True, kw_only=True)
class LabelSettings(LabelDefaults):
    """What a labelling is asked for; None is left to the domains.

    Raises
    ------
    ValueError
        For values that do not exist, and settings that contradict each other.
    """

    column: str = setting("domain", TEXT, "Name of the new column.", hashed=True, metavar="NAME")
    replace: bool = setting(
        False, FLAG, "Rewrite the existing column in its place.", hashed=True, option=False
    )
    codes: bool = setting(False, FLAG, "Write the domains' codes, not their names.", hashed=True)
    background: str | None = setting(
        None,
        TEXT,
        "Label for blocks outside every domain.",
        hashed=True,
        metavar="LABEL",
        note="By default that of `domains`.",
    )
    unassigned: str | None = setting(
        None,
        TEXT,
        "Label for rows without coordinates.",
        hashed=True,
        metavar="LABEL",
        note="It is that of blocks beyond a surface, too. By default that of `domains`.",
    )
    leaky: str | None = setting(
        None,
        TEXT,
        "With allow_open=: label for rows above or below a hole, where an open mesh gives no "
        "answer, unless an earlier domain contains them.  [default: as unassigned=]",
        hashed=True,
        metavar="LABEL",
    )
    flags: bool = setting(
        False, FLAG, "Add a column in_<name> of 0 and 1 for each domain.", hashed=True
    )
    uncertain: bool = setting(
        False,
        FLAG,
        "Add a column of 0 and 1: 1 where rounding may have decided the winding number of an open "
        "mesh.",
        hashed=True,
    )
    rule: Rule = setting(
        "parity",
        one_of(get_args(Rule)),
        "Which points are inside: those with an odd number of walls above (parity), or with a "
        "winding number other than 0 (winding).",
        hashed=True,
    )
    allow_open: bool = setting(False, FLAG, "Label with meshes that are not closed.", hashed=True)
    # A job has the hashes of the meshes as they were welded.
    weld: float | None = setting(
        None,
        LENGTH,
        "Join vertices of a mesh that are this close, and report how many moved.",
        hashed=False,
        metavar="TOLERANCE",
    )
    allow_disjoint: bool = setting(
        False, FLAG, "Label even if no domain meets the rows.", hashed=False
    )
    # Counts are stored with the parts of a dataset.
    count_on_wall: bool = setting(
        False, FLAG, "Count the rows that lie exactly on a wireframe.", hashed=True
    )
    samples: bool = setting(
        False,
        FLAG,
        "The rows are samples or composites, as for `geodomain flag`: they fill no model that "
        "solids could leave or fit badly.",
        hashed=True,
        option=False,
    )
    backend: BackendName = setting(
        "auto",
        one_of(get_args(BackendName), toml_only=True),
        "Where to compute; every backend gives the same answers.",
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
        """Refuse values that do not exist, and settings that contradict each other."""
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
            message = "leaky= needs allow_open=True: it labels rows at the holes of open meshes"
        elif self.replace:
            for name in ("flags", "uncertain", "proportions"):
                if getattr(self, name):
                    message = (
                        f"replace=True rewrites one column, and {name}= adds others: do without "
                        "one of the two, or put the labels in a column of their own with column="
                    )
        if message:
            raise ValueError(message)

    def over(self, domains: Domains) -> LabelSettings:
        """Return the settings with what the domains say where the caller said nothing.

        Samples have no shares, whatever the domains say.

        Raises
        ------
        DomainError
            For percent without proportions, for lines where nothing is measured, and where the
            domains contradict the caller.
        """
        asked = LabelDefaults() if self.samples else domains
        own = {}
        for entry in fields(LabelDefaults):
            said = (getattr(self, entry.name), getattr(asked, entry.name), entry.metadata["usual"])
            own[entry.name] = next((value for value in said if value is not None), None)
        try:
            found = LabelSettings(**(vars(self) | own))
        except ValueError as error:
            raise DomainError(str(error)) from None
        message = ""
        if self.percent and found.proportions is None:
            message = "percent= writes the columns of proportions= from 0 to 100: give both"
        elif self.lines is not None and not found.measures:
            message = "lines= cuts blocks for proportions= or by='majority': give one of them too"
        if message:
            raise DomainError(message)
        return found

    def refuse_unused(self, domains: Domains) -> None:
        """Refuse domains that say how shares are written or measured where none are.

        Raises
        ------
        DomainError
            For percent without proportions, and for lines where nothing is measured.
        """
        message = ""
        if self.samples:
            return
        if self.percent and self.proportions is None:
            message = (
                "percent of the domains writes the columns of proportions from 0 to 100: give "
                "proportions too, beside it or as proportions="
            )
        # By the centroid after all is a choice, not a slip.
        elif domains.lines is not None and domains.by != "majority" and not self.measures:
            message = (
                "lines of the domains cuts blocks for proportions or for majority: give one of "
                "them too, beside it or as proportions= or by='majority'"
            )
        if message:
            raise DomainError(message)

    @property
    def by_order(self) -> bool:
        """Whether shares by the domains' order are needed."""
        return self.proportions == "priority" or self.by == "majority"

    @property
    def measures(self) -> bool:
        """Whether any shares of blocks are needed."""
        return self.proportions is not None or self.by_order

    @property
    def line_count(self) -> int:
        """The root of the number of lines in a block that is cut along lines."""
        return self.lines or LINES

    @property
    def rest(self) -> tuple[str, str, str, str]:
        """The labels of blocks in no domain, without coordinates, by a hole, beyond a surface."""
        lost = self.unassigned or ""
        return self.background or "", lost, lost if self.leaky is None else self.leaky, lost

    def share_column(self, name: str) -> str:
        """Return the name of the column with the shares of a domain."""
        return f"{'pct' if self.percent else 'prop'}_{name}".lower()


# --- The keywords of functions, for a type checker: a test compares them with the fields.


class PointKeywords(TypedDict, total=False):
    """The settings of every function that labels; all are optional."""

    background: str | None
    unassigned: str | None
    rule: Rule
    allow_open: bool
    backend: BackendName
    threads: int | None


class WriteKeywords(PointKeywords, total=False):
    """The settings of functions that write a column of labels."""

    column: str
    weld: float | None
    allow_disjoint: bool


class SubblockKeywords(WriteKeywords, TableKeywords, total=False):
    """The keywords of `subblock_file`."""

    leaky: str | None


class LabelKeywords(WriteKeywords, total=False):
    """The settings that hold for every file of a block model."""

    replace: bool
    codes: bool
    leaky: str | None
    flags: bool
    uncertain: bool
    count_on_wall: bool


class ArrayKeywords(PointKeywords, NumberKeywords, total=False):
    """The keywords of `label_points` and its kin, and how columns of conditions are read."""


class DatasetKeywords(LabelKeywords, TableKeywords, total=False):
    """The keywords of `label_dataset`, and how its files are read."""


class FileKeywords(DatasetKeywords, total=False):
    """The keywords of `label_file`."""

    samples: bool
    proportions: Proportions | None
    percent: bool | None
    by: LabelBy | None
    lines: int | None
