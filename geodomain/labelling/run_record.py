"""The record of a run: command, input files, results."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains
from geodomain.io.files.digest import Digest
from geodomain.io.files.streams import replaced
from geodomain.labelling.summary import Summary
from geodomain.mesh.mesh import Mesh


class FileHash(TypedDict):
    """A file by its content."""

    bytes: int
    sha256: str


class PartFacts(TypedDict):
    """A part of a dataset: its name, its rows, and its bytes before and after."""

    part: str
    rows: int
    input: FileHash
    output: FileHash | None


class RunRecord:
    """One run: when it began, its options, and the files that it reads and writes.

    Parameters
    ----------
    command : str
        The name of the command or function.
    options : dict
        All its options, by name, as they were given or by default.
    path : path, optional
        Where the record goes; without it there is none.
    page : path, optional
        Where a report goes that holds the record, which is written after the run.

    Attributes
    ----------
    inputs : list of Path
        Files beside the table; their bytes are read for the record alone.
    parts : list of PartFacts
        The parts of a dataset, which stand for the table and the output.
    path, page : Path, optional
        Where the record goes, and the report.
    source, target : Digest
        The table's bytes as they go by, in and out; only where there is to be a record.
    """

    def __init__(
        self,
        command: str,
        options: Mapping[str, object],
        path: str | os.PathLike[str] | None,
        *,
        page: Path | None = None,
    ) -> None:
        self._began, self._clock = datetime.now(UTC), time.perf_counter()
        self._command, self._options = command, options
        self.path = None if path is None else Path(path)
        self.page = page
        self.inputs: list[Path] = []
        self.parts: list[PartFacts] = []
        self.source, self.target = (Digest() if self.path or page else None for _ in range(2))

    @property
    def seconds(self) -> float:
        """Return the seconds since the beginning."""
        return time.perf_counter() - self._clock

    def write(self, model: str, summary: Summary, *, overwrite: bool) -> None:
        """Write the record, if one was asked for, completely or not at all."""
        if self.path is None:
            return
        text = json.dumps(self.as_dict(model, summary), indent=2, default=_plain) + "\n"
        with replaced(self.path, overwrite=overwrite) as file:
            file.write(text.encode())

    def as_dict(self, model: str, summary: Summary) -> dict[str, object]:
        """Return the record as plain values."""
        from importlib.metadata import version  # brings the parser of e-mail's headers

        return {
            "command": self._command,
            "options": self._options,
            "started": self._began.isoformat(timespec="seconds"),
            "versions": {
                "geodomain": version("geodomain"),
                "numpy": version("numpy"),
                "python": platform.python_version(),
                "platform": f"{sys.platform} {platform.machine()}",
            },
            **(self._parts(model) if self.parts else self._table(model, summary)),
            "summary": summary.as_dict(),
        }

    def _table(self, model: str, summary: Summary) -> dict[str, object]:
        """Return the files of a labelling of one table."""
        output = None if summary.output is None else _file(summary.output, self.target)
        return {"inputs": [_file(model, self.source), *self._others()], "output": output}

    def _parts(self, dataset: str) -> dict[str, object]:
        """Return the files of a labelling of a dataset."""
        files = {"dataset": dataset, "parts": self.parts}
        return {"inputs": self._others(), "output": None, **files}

    def _others(self) -> list[dict[str, object]]:
        """Return the files beside the table."""
        return [_file(path, Digest.of_file(path)) for path in self.inputs]


def _file(path: str | Path, digest: Digest | None) -> dict[str, object]:
    """Return the path, size and SHA-256 of a file."""
    return {"path": str(path), **hash_of(digest or Digest())}


def hash_of(digest: Digest) -> FileHash:
    """Return what a digest has taken."""
    return {"bytes": digest.size, "sha256": digest.hexadecimal}


def hash_of_file(path: Path) -> FileHash:
    """Hash a file."""
    return hash_of(Digest.of_file(path))


def _plain(value: object) -> object:
    """Return a value that JSON can hold: domains and meshes as their names."""
    if isinstance(value, Domains):
        return [*value.domains, *value.stacks]
    return value.name if isinstance(value, Domain | Mesh) and value.name else str(value)
