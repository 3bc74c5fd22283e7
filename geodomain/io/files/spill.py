"""Rows of numbers in bounded memory: in a temporary file without a name once there are many."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import IO

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.uint64]

# So many rows are held; the parts of a file are by the first bits of a row.
_HELD, _BITS = 1 << 21, 10


class Spill:
    """Rows, given back in parts: those that begin with the same number come together.

    Parameters
    ----------
    width : int
        Numbers in a row, of which the first is to be spread over all 64 bits.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._held: list[Rows] = []
        self._count = 0
        self._file: IO[bytes] | None = None
        self._open = ExitStack()
        self._sizes: list[NDArray[np.int64]] = []  # rows of each part, for each time of writing

    def __enter__(self) -> Spill:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the file."""
        self.close()

    def close(self) -> None:
        """Forget all rows, and let go of the file, which ends with that."""
        self._held, self._sizes, self._count = [], [], 0
        self._file = None
        self._open.close()

    def add(self, rows: Rows) -> None:
        """Add (n, width) rows.

        Raises
        ------
        OSError
            Where there is no room for a temporary file.
        """
        self._held.append(rows)
        self._count += len(rows)
        if self._count > _HELD:
            self._write()

    def _write(self) -> None:
        """Write what is held, by parts."""
        if self._file is None:
            made = tempfile.TemporaryFile(prefix="geodomain-")  # noqa: SIM115
            self._file = self._open.enter_context(made)
        rows = np.concatenate(self._held)
        part = (rows[:, 0] >> np.uint64(64 - _BITS)).astype(np.uint16)
        self._file.write(rows[part.argsort(kind="stable")].data)
        self._file.flush()
        self._sizes.append(np.bincount(part, minlength=1 << _BITS))
        self._held, self._count = [], 0

    def parts(self) -> Iterator[Rows]:
        """Yield all rows in parts, each in the order in which they were added."""
        if self._file is None:
            yield np.concatenate([np.empty((0, self._width), np.uint64), *self._held])
            return
        if self._held:
            self._write()
        sizes = np.array(self._sizes)
        ends = sizes.cumsum().reshape(sizes.shape)
        for part in range(1 << _BITS):
            places = zip(ends[:, part] - sizes[:, part], sizes[:, part], strict=True)
            yield np.concatenate([self._read(int(at), int(count)) for at, count in places])

    def _read(self, at: int, count: int) -> Rows:
        """Read rows from a place of the file."""
        assert self._file is not None
        self._file.seek(at * 8 * self._width)
        read = self._file.read(count * 8 * self._width)
        return np.frombuffer(read, np.uint64).reshape(-1, self._width)
