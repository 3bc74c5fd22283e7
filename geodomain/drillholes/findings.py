"""What was found of tables of holes: counted, with the first few named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice

from geodomain.errors import TableError

SHOWN = 5
# Words that follow the number of what they are about.
_OF_ONE = {
    "are": "is", "begin": "begins", "go": "goes", "overlap": "overlaps", "run": "runs",
    "their": "its", "themselves": "itself", "turn": "turns",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Something that was found in a table.

    Attributes
    ----------
    what : str
        In words, of several; the first word is what is counted.
    count : int
        How often.
    first : tuple of str
        The first five: holes, or rows.
    bad : bool
        Whether it is an error, which keeps rows or holes from being used.
    """

    what: str
    count: int
    first: tuple[str, ...]
    bad: bool = False

    def __str__(self) -> str:
        """Say it in a line."""
        more = ", .." if self.count > len(self.first) else ""
        noun, _, rest = self.what.partition(" ")
        if self.count == 1:
            noun = noun.removesuffix("s")
            rest = " ".join(_OF_ONE.get(word, word) for word in rest.split(" "))
        return f"{self.count:,} {noun} {rest} ({', '.join(self.first)}{more})"

    def as_dict(self) -> dict[str, object]:
        """Give plain values, ready for JSON."""
        return asdict(self)


def finding(what: str, these: Iterable[str], count: int, *, bad: bool = False) -> list[Finding]:
    """Return a finding in a list, or none where the count is 0."""
    return [Finding(what, count, tuple(islice(these, SHOWN)), bad)] if count else []


def refuse_bad(findings: Iterable[Finding], table: str) -> None:
    """Raise TableError for the first bad finding."""
    for one in findings:
        if one.bad:
            message = f"{table}: {one}; mend them, or do without strict=True"
            raise TableError(message)
