"""How a labelled model and its page were made: files with their hashes, versions, options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path

from geodomain.io.files.digest import Digest
from geodomain.report import tables
from geodomain.report.record import FileFacts, Record


@dataclass(frozen=True)
class Origin:
    """What a page was made of.

    Attributes
    ----------
    model : str
        The labelled model.
    digest : Digest
        Of its bytes.
    others : sequence of (what, path)
        Files that were read beside it.
    record : Record, optional
        Of the labelling.
    """

    model: str
    digest: Digest
    others: Sequence[tuple[str, Path]]
    record: Record | None

    @property
    def lead(self) -> str:
        """Return one line for the head of the page: which bytes, when, by what."""
        known = self.record
        labelled = f", labelled {escape(_day(known['started']))}" if known else ""
        return (
            f'<p class="lead">{escape(Path(self.model).name)}, {self.digest.size:,} bytes, SHA-256 '
            f"<code>{self.digest.hexadecimal[:16]}</code>...{labelled}. Report made {_day(_now())} "
            f"by geodomain {escape(version('geodomain'))}. "
            '<a href="#origin">All files, versions and options</a></p>'
        )

    @property
    def html(self) -> str:
        """Return tables of files, of versions and dates, and of options."""
        record = self.record
        recorded = record["inputs"] if record else []
        files = [("labelled model", _file(self.model, self.digest))]
        files += [("labelled from", one) for one in recorded]
        known = {one["sha256"] for _, one in files}
        for what, path in self.others:
            found = _file(path, Digest.of_file(path))
            if found["sha256"] not in known or what == "compared with":
                files.append((what, found))
        facts: dict[str, object] = {
            "report made": _now(),
            "report by": f"geodomain {version('geodomain')}",
            "labelled": record["started"] if record else "",
            "labelled by": record["versions"] if record else {},
            "command": record["command"] if record else "",
        }
        return (
            tables.files_table(files)
            + tables.facts_table("Run", facts, name="run")
            + tables.facts_table("Options", record["options"] if record else {}, name="options")
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _day(moment: str) -> str:
    return moment.partition("T")[0]


def _file(path: str | Path, digest: Digest) -> FileFacts:
    return {"path": str(path), "bytes": digest.size, "sha256": digest.hexadecimal}
