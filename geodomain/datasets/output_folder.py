"""The folder that a labelled dataset goes to: where it may be, and whose job it holds."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from geodomain.datasets.job import hash_of
from geodomain.datasets.parts import Dataset, PartFile, is_part
from geodomain.datasets.run_lock import locked
from geodomain.datasets.states import STATE_FOLDER, States, read_job
from geodomain.datasets.stores import LocalStore, Store
from geodomain.errors import TableError

# What two jobs may differ in, by its key, in words.
_DIFFERENCES = {
    "dataset": "its dataset is {}",
    "domains": "its domains are others",
    "options": "its options are others",
    "version": "it is by geodomain {}",
    "format": "it is by another version of geodomain",
}


def require_output_folder(dataset: Dataset, output: Store) -> None:
    """Refuse an output that cannot be a folder, or whose parts would be parts of the dataset.

    Raises
    ------
    TableError, FileNotFoundError
    """
    if isinstance(output, LocalStore):
        _require_folder(output)
    base, place = (f"{folder.place.rstrip('/')}/" for folder in (dataset.base, output))
    # A pattern without wildcards in folders names no file below the base's own folder.
    flat = bool(dataset.pattern) and "/" not in dataset.pattern
    inside = base != place and place.startswith(base) and not flat
    if base == place or inside or base.startswith(place):
        where = "is" if base == place else "is inside" if inside else "holds"
        message = (
            f"the output {output} {where} the dataset's folder {dataset.base}: name a folder "
            "beside it"
        )
        raise TableError(message)


def _require_folder(output: LocalStore) -> None:
    """Refuse a file, and a folder in one that is not there."""
    if output.path.exists() and not output.path.is_dir():
        message = f"{output} is a file, and a labelled dataset is a folder: name another output"
        raise TableError(message)
    if not output.path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(output.path.parent))


@contextmanager
def open_output(
    output: Store,
    job: Mapping[str, object],
    parts: Sequence[PartFile],
    *,
    overwrite: bool,
    take_over: bool = False,
) -> Iterator[States]:
    """Open a new folder, or one that the same job began, for this run alone; refuse any other.

    Parameters
    ----------
    output : Store
        The folder; its own folder is there, if it is on disk.
    job : mapping
        What is to be done: see `describe_job`.
    parts : sequence of PartFile
        The parts of the dataset.
    overwrite : bool
        Whether parts that another job labelled, or that the dataset has no more, are removed.
    take_over : bool
        Whether another run loses the folder to this one.

    Yields
    ------
    States

    Raises
    ------
    TableError
        For the folder of another job, or of something else.
    OSError
        If another run is writing it.
    """
    if read_job(output) is None and not output.is_bare(STATE_FOLDER):
        message = (
            f"{output} is not empty, and is no output of this command: name a folder that is new "
            "or empty"
        )
        raise TableError(message)
    with _unless_in_vain(output), locked(output, take_over=take_over) as run:
        states = States(output, hash_of(job), output, run)
        known = read_job(output) is not None
        _clear(output, job, states, parts, overwrite=overwrite)
        states.begin(job)
        try:
            yield states
        except BaseException:
            with suppress(OSError):  # the error is what is told
                if not known and not states.names() and output.is_bare(STATE_FOLDER):
                    states.withdraw()
            raise


@contextmanager
def _unless_in_vain(output: Store) -> Iterator[None]:
    """Remove a folder that was made in the block, and is empty after it."""
    new = isinstance(output, LocalStore) and not output.path.exists()
    try:
        yield
    finally:
        if new and isinstance(output, LocalStore):
            with suppress(OSError):
                output.path.rmdir()


def _clear(
    output: Store,
    job: Mapping[str, object],
    states: States,
    parts: Sequence[PartFile],
    *,
    overwrite: bool,
) -> None:
    """Refuse the parts of another job, or remove them."""
    done = read_job(output)
    if done is not None:
        names, there = {part.name for part in parts}, states.names()
        other = done.get("job") != states.job
        stale = [name for name in there if other or name not in names]
        placed = [name for name in output.matching("") if is_part(name)]
        _require_known(output, placed, {*names, *there})
        # A job that ended before its first part has left nothing to lose.
        if other and not overwrite and (placed or there):
            message = (
                f"{output} holds the parts of another job ({_differ(done, job)}): name another "
                "output, or have them removed by overwrite=True"
            )
            raise TableError(message)
        if stale and not overwrite:
            message = (
                f"{output} holds {stale[0]}, which is no part of the dataset as it is named now: "
                "name another output, or have it removed by overwrite=True"
            )
            raise TableError(message)
        for name in stale:
            _require_within(name, output)
            states.remove(name)


def _require_known(output: Store, placed: Sequence[str], known: Collection[str]) -> None:
    """Refuse files that readers would take for parts, and of which nothing is known.

    A run that is killed once a part is in its place, and before that is stored, leaves one; then
    that part goes from the dataset, or another one is labelled.
    """
    for name in placed:
        if name not in known:
            message = (
                f"{output} holds {name}, which is no part of the dataset as it is named now, and "
                "which no run has finished: move it away, or name another output"
            )
            raise TableError(message)


def _require_within(name: str, output: Store) -> None:
    """Refuse to remove what is not in the output."""
    if ".." in PurePosixPath(name).parts:
        message = f"{output}/{STATE_FOLDER} names {name}, which is not in {output}"
        raise TableError(message)


def _differ(done: Mapping[str, object], job: Mapping[str, object]) -> str:
    """Say in what another job differs."""
    said = [
        words.format(done.get(key))
        for key, words in _DIFFERENCES.items()
        if done.get(key) != job[key]
    ]
    return said[0] if said else "its description cannot be read"
