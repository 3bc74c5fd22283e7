"""Label one part of a dataset, with domains and an index that serve for all of them."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from geodomain.datasets.parts import PartFile, blaming
from geodomain.datasets.states import DonePart, States
from geodomain.errors import GeodomainWarning, collect_warnings
from geodomain.io.blocks.model import Destination, open_model
from geodomain.io.files.digest import Digest
from geodomain.io.header.options import TableOptions
from geodomain.labelling.counts import Counts
from geodomain.labelling.prepared import Prepared
from geodomain.labelling.run_record import hash_of
from geodomain.labelling.table import count_table
from geodomain.progress import Progress


@dataclass(frozen=True)
class PartLabeller:
    """Labels part after part.

    Attributes
    ----------
    ready : Prepared
        Domains, index, new columns.
    options : TableOptions
        How parts are read.
    states : States
        Where labelled parts and their states go.
    hashed : bool
        Hash each part's bytes, in and out, as they go by.
    """

    ready: Prepared
    options: TableOptions
    states: States
    hashed: bool

    def label(self, part: PartFile, progress: Progress | None = None) -> None:
        """Label a part, put the output in its place, and then store that it is done.

        Raises
        ------
        GeodomainError, OSError
            As `label_file`, with the part's name. Nothing of the part is left behind.
        """
        source, target = (Digest() if self.hashed else None for _ in range(2))
        counts = Counts.empty(self.ready.labeller.targets)
        self.states.require_own()

        def before_commit() -> None:
            if part.store.mark(part.name) != part.mark:
                message = "it has changed since the dataset was listed: run the command again"
                raise OSError(errno.EBUSY, message, f"{part.store}/{part.name}")
            self.states.require_own()

        with (
            blaming(part),
            _kept_warnings() as said,
            part.store.fetched(part.name) as place,
            self._destination(part, target) as destination,
            open_model(str(place), self.options, digest=source) as model,
        ):
            count_table(
                model,
                destination,
                self.ready.labeller,
                self.ready.plan,
                counts,
                threads=self.ready.labeller.threads,
                progress=progress,
                before_commit=before_commit,
            )
        hashes = [hash_of(digest) for digest in (source, target) if digest is not None]
        self.states.write(part, DonePart(counts, tuple(said), tuple(hashes)))

    @contextmanager
    def _destination(self, part: PartFile, digest: Digest | None) -> Iterator[Destination | None]:
        """Give where a part goes; it is there, whole, only after the block."""
        if self.states.output is None:
            yield None
            return
        with self.states.output.placed(part.name) as place:
            yield Destination(str(place), overwrite=True, digest=digest)


@contextmanager
def _kept_warnings() -> Iterator[list[str]]:
    """Keep warnings, to be said once all parts are known, whoever labelled them."""
    with warnings.catch_warnings(), collect_warnings() as said:
        warnings.simplefilter("ignore", GeodomainWarning)
        yield said
