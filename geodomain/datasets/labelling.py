"""Label a dataset part by part, in this process or on Dask workers."""

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
from geodomain.domains.order import Domains, DomainsLike
from geodomain.errors import (
    DomainError,
    GeodomainError,
    GeodomainWarning,
    TableError,
    collect_warnings,
    counted,
    log,
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
    PartHashes,
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
    """Label the parts of a dataset, one at a time.

    Attributes
    ----------
    ready : Prepared
        Domains, index and new columns.
    options : TableOptions
        Options for reading parts.
    states : States
        Store of labelled parts and of their states.
    hashed : bool
        Whether to hash the input and output of each part while reading and writing.
    """

    ready: Prepared
    options: TableOptions
    states: States
    hashed: bool

    def label(self, part: PartFile, progress: Progress | None = None) -> None:
        """Label a part, put its output in place, and then mark it as done.

        Raises
        ------
        GeodomainError, OSError
            The errors of `label_file`, with the name of the part in the message. After an error the
            part has no output.
        """
        source, target = (Digest() if self.hashed else None for _ in range(2))
        counts = Counts.empty(self.ready.labeller.targets)
        self.states.require_own()

        def before_commit() -> None:
            if part.store.mark(part.name) != part.mark:
                message = "the file has changed since the dataset was listed: run the command again"
                raise OSError(errno.EBUSY, message, f"{part.store}/{part.name}")
            self.states.require_own()

        with (
            blaming(part),
            _stored_warnings() as part_warnings,
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
        self.states.write(part, DonePart(counts, tuple(part_warnings), tuple(hashes)))

    @contextmanager
    def _destination(self, part: PartFile, digest: Digest | None) -> Iterator[Destination | None]:
        """Yield the destination of a part; the complete file appears after the ``with`` block."""
        if self.states.output is None:
            yield None
            return
        with self.states.output.placed(part.name) as place:
            yield Destination(str(place), overwrite=True, digest=digest)


@contextmanager
def _stored_warnings() -> Iterator[list[str]]:
    """Collect warnings without showing them; they are stored, and shown when all parts are done."""
    with warnings.catch_warnings(), collect_warnings() as collected:
        warnings.simplefilter("ignore", GeodomainWarning)
        yield collected


# Label the parts on Dask workers.

_LOCAL = re.compile(r"local:([1-9]\d{0,3})")
_SECONDS = 30  # time to wait for a scheduler, and for its first worker
_ADDRESS = re.compile(r"(tcp|tls)://[^/\s]+:\d+")


@dataclass
class SharedJob:
    """The data that a worker needs for every part, sent once to each worker.

    Attributes
    ----------
    domains : Domains
        Domains with their meshes, already welded.
    settings : LabelSettings
        Settings of the labelling.
    options : TableOptions
        Options for reading parts.
    states : States
        States with paths that are valid on every worker.
    hashed : bool
        Whether to hash the input and output of each part.
    version : str
        Version of geodomain that started the job.
    """

    domains: Domains
    settings: LabelSettings
    options: TableOptions
    states: States
    hashed: bool
    version: str

    @cached_property
    def labeller(self) -> PartLabeller:
        """The labeller; each worker builds its index once."""
        _require_version(version("geodomain"), self.version, "a worker")
        ready = prepare(self.domains, self.settings)
        return PartLabeller(ready, self.options, self.states, self.hashed)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the index, which each worker builds."""
        return {name: value for name, value in vars(self).items() if name != "labeller"}


def require_scheduler(scheduler: str) -> None:
    """Refuse a scheduler that is neither a number of local workers nor an address.

    Raises
    ------
    ValueError
        For an invalid scheduler.
    """
    if not (_LOCAL.fullmatch(scheduler) or _ADDRESS.fullmatch(scheduler)):
        message = (
            f"{scheduler!r} is not a scheduler: give 'local:4' for four processes on this machine, "
            "or the address of a Dask scheduler, such as 'tcp://host:8786'"
        )
        raise ValueError(message)


def threads_of(scheduler: str, threads: int | None) -> int | None:
    """Return the number of threads of each worker; local workers share the cores."""
    local = _LOCAL.fullmatch(scheduler)
    if threads is not None or local is None:
        return threads
    return max(1, (os.cpu_count() or 1) // int(local[1]))


def label_by_workers(
    job: SharedJob, parts: Sequence[PartFile], scheduler: str, finished: Callable[[PartFile], None]
) -> None:
    """Label parts on a scheduler's workers; if a worker dies, other workers label its parts.

    Parameters
    ----------
    job : SharedJob
        Data for all parts.
    parts : sequence of PartFile
        Parts with paths that are valid on every worker.
    scheduler : str
        See `require_scheduler`.
    finished : callable
        Called with each finished part.

    Raises
    ------
    GeodomainError, OSError
        If a part cannot be labelled, as by `PartLabeller.label`; if the scheduler does not answer,
        has no workers, or has a worker with another version; if the connection or all workers are
        lost; or if a part kills its workers.
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
                    f"{part.name} killed each worker that labelled it: is there enough memory? Run "
                    "the same command again to resume"
                )
                raise OSError(message) from error
            except FutureCancelledError as error:
                message = (
                    f"{scheduler} lost its workers or the connection to them: run the same "
                    "command again to resume"
                )
                raise OSError(message) from error
            finished(part)


def _label(job: SharedJob, part: PartFile) -> None:
    """Label a part on a worker: the function that the scheduler runs."""
    job.labeller.label(part)


def _require_reachable(client: distributed.Client, scheduler: str, wanted: str) -> None:
    """Refuse a scheduler without workers, or with a worker of another version of geodomain.

    The check runs a function of the standard library, because a worker without geodomain could not
    load a function of geodomain.
    """
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError as error:
        message = (
            f"{scheduler} has no workers: start some with 'dask worker {scheduler}', and run the "
            "same command again"
        )
        raise OSError(message) from error
    for worker, installed in client.run(version, "geodomain", on_error="return").items():
        _require_version(installed, wanted, f"the worker {worker}")


def _require_version(installed: object, wanted: str, worker: str) -> None:
    """Refuse a worker without geodomain, or without the version that started the job.

    `installed` is the worker's version, or the error that it returned.
    """
    if installed != wanted:
        text = (
            f"geodomain {installed}, not {wanted}" if isinstance(installed, str) else "no geodomain"
        )
        message = f"{worker} has {text}: install geodomain {wanted} there"
        raise GeodomainError(message)


@contextmanager
def _client(scheduler: str) -> Iterator[distributed.Client]:
    """Connect to a scheduler, or start local workers, for the duration of a ``with`` block."""
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
    except RuntimeError as error:  # Dask's error if a process ends before it is ready
        message = (
            f"not all processes of {scheduler} have started ({error}): is there enough memory? "
            "Start fewer processes, or run the same command again"
        )
        raise OSError(message) from error
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


# Label a dataset.


@with_keywords(LabelSettings, DatasetKeywords, table=TableKeywords)
def label_dataset(
    dataset: PathGiven,
    domains: DomainsLike,
    output: PathGiven | None,
    *,
    overwrite: bool = False,
    take_over: bool = False,
    record: PathGiven | RunRecord | None = None,
    scheduler: str | None = None,
    progress: Progress | bool = False,
    **keywords: Unpack[DatasetKeywords],
) -> Summary:
    r"""Label a block model in many files, one file at a time.

    Each part becomes a file of the same name in the output folder, written as by `label_file`.
    Folders such as ``zone=A``, other columns, types and bytes are kept. After an interrupted run
    all parts in the output are complete, and the same call labels the other parts. A part is
    labelled again only if the size or time of its input or output has changed, or the job has
    changed (domains, options or version).

    Parameters
    ----------
    dataset : path
        A folder of Parquet or text files (.csv, .csv.gz, ..), a pattern such as
        ``blocks/*/*.parquet``, or the URL of a folder or pattern (``s3://``, ``gs://``, ``az://``).
        Names that begin with a dot or an underscore are skipped.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`.
    output : path or None
        The folder to write, or its URL. It must be outside the dataset, and be new, empty, or begun
        by the same job. Its subfolder ``_geodomain`` records which parts are done. With None, no
        part is written.
    overwrite : bool
        Remove parts in the output that another job wrote, or that the dataset no longer has. Also
        replace an existing record.
    take_over : bool
        Continue in an output that another run has locked. It is not needed after a run that was
        killed on this machine. If the other run is on another machine, make sure that it has ended;
        otherwise that run stops with an error before its next part.
    record : path, optional
        Path of a JSON record of the run, with the SHA-256 of each part's input and output.
    scheduler : str, optional
        Label with Dask. "local:4" starts four processes, which share the cores. "tcp://host:8786"
        uses the workers of a scheduler, which must have access to the same folders. The results are
        the same. A script that starts local processes must do so under
        ``if __name__ == "__main__"``.
    progress : bool or callable
        True shows progress on stderr. A function is called with the bytes of finished parts and
        of all parts.
    **settings
    **table
        As for `label_file`. If no domain meets the blocks, an error is raised after all parts are
        labelled, and the parts remain in the output.

    Returns
    -------
    Summary
        Summary of all parts, including parts that an earlier run labelled. Overlapping neighbours
        are found only within a part. Repeated centroids are found over all parts.

    Raises
    ------
    FileExistsError
        If the record exists; see ``overwrite``.
    OSError
        If a file cannot be read or written, or changes during the run, or if another run is writing
        the output.
    MeshError, DomainError, TableError, PointError
        If data are invalid, a part differs from the others, or the output is inside the dataset or
        belongs to another job. Finished parts remain.
    DeviceError
        If the backend cannot be used.
    ValueError
        If options contradict each other.

    Warns
    -----
    GeodomainWarning
        For each warning of the summary, after all parts are labelled.

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
    call_settings = read_keywords(LabelSettings, keywords, DatasetKeywords)
    if scheduler is not None:
        _require_workers(scheduler, output)
    table_keywords = among(TableKeywords, keywords)
    table = read_keywords(TableSettings, table_keywords, TableKeywords)
    options = options_of(table)
    source = find_parts(dataset)
    target = _require_target(source, output, run, overwrite=overwrite)
    with collect_warnings() as warned, show_progress(progress, "labelling") as report:
        ready = prepare(domains, call_settings)
        _refuse_shares(ready)
        if run.path is not None:
            refuse_inputs([run.path], ready.source.files)
        run.inputs.extend(ready.source.files)
        require_one_schema(source.parts, options, ready.columns)
        with _open_states(
            source, target, ready, table, overwrite=overwrite, take_over=take_over
        ) as states:
            missing = states.missing(source.parts)
            log(
                "%s: %s of %s are to be labelled",
                dataset, f"{len(missing):,}", counted(len(source.parts), "part"),
            )  # fmt: skip
            hashed = run.source is not None
            if scheduler is None:
                labeller = PartLabeller(ready, options, states, hashed)
                _label_all(labeller, source.parts, missing, report)
            elif missing:
                job = _shared(ready, call_settings, options, states, hashed, scheduler)
                finished = _counting(report, source.parts, missing)
                label_by_workers(job, [part.absolute() for part in missing], scheduler, finished)
            counts = _merged(states, source.parts, ready, run)
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
        earlier=[*ready.source.notes, *_earlier(len(source.parts), len(missing))],
    )
    run.write(os.fspath(dataset), summary, overwrite=overwrite)
    return summary


def _require_target(
    source: Dataset, output: PathGiven | None, run: RunRecord, *, overwrite: bool
) -> Store | None:
    """Return the output folder, or None; refuse an output or a record that cannot be written."""
    if output is not None and os.fspath(output) == STANDARD:
        message = "the output is -, but a labelled dataset is a folder of files: name a folder"
        raise TableError(message)
    target = None if output is None else store_of(output)
    if target is not None:
        require_output_folder(source, target)
    if run.path is not None:
        require_record_name(str(run.path))
        if isinstance(source.base, LocalStore):
            refuse_inputs([run.path], [source.base.path / part.name for part in source.parts])
        if target is not None and Path(run.path).resolve().is_relative_to(target.place):
            message = (
                f"the record {run.path} would be inside the output {target}: name a path outside "
                "the output"
            )
            raise TableError(message)
        require_places([run.path], overwrite=overwrite)
    return target


@contextmanager
def _open_states(
    source: Dataset,
    target: Store | None,
    ready: Prepared,
    table: TableSettings,
    *,
    overwrite: bool,
    take_over: bool,
) -> Iterator[States]:
    """Open the states of the parts, in the output or in a temporary folder."""
    job = describe_job(source.base, ready, table)
    if target is not None:
        with open_output(
            target, job, source.parts, overwrite=overwrite, take_over=take_over
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
    """Label the parts that are not done, one after another."""
    total = sum(part.mark.size for part in parts)
    done = total - sum(part.mark.size for part in missing)
    for part in missing:
        labeller.label(part, _within(progress, done, part.mark.size, total))
        done += part.mark.size


def _refuse_shares(ready: Prepared) -> None:
    """Refuse domains that need shares of blocks, because shares are not summed over parts."""
    if ready.settings.measures:
        message = (
            "the domains need shares of blocks (proportions, or by = 'majority'), which are "
            "computed only for single files: label the parts one by one, or remove these keys"
        )
        raise DomainError(message)


def _require_workers(scheduler: str, output: PathGiven | None) -> None:
    """Raise ValueError for an invalid scheduler, or for a scheduler without an output folder."""
    require_scheduler(scheduler)
    if output is None:
        message = "scheduler= needs an output, because its workers write files: name a folder"
        raise ValueError(message)


def _shared(
    ready: Prepared,
    call_settings: LabelSettings,
    options: TableOptions,
    states: States,
    hashed: bool,
    scheduler: str,
) -> SharedJob:
    """Return the data that workers need for every part."""
    settings = replace(
        call_settings, weld=None, threads=threads_of(scheduler, call_settings.threads)
    )
    domains, this_version = ready.source.domains, version("geodomain")
    return SharedJob(domains, settings, options, states.absolute(), hashed, this_version)


def _counting(
    progress: Progress | None, parts: Sequence[PartFile], missing: Sequence[PartFile]
) -> Callable[[PartFile], None]:
    """Return a function to call with each finished part.

    The function reports the bytes of all finished parts to `progress`.
    """
    total = sum(part.mark.size for part in parts)
    done = total - sum(part.mark.size for part in missing)

    def finished(part: PartFile) -> None:
        nonlocal done
        done += part.mark.size
        if progress is not None:
            progress(done, total)

    return finished


def _within(progress: Progress | None, done: int, size: int, total: int) -> Progress | None:
    """Return a progress function for one part, which reports bytes of the whole dataset."""
    if progress is None:
        return None

    def tell(now: int, end: int | None) -> None:
        progress(done + (size * now // end if end else 0), total)

    return tell


def _merged(states: States, parts: Sequence[PartFile], ready: Prepared, run: RunRecord) -> Counts:
    """Add up the counts of the parts in order, and repeat the stored warnings of the parts.

    Because the order is fixed, sums of volumes do not depend on the run or worker that labelled a
    part.
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


def _facts(part: PartFile, done: DonePart, target: Store | None) -> PartHashes:
    """Return the entry of a part in the record; hash its files if an earlier run did not."""
    stores = [part.store] if target is None else [part.store, target]
    hashes = list(done.hashes[: len(stores)]) or [_hash(store, part.name) for store in stores]
    return {
        "part": part.name,
        "rows": done.counts.tally.rows,
        "input": hashes[0],
        "output": None if target is None else hashes[1],
    }


def _hash(store: Store, name: str) -> FileHash:
    """Hash a file in any store."""
    with store.fetched(name) as place:
        return hash_of_file(place)


def _earlier(parts: int, missing: int) -> list[str]:
    """Return a note on the number of parts that an earlier run labelled; an empty list if none."""
    if missing == parts:
        return []
    done = parts - missing
    were = "was" if done == 1 else "were"
    return [f"{done:,} of {counted(parts, 'part')} {were} labelled by an earlier run"]
