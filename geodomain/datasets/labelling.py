"""Label the block model in a folder of files, part by part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Unpack, cast

from geodomain.datasets.job import describe_job, hash_of
from geodomain.datasets.object_stores import store_of
from geodomain.datasets.output_folder import open_output, require_output_folder
from geodomain.datasets.part_labeller import PartLabeller
from geodomain.datasets.parts import Dataset, PartFile, find_parts
from geodomain.datasets.schema import require_one_schema
from geodomain.datasets.states import DonePart, States
from geodomain.datasets.stores import LocalStore, Store
from geodomain.datasets.workers import (
    SharedJob,
    label_by_workers,
    require_scheduler,
    threads_of,
)
from geodomain.domains.sources import DomainsGiven
from geodomain.errors import DomainError, TableError, collect_warnings, counted, warn
from geodomain.inputs.paths import PathGiven
from geodomain.io.blocks.model import require_record_name
from geodomain.io.files.places import refuse_inputs, require_places
from geodomain.io.files.standard import STANDARD
from geodomain.io.header.keywords import TableKeywords, table_options
from geodomain.io.header.options import TableOptions
from geodomain.labelling.counts import Counts
from geodomain.labelling.prepared import LabelKeywords, Prepared, prepare, refuse_slips
from geodomain.labelling.run_record import FileHash, PartFacts, RunRecord, hash_of_file
from geodomain.labelling.summarise import summarise
from geodomain.labelling.summary import Summary
from geodomain.labelling.table import conclude
from geodomain.progress import Progress, show_progress


class DatasetKeywords(LabelKeywords, TableKeywords, total=False):
    """The keywords of `label_file` that hold for every part of a dataset."""


def label_dataset(
    dataset: PathGiven,
    domains: DomainsGiven,
    output: PathGiven | None,
    *,
    overwrite: bool = False,
    take_over: bool = False,
    allow_disjoint: bool = False,
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
    allow_disjoint : bool
        Accept that no domain meets the blocks. Otherwise that is an error once all parts are
        labelled, which leaves them in the output.
    record : path, optional
        Where to write a record of the run as JSON, with the SHA-256 of each part, in and out.
    scheduler : str, optional
        Label by Dask: "local:4" by four processes, which share the cores, "tcp://host:8786" by the
        workers of a scheduler, which have the same folders. Files and summary are the same. A
        script that asks for local ones does so under ``if __name__ == "__main__"``.
    progress : bool or callable
        True shows progress on stderr. A function is called with the bytes of the parts done and
        those of all.
    **keywords
        All other keywords of `label_file` but ``samples``.

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
    run = (
        record
        if isinstance(record, RunRecord)
        else RunRecord("label_dataset", dict(locals()), record)
    )
    for_table = {n: v for n, v in keywords.items() if n not in LabelKeywords.__annotations__}
    refuse_slips(keywords)
    if scheduler is not None:
        _require_workers(scheduler, output)
    options = table_options(**cast(TableKeywords, for_table))
    found = find_parts(dataset)
    target = _require_target(found, output, run, overwrite=overwrite)
    with collect_warnings() as warned, show_progress(progress, "labelling") as report:
        ready = prepare(domains, keywords)
        _refuse_shares(ready)
        if run.path is not None:
            refuse_inputs([run.path], ready.source.files)
        run.inputs.extend(ready.source.files)
        require_one_schema(found.parts, options, ready.columns)
        with _open_states(
            found, target, ready, options, overwrite=overwrite, take_over=take_over
        ) as states:
            missing = states.missing(found.parts)
            hashed = run.source is not None
            if scheduler is None:
                labeller = PartLabeller(ready, options, states, hashed)
                _label_all(labeller, found.parts, missing, report)
            elif missing:
                job = _shared(ready, keywords, options, states, hashed, scheduler)
                finished = _counting(report, found.parts, missing)
                label_by_workers(job, [part.absolute() for part in missing], scheduler, finished)
            counts = _merged(states, found.parts, ready, run)
            states.require_own()
        conclude(
            counts,
            ready.labeller,
            ready.plan,
            os.fspath(dataset),
            allow_disjoint=allow_disjoint,
        )
    summary = summarise(
        ready.labeller,
        counts.tally,
        ready.plan.labels,
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
    options: TableOptions,
    *,
    overwrite: bool,
    take_over: bool,
) -> Iterator[States]:
    """Open what is known of the parts, in the output or for this run alone."""
    job = describe_job(found.base, ready, options)
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
    if ready.plan.shares.measures:
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
    keywords: LabelKeywords,
    options: TableOptions,
    states: States,
    hashed: bool,
    scheduler: str,
) -> SharedJob:
    """Return what workers need for every part."""
    threads = threads_of(scheduler, keywords.get("threads"))
    told: LabelKeywords = {**keywords, "weld": None, "threads": threads}
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
