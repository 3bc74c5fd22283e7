"""Label a dataset part by part, in this process or by workers of Dask."""

from __future__ import annotations

import errno
import logging
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from geodomain.datasets.jobs import (
    DonePart,
    States,
    describe_job,
    hash_of,
    open_output,
    require_output_folder,
)
from geodomain.datasets.parts import Dataset, PartFile, blaming, find_parts, require_one_schema
from geodomain.datasets.stores import LocalStore, Store, store_of
from geodomain.domains.order import Domains
from geodomain.domains.sources import DomainsGiven
from geodomain.errors import (
    DomainError,
    GeodomainError,
    GeodomainWarning,
    TableError,
    collect_warnings,
    counted,
    warn,
)
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.files.unchanged import Digest
from geodomain.formats.blocks import Destination, open_model, require_record_name
from geodomain.inputs import PathGiven
from geodomain.labelling.counts import Counts
from geodomain.labelling.files import (
    FileHash,
    PartFacts,
    RunRecord,
    conclude,
    count_table,
    hash_of_file,
)
from geodomain.labelling.files import hash_of as file_hash_of
from geodomain.labelling.labeller import Prepared, prepare
from geodomain.labelling.settings import DatasetKeywords, LabelSettings
from geodomain.labelling.summary import Summary, summarise
from geodomain.progress import Progress, show_progress
from geodomain.settings import among, read_keywords, recorded, with_keywords
from geodomain.tables.options import TableOptions, options_of
from geodomain.tables.settings import TableKeywords, TableSettings

if TYPE_CHECKING:
    import distributed


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
                self.ready.settings,
                counts,
                progress=progress,
                before_commit=before_commit,
            )
        hashes = [file_hash_of(digest) for digest in (source, target) if digest is not None]
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


# Label the parts by workers of Dask.

_LOCAL = re.compile(r"local:([1-9]\d{0,3})")
_SECONDS = 30  # to wait for a scheduler, and for its first worker
_ADDRESS = re.compile(r"(tcp|tls)://[^/\s]+:\d+")


@dataclass
class SharedJob:
    """What a worker needs for every part; it is sent to each of them once.

    Attributes
    ----------
    domains : Domains
        Read and welded already.
    settings : LabelSettings
    options : TableOptions
    states : States
        With paths that every worker has.
    hashed : bool
    version : str
        Of the geodomain that began the job.
    """

    domains: Domains
    settings: LabelSettings
    options: TableOptions
    states: States
    hashed: bool
    version: str

    @cached_property
    def labeller(self) -> PartLabeller:
        """Build the index, once on each worker."""
        _require_version(version("geodomain"), self.version, "a worker")
        ready = prepare(self.domains, self.settings)
        return PartLabeller(ready, self.options, self.states, self.hashed)

    def __getstate__(self) -> dict[str, object]:
        """Leave the index behind, which is in this process's memory."""
        return {name: value for name, value in vars(self).items() if name != "labeller"}


def require_scheduler(scheduler: str) -> None:
    """Refuse what is neither a number of local workers nor an address.

    Raises
    ------
    ValueError
    """
    if not (_LOCAL.fullmatch(scheduler) or _ADDRESS.fullmatch(scheduler)):
        message = (
            f"{scheduler!r} is no scheduler: it is 'local:4' for four processes here, or the "
            "address of one of Dask, such as 'tcp://host:8786'"
        )
        raise ValueError(message)


