"""A run as a record: what was run, on which files, and what came of it."""

from __future__ import annotations

import json
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from geodomain.summary import Summary
from geodomain.tables.atomic import AtomicFile
from geodomain.tables.digest import Digest


class Run:
    """One run of a command from its beginning, and the files that it reads and writes.

    Parameters
    ----------
    command : str
        Its name.
    options : dict
        All its options, by name, as they were given or by default.

    Attributes
    ----------
    inputs : list of Path
        Files beside the table; their bytes are read for the record alone.
    source, target : Digest
        The table's bytes as they go by, in and out; only where there is to be a record.
    """

    def __init__(self, command: str, options: dict[str, Any]) -> None:
        self._began, self._clock = datetime.now(UTC), time.perf_counter()
        self._command, self._options = command, options
        self.inputs: list[Path] = []
        wanted = options.get("record") is not None
        self.source, self.target = (Digest() if wanted else None for _ in range(2))

    @property
    def seconds(self) -> float:
        """Give the time so far."""
        return time.perf_counter() - self._clock

    def write(self, path: Path, summary: Summary) -> None:
        """Write the record, whole or not at all."""
        text = json.dumps(self.as_dict(summary), indent=2, default=str) + "\n"
        file = AtomicFile(path)
        try:
            file.write(memoryview(text.encode()))
            file.commit()
        finally:
            file.abandon()

    def as_dict(self, summary: Summary) -> dict[str, Any]:
        """Give the record as plain values."""
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
            "inputs": [
                _file(self._options["blocks"], self.source),
                *(_file(path, Digest.of_file(path)) for path in self.inputs),
            ],
            "output": None if summary.output is None else _file(summary.output, self.target),
            "summary": summary.as_dict(),
        }


def _file(path: str | Path, digest: Digest | None) -> dict[str, Any]:
    """Say what a file is by its content."""
    digest = digest or Digest()
    return {"path": str(path), "bytes": digest.size, "sha256": digest.hexadecimal}
