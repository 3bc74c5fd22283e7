"""Label the parts of a dataset by workers of Dask, which write them where the plain run does."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

from geodomain.datasets.part_labeller import PartLabeller
from geodomain.datasets.parts import PartFile
from geodomain.datasets.states import States
from geodomain.domains.order import Domains
from geodomain.errors import GeodomainError
from geodomain.io.header.options import TableOptions
from geodomain.labelling.prepared import LabelKeywords, prepare

if TYPE_CHECKING:
    import distributed

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
    keywords : LabelKeywords
    options : TableOptions
    states : States
        With paths that every worker has.
    hashed : bool
    version : str
        Of the geodomain that began the job.
    """

    domains: Domains
    keywords: LabelKeywords
    options: TableOptions
    states: States
    hashed: bool
    version: str

    @cached_property
    def labeller(self) -> PartLabeller:
        """Build the index, once on each worker."""
        _require_version(version("geodomain"), self.version, "a worker")
        ready = prepare(self.domains, self.keywords)
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
        _require_workers(client, scheduler, job.version)
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


def _require_workers(client: distributed.Client, scheduler: str, wanted: str) -> None:
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