def threads_of(scheduler: str, threads: int | None) -> int | None:
    """Return the threads of each worker: local ones share the cores."""
    local = _LOCAL.fullmatch(scheduler)
    if threads is not None or local is None:
        return threads
    return max(1, (os.cpu_count() or 1) // int(local[1]))


def label_by_workers(
    job: SharedJob, parts: Sequence[PartFile], scheduler: str, finished: Callable[[PartFile], None]
) -> None:
    """Label parts by the workers of a scheduler; those of a worker that dies go to another.

    Parameters
    ----------
    job : SharedJob
        What all parts have in common.
    parts : sequence of PartFile
        With paths that every worker has.
    scheduler : str
        See `require_scheduler`.
    finished : callable
        Told of each part that is done.

    Raises
    ------
    GeodomainError, OSError
        As `PartLabeller.label`; and where no scheduler answers, it has no workers or one without
        this geodomain, the connection to it or all of its workers are lost, or a part ends its
        workers.
    """
    import distributed
    from distributed.client import FutureCancelledError

    with _client(scheduler) as client:
        _require_reachable(client, scheduler, job.version)
        shared = client.scatter(job, broadcast=True, hash=False)
        futures = {client.submit(_label, shared, part, pure=False): part for part in parts}
        for future in distributed.as_completed(futures, loop=client.loop):
            part = futures[future]
            try:
                future.result()
            except distributed.KilledWorker as error:
                message = (
                    f"{part.name} ended each worker that labelled it: is there enough memory? The "
                    "same command again goes on with it"
                )
                raise OSError(message) from error
            except FutureCancelledError as error:
                message = (
                    f"{scheduler} lost its workers, or the connection to it: the same command "
                    "again goes on with the parts that are missing"
                )
                raise OSError(message) from error
            finished(part)


def _label(job: SharedJob, part: PartFile) -> None:
    """Label a part, on a worker."""
    job.labeller.label(part)


def _require_reachable(client: distributed.Client, scheduler: str, wanted: str) -> None:
    """Refuse a scheduler without workers, and one of whose workers has not the same geodomain.

    They are asked by a function of Python's own: one of geodomain would not arrive.
    """
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError as error:
        message = (
            f"{scheduler} has no workers: start some with 'dask worker {scheduler}', and the same "
            "command again"
        )
        raise OSError(message) from error
    for worker, there in client.run(version, "geodomain", on_error="return").items():
        _require_version(there, wanted, f"the worker {worker}")


def _require_version(there: object, wanted: str, worker: str) -> None:
    """Refuse another version than that which began the job, or what a worker says without any."""
    if there != wanted:
        found = f"geodomain {there}, not {wanted}" if isinstance(there, str) else "no geodomain"
        message = f"{worker} has {found}: install geodomain {wanted} there"
        raise GeodomainError(message)


@contextmanager
def _client(scheduler: str) -> Iterator[distributed.Client]:
    """Connect to a scheduler, or start workers here for as long as they are needed."""
    import distributed

    local = _LOCAL.fullmatch(scheduler)
    if local is None:
        with distributed.Client(scheduler, timeout=_SECONDS, set_as_default=False) as client:
            yield client
        return
    try:
        cluster = distributed.LocalCluster(
            n_workers=int(local[1]),
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
    except RuntimeError as error:  # as it calls a process that ends before it is ready
        message = (
            f"not all processes of {scheduler} have started ({error}): is there enough memory? "
            "Start fewer, or try the same command again"
        )
        raise OSError(message) from error
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


# Label a dataset.


@with_keywords(LabelSettings, DatasetKeywords, table=TableKeywords)
def label_dataset(
    dataset: PathGiven,
    domains: DomainsGiven,
    output: PathGiven | None,
    *,
    overwrite: bool = False,
    take_over: bool = False,
    record: PathGiven | RunRecord | None = None,
    scheduler: str | None = None,
    progress: Progress | bool = False,
    **keywords: Unpack[DatasetKeywords],
) -> Summary:
    r"""Label a block model in many files by the domains that its blocks are in, file by file.

    Each part becomes a file of the same name in the output folder, as by `label_file`: folders
    such as ``zone=A`` stay, and so do columns, types and bytes. A run that is killed leaves whole
    parts alone, and the same call again labels what is missing. A part is not labelled again
    where size and time of its input and of its output are as they were, and the job is the same:
    domains, options and version.

    Parameters
    ----------
    dataset : path
        A folder of Parquet files or of text (.csv, .csv.gz, ..), or a pattern such as
        ``blocks/*/*.parquet``, or a URL of one (``s3://``, ``gs://``, ``az://``). Names that begin
        with a dot or an underscore are passed over.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`.
    output : path or None
        The folder to write, or its URL, outside of the dataset's: new, empty, or begun by the same
        job. Its folder ``_geodomain`` says which parts are done. None labels and reports without
        writing.
    overwrite : bool
        Remove the parts that another job has written to the output, and replace a record.
    take_over : bool
        Go on in an output that another run has locked. A run that was killed on this machine is
        known to have ended; of one on another machine only the caller knows. A run that is not
        dead ends with an error before its next part.
    record : path, optional
        Where to write a record of the run as JSON, with the SHA-256 of each part, in and out.
    scheduler : str, optional
        Label by Dask: "local:4" by four processes, which share the cores, "tcp://host:8786" by the
        workers of a scheduler, which have the same folders. Files and summary are the same. A
        script that asks for local ones does so under ``if __name__ == "__main__"``.
    progress : bool or callable
        True shows progress on stderr. A function is called with the bytes of the parts done and
        those of all.
    **settings
    **table
        As for `label_file`. That no domain meets the blocks is an error once all parts are
        labelled, which leaves them in the output.

    Returns
    -------
    Summary
        Of all parts, whichever run has labelled them. Neighbours that overlap are looked for
        within each part, centroids that repeat over all of them.

    Raises
    ------
    FileExistsError
        If the record is there already; see ``overwrite``.
    OSError
        If a file cannot be read or written, changes meanwhile, or another run is writing the
        output.
    MeshError, DomainError, TableError, PointError
        For bad data; for a part that is unlike the others; for an output inside the dataset, or
        of another job. Parts that are done stay.
    DeviceError
        If the backend cannot be used.
    ValueError
        For options that contradict each other.

    Warns
    -----
    GeodomainWarning
        For each warning of the summary, once all parts are labelled.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for bench in ("1", "9"):
    ...     (folder / f"blocks/bench={bench}").mkdir(parents=True)
    ...     part = folder / f"blocks/bench={bench}/part.csv"
    ...     _ = part.write_text(f"X,Y,Z\n1,1,{bench}\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.label_dataset(folder / "blocks", {"ORE": ore}, folder / "labelled")
    <Summary of 2 rows: ORE 1, background 1, unassigned 0>
    >>> (folder / "labelled/bench=1/part.csv").read_text().split()
    ['X,Y,Z,domain', '1,1,1,ORE']
    """
    arguments = recorded(LabelSettings, DatasetKeywords, locals(), keywords)
    run = RunRecord.of(record, "label_dataset", arguments | {"keywords": keywords})
    asked = read_keywords(LabelSettings, keywords, DatasetKeywords)
    if scheduler is not None:
        _require_workers(scheduler, output)
    said = among(TableKeywords, keywords)
    table = read_keywords(TableSettings, said, TableKeywords)
    options = options_of(table)
    found = find_parts(dataset)
    target = _require_target(found, output, run, overwrite=overwrite)
    with collect_warnings() as warned, show_progress(progress, "labelling") as report:
        ready = prepare(domains, asked)
        _refuse_shares(ready)
        if run.path is not None:
            refuse_inputs([run.path], ready.source.files)
        run.inputs.extend(ready.source.files)
        require_one_schema(found.parts, options, ready.columns)
        with _open_states(
            found, target, ready, table, overwrite=overwrite, take_over=take_over
        ) as states:
            missing = states.missing(found.parts)
            hashed = run.source is not None
            if scheduler is None:
                labeller = PartLabeller(ready, options, states, hashed)
                _label_all(labeller, found.parts, missing, report)
            elif missing:
                job = _shared(ready, asked, options, states, hashed, scheduler)
                finished = _counting(report, found.parts, missing)
                label_by_workers(job, [part.absolute() for part in missing], scheduler, finished)
            counts = _merged(states, found.parts, ready, run)
            states.require_own()
        conclude(counts, ready.labeller, ready.settings, os.fspath(dataset))
    summary = summarise(
        ready.labeller,
        counts.tally,
        ready.settings,
        seconds=run.seconds,
        columns=ready.columns,
        output=None if target is None else str(target),
        welds=ready.source.welds,
        warnings=warned,
        earlier=[*ready.source.notes, *_earlier(len(found.parts), len(missing))],
    )
    run.write(os.fspath(dataset), summary, overwrite=overwrite)
    return summary


def _require_target(
    found: Dataset, output: PathGiven | None, run: RunRecord, *, overwrite: bool
) -> Store | None:
    """Return the folder to write; refuse places that cannot be used."""
    if output is not None and os.fspath(output) == STANDARD:
        message = "a labelled dataset is a folder of files: name one as the output, not -"
        raise TableError(message)
    target = None if output is None else store_of(output)
    if target is not None:
        require_output_folder(found, target)
    if run.path is not None:
        require_record_name(str(run.path))
        if isinstance(found.base, LocalStore):
            refuse_inputs([run.path], [found.base.path / part.name for part in found.parts])
        if target is not None and Path(run.path).resolve().is_relative_to(target.place):
            message = f"the record {run.path} would be inside the output {target}: put it beside it"
            raise TableError(message)
        require_places([run.path], overwrite=overwrite)
    return target


@contextmanager
def _open_states(
    found: Dataset,
    target: Store | None,
    ready: Prepared,
    table: TableSettings,
    *,
    overwrite: bool,
    take_over: bool,
) -> Iterator[States]:
    """Open what is known of the parts, in the output or for this run alone."""
    job = describe_job(found.base, ready, table)
    if target is not None:
        with open_output(
            target, job, found.parts, overwrite=overwrite, take_over=take_over
        ) as states:
            yield states
        return
    with tempfile.TemporaryDirectory(prefix="geodomain-") as folder:
        yield States(LocalStore(Path(folder)), hash_of(job), None)


def _label_all(
    labeller: PartLabeller,
    parts: Sequence[PartFile],
    missing: Sequence[PartFile],
    progress: Progress | None,
) -> None:
    """Label the parts that are missing, one after another."""
    total = sum(part.mark.size for part in parts)
    done = total - sum(part.mark.size for part in missing)
    for part in missing:
        labeller.label(part, _within(progress, done, part.mark.size, total))
        done += part.mark.size


def _refuse_shares(ready: Prepared) -> None:
    """Refuse domains that ask for shares of blocks, which are not added up over parts."""
    if ready.settings.measures:
        message = (
            "the domains ask for shares of blocks (proportions, or by = 'majority'), which are "
            "measured in single files only: label the parts one by one, or leave these keys away"
        )
        raise DomainError(message)


def _require_workers(scheduler: str, output: PathGiven | None) -> None:
    """Refuse a scheduler that cannot be, or whose workers would have nowhere to write."""
    require_scheduler(scheduler)
    if output is None:
        message = "scheduler= has workers write the parts: it needs an output"
        raise ValueError(message)


def _shared(
    ready: Prepared,
    asked: LabelSettings,
    options: TableOptions,
    states: States,
    hashed: bool,
    scheduler: str,
) -> SharedJob:
    """Return what workers need for every part."""
    told = replace(asked, weld=None, threads=threads_of(scheduler, asked.threads))
    domains, here = ready.source.domains, version("geodomain")
    return SharedJob(domains, told, options, states.absolute(), hashed, here)


def _counting(
    progress: Progress | None, parts: Sequence[PartFile], missing: Sequence[PartFile]
) -> Callable[[PartFile], None]:
    """Return what is told of each part that is done, and tells the bytes of all."""
    total = sum(part.mark.size for part in parts)
    done = total - sum(part.mark.size for part in missing)

    def finished(part: PartFile) -> None:
        nonlocal done
        done += part.mark.size
        if progress is not None:
            progress(done, total)

    return finished


def _within(progress: Progress | None, done: int, size: int, total: int) -> Progress | None:
    """Return what tells the progress of a part as that of the whole, in bytes."""
    if progress is None:
        return None

    def tell(now: int, end: int | None) -> None:
        progress(done + (size * now // end if end else 0), total)

    return tell


def _merged(states: States, parts: Sequence[PartFile], ready: Prepared, run: RunRecord) -> Counts:
    """Add up what is known of the parts, in their order, and say what their reading warned of.

    The order makes the sums of volumes the same bits, whichever run or worker did a part.
    """
    counts = Counts.empty(ready.labeller.targets)
    for part in parts:
        done = states.read(part, ready.labeller.targets)
        for sentence in done.warnings:
            warn(sentence)
        if run.path is not None:
            run.parts.append(_facts(part, done, states.output))
        counts.merge(done.counts)
    return counts


def _facts(part: PartFile, done: DonePart, target: Store | None) -> PartFacts:
    """Return what a record says of a part; one that an earlier run did not hash is read again."""
    stores = [part.store] if target is None else [part.store, target]
    hashes = list(done.hashes[: len(stores)]) or [_hash(store, part.name) for store in stores]
    return {
        "part": part.name,
        "rows": done.counts.tally.rows,
        "input": hashes[0],
        "output": None if target is None else hashes[1],
    }


def _hash(store: Store, name: str) -> FileHash:
    """Hash a file, wherever it is."""
    with store.fetched(name) as place:
        return hash_of_file(place)


def _earlier(parts: int, missing: int) -> list[str]:
    """Say how many parts this run has not labelled, since they were."""
    if missing == parts:
        return []
    there = parts - missing
    were = "was" if there == 1 else "were"
    return [f"{there:,} of {counted(parts, 'part')} {were} labelled by an earlier run"]
