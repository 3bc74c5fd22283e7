"""The text of a table in chunks of whole rows, scanned; what becomes of them is not here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator

import numpy as np

from geodomain.errors import TableError
from geodomain.io.csv.errors import too_long
from geodomain.io.csv.scanner import Scanner, ScanReport
from geodomain.io.files.ahead import Ahead
from geodomain.io.files.pipeline import HEADROOM, Block, Bytes, ByteSource, Reader, fill

CHUNK_BYTES = 4 << 20
LONGEST_ROW = 64 << 20

Progress = Callable[[int, int | None], None]


class TextChunks:
    """A table from its first byte on: its head, then chunk after chunk.

    Parameters
    ----------
    source : binary file
        Only `readinto` is needed; `position` and `size` are used where there are any.
    scanner : Scanner
        Of the table.
    name : str
        What messages call it.
    """

    def __init__(self, source: ByteSource, scanner: Scanner, name: str) -> None:
        self._source, self._scanner, self._name = source, scanner, name
        self._tail: Bytes = np.empty(0, dtype=np.uint8)
        self.bytes_read = 0

    def head(self, size: int) -> bytes:
        """Read the bytes before the first row of data."""
        head = bytearray(size)
        self.bytes_read = fill(self._source, memoryview(head))
        return bytes(head[: self.bytes_read])

    def each(
        self, chunk_bytes: int, progress: Progress | None
    ) -> Iterator[tuple[Bytes, ScanReport, bool]]:
        """Give texts with what was found in them, and whether each is the last."""
        reader = Reader(self._source, min(chunk_bytes, LONGEST_ROW))
        try:
            for block in reader.blocks():
                text, found = self._scan(block, self._scanner)
                if found.consumed:
                    yield text, found, block.final
                if progress is not None:
                    progress(*self._progress())
        finally:
            reader.stop()

    def ahead(
        self, other: Scanner, chunk_bytes: int, progress: Progress | None
    ) -> Generator[tuple[Scanner, ScanReport], None, None]:
        """Give what was found in each text, while a thread scans the next one.

        Two scanners of the table take turns; what one found stays until the next is asked for.
        """
        reader = Reader(self._source, min(chunk_bytes, LONGEST_ROW))
        scanners = itertools.cycle([(self._scanner, other), (other, self._scanner)])

        def scan(block: Block) -> tuple[Block, Scanner, ScanReport]:
            scanner, last = next(scanners)
            scanner.follow(last)
            return block, scanner, self._scan(block, scanner)[1]

        ahead = Ahead(reader.held_blocks(), scan)
        try:
            for block, scanner, found in ahead.results():
                if found.consumed:
                    yield scanner, found
                reader.give(block)
                if progress is not None:
                    progress(*self._progress())
        finally:
            reader.stop()
            ahead.stop()

    def give_back(self, rest: Bytes) -> None:
        """Have rows at the end of the last text come again with the next one."""
        self._scanner.give_back(rest)
        self._tail = np.concatenate([rest, self._tail])

    def _scan(self, block: Block, scanner: Scanner) -> tuple[Bytes, ScanReport]:
        """Return the text of a block with what the last one left, and what is found in it."""
        text = self._text(block)
        self.bytes_read += block.end - HEADROOM
        found = scanner.scan(text, final=block.final)
        self._tail = text[found.consumed :].copy()
        if self._tail.size > LONGEST_ROW:
            self._refuse_tail(scanner)
        return text, found

    def _text(self, block: Block) -> Bytes:
        """Return the block with what the last one left before it."""
        begin = HEADROOM - self._tail.size
        if begin < 0:
            return np.concatenate([self._tail, block.buffer[HEADROOM : block.end]])
        block.buffer[begin:HEADROOM] = self._tail
        return block.buffer[begin : block.end]

    def _refuse_tail(self, scanner: Scanner) -> None:
        """Say why a row has no end: it is in quotes, or the file has no lines."""
        scanner.scan(self._tail, final=True)
        message = too_long(self._name, scanner.line, LONGEST_ROW)
        raise TableError(message)

    def _progress(self) -> tuple[int, int | None]:
        size = getattr(self._source, "size", None)
        done = getattr(self._source, "position", None)
        return (self.bytes_read if done is None else done), size
