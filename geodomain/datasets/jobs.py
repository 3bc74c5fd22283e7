"""The job of labelling a dataset: hash, states of parts, lock and output folder."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import socket
import uuid
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import TypedDict, cast

import numpy as np

from geodomain.datasets.parts import Dataset, PartFile, is_part
from geodomain.datasets.stores import FileMark, LocalStore, Store
from geodomain.domains.domain import Domain
from geodomain.domains.order import DomainOrLayer, Domains
from geodomain.domains.stack import Stack
from geodomain.errors import TableError, warn
from geodomain.labelling.counts import Counts
from geodomain.labelling.files import FileHash
from geodomain.labelling.labeller import Prepared
from geodomain.mesh.mesh import Mesh
from geodomain.settings import hashed_part, hashed_values
from geodomain.tables.conditions import Condition
from geodomain.tables.options import options_of
from geodomain.tables.settings import TableSettings

# Version of the stored format of jobs and states; another version means another job.
_FORMAT = 2


def describe_job(base: Store, ready: Prepared, table: TableSettings) -> dict[str, object]:
    """Return everything on which the output and the counts of a part depend.

    Each setting declares whether it is included. The backend and the number of threads are not
    included, because they do not change labels.
    """
    domains = ready.source.domains
    return {
        "format": _FORMAT,
        "version": version("geodomain"),
        "dataset": base.place,
        "domains": _describe(domains, {id(mesh): mesh_hash(mesh) for mesh in domains.meshes}),
        "options": {
            **dict(hashed_values(ready.settings)),
            "table": repr(options_of(hashed_part(table))),
        },
    }


def hash_of(job: Mapping[str, object]) -> str:
    """Return the SHA-256 of a job's description, as hexadecimal digits."""
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()


def _describe(value: object, meshes: Mapping[int, str]) -> object:
    """Return domains as values for JSON, with only the fields that enter the hash."""
    if isinstance(value, Domains | Domain | Stack):
        return {name: _describe(each, meshes) for name, each in hashed_values(value)}
    if isinstance(value, tuple):
        return [_describe(each, meshes) for each in value]
    if isinstance(value, Mesh):
        return meshes[id(value)]
    if isinstance(value, Condition):
        return f"{value.column} {value.operator} {value.values!r}"
    return int(value) if isinstance(value, np.integer) else value


def mesh_hash(mesh: Mesh) -> str:
    """Return the SHA-256 of a mesh's triangles and vertices, as little-endian numbers."""
    triangles = np.ascontiguousarray(mesh.triangles, "<i4")
    digest = hashlib.sha256(f"{len(mesh.vertices)} {len(triangles)}\n".encode())
    digest.update(np.ascontiguousarray(mesh.vertices, "<f8").data)
    digest.update(triangles.data)
    return digest.hexdigest()


# The state of an output folder: its job, and the counts of finished parts.

# Readers of datasets skip names that begin with an underscore.
STATE_FOLDER = "_geodomain"
_JOB = f"{STATE_FOLDER}/job.json"
_PARTS, _END, _FACTS = f"{STATE_FOLDER}/parts", ".npz", "facts"


class _Facts(TypedDict):
    """The stored facts of a part, in addition to its counts."""

    job: str
    input: list[int | str]
    output: list[int | str]
    hashes: list[FileHash]
    warnings: list[str]


@dataclass(frozen=True)
class DonePart:
    """The result of labelling one part of a dataset.

    Attributes
    ----------
    counts : Counts
        Counts of labels.
    warnings : tuple of str
        Warnings from reading the part.
    hashes : tuple of FileHash
        Hashes of the part's input file and output file; empty if no record is written.
    """

    counts: Counts
    warnings: tuple[str, ...] = ()
    hashes: tuple[FileHash, ...] = ()


class States:
    """The states of the parts of a job, one file per part; a part without a state is not done.

    Parameters
    ----------
    store : Store
        The store that holds the folder of states.
    job : str
        The job's hash; states of other jobs are ignored.
    output : Store, optional
        The folder of labelled parts; None if only the counts are stored.
    run : str
        The name of the run that writes the states; see `locked`.
    """

    def __init__(self, store: Store, job: str, output: Store | None, run: str = "") -> None:
        self.store, self.job, self.output, self.run = store, job, output, run

    def absolute(self) -> States:
        """Return the states with absolute paths."""
        output = None if self.output is None else self.output.absolute()
        return States(self.store.absolute(), self.job, output, self.run)

    def begin(self, job: Mapping[str, object]) -> None:
        """Store the job, and the name of the run that writes the output from now on."""
        stored = {"job": self.job, "run": self.run, **job}
        self.store.write(_JOB, (json.dumps(stored, indent=2) + "\n").encode())

    def withdraw(self) -> None:
        """Remove the stored job, which has ended before any part was done."""
        self.store.remove(_JOB)

    def require_own(self) -> None:
        """Require that no other run has taken over the output.

        Raises
        ------
        OSError
            If another run has taken over the output.
        """
        if self.output is None:
            return
        stored = read_job(self.output) or {}
        if (stored.get("job"), stored.get("run")) != (self.job, self.run):
            message = (
                "another run has taken over the output and the parts labelled so far, so this run "
                "stops"
            )
            raise OSError(errno.EBUSY, message, str(self.output))

    def missing(self, parts: Sequence[PartFile]) -> list[PartFile]:
        """Return the parts that are not done.

        The states are listed first, so that only states that exist are read.
        """
        listed = set(self.names())
        return [part for part in parts if part.name not in listed or not self._has(part)]

    def _has(self, part: PartFile) -> bool:
        """Return whether a part is done, and its input and output have not changed since."""
        try:
            with self._open(part.name) as file, np.load(file) as stored:
                facts = _read_facts(str(stored[_FACTS]))
            return facts["job"] == self.job and self._marks(part) == [
                facts["input"],
                facts["output"],
            ]
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            return False

    def write(self, part: PartFile, done: DonePart) -> None:
        """Store the state of a part whose output is complete."""
        self.require_own()
        before, after = self._marks(part)
        facts: _Facts = {
            "job": self.job,
            "input": before,
            "output": after,
            "hashes": [*done.hashes],
            "warnings": [*done.warnings],
        }
        arrays = {_FACTS: np.array(json.dumps(facts)), **done.counts.arrays()}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        self.store.write(_place(part.name), buffer.getbuffer())

    def read(self, part: PartFile, targets: Sequence[DomainOrLayer]) -> DonePart:
        """Return the stored result of a part that is done.

        Raises
        ------
        OSError
            If the input or output of the part has changed since it was labelled.
        """
        with self._open(part.name) as file, np.load(file) as stored:
            facts = _read_facts(str(stored[_FACTS]))
            counts = Counts.restored(targets, {name: stored[name] for name in stored.files})
        if facts["job"] != self.job or self._marks(part) != [facts["input"], facts["output"]]:
            message = (
                f"{part.name} has changed since it was labelled: run the same command to label it "
                "again"
            )
            raise OSError(errno.EBUSY, message, str(self.output))
        return DonePart(counts, tuple(facts["warnings"]), tuple(facts["hashes"]))

    def names(self) -> list[str]:
        """Return the names of all parts that have a state, from this job or another."""
        files = self.store.below(_PARTS)
        return sorted(name.removesuffix(_END) for name in files if name.endswith(_END))

    def remove(self, name: str) -> None:
        """Remove a labelled part and its state."""
        if self.output is not None:
            self.output.remove(name)
        self.store.remove(_place(name))

    def _open(self, name: str) -> io.BytesIO:
        """Read the state of a part."""
        return io.BytesIO(self.store.read(_place(name)))

    def _marks(self, part: PartFile) -> list[list[int | str]]:
        """Return the size and time (or tag) of a part's input as listed, and of its output now."""
        after = FileMark(0, 0) if self.output is None else self.output.mark(part.name)
        return [[*mark] for mark in (part.mark, after)]


def read_job(output: Store) -> Mapping[str, object] | None:
    """Return the job stored in an output: None if there is none, empty if it is damaged."""
    try:
        job: object = json.loads(output.read(_JOB))
    except FileNotFoundError:
        return None
    except ValueError:
        job = {}
    return job if isinstance(job, dict) else {}


def _place(name: str) -> str:
    """Return the name of the file that holds a part's state."""
    return f"{_PARTS}/{name}{_END}"


def _read_facts(text: str) -> _Facts:
    """Read the stored facts of a part from a JSON text."""
    return cast(_Facts, json.loads(text))


# The lock: only one run at a time may write an output.

_LOCK = f"{STATE_FOLDER}/lock.json"


@contextmanager
def locked(output: Store, *, take_over: bool) -> Iterator[str]:
    """Hold the lock of an output during a ``with`` block.

    The lock of another run is replaced in two cases: the process of that run was on this machine
    and has ended, or `take_over` is true. The age of a lock does not matter.

    Parameters
    ----------
    output : Store
        The folder to write.
    take_over : bool
        Take the lock from another run, which then stops before its next part.

    Yields
    ------
    str
        The unique name of this run.

    Raises
    ------
    OSError
        If another run holds the lock.
    """
    run = uuid.uuid4().hex
    lock = json.dumps({"run": run, **_this_process()}, indent=2).encode() + b"\n"
    if not output.create(_LOCK, lock):
        holder = _holder(output)
        if not (take_over or _has_ended(holder)):
            raise OSError(errno.EBUSY, _refusal(holder), str(output))
        output.write(_LOCK, lock)
    try:
        yield run
    finally:
        _release(output, run)


def _release(output: Store, run: str) -> None:
    """Remove the lock of an output, unless another run has taken it."""
    try:
        if _holder(output).get("run") == run:
            output.remove(_LOCK)
    except OSError as error:
        warn(f"the lock {output}/{_LOCK} could not be removed ({error}): remove this file")


def _refusal(holder: Mapping[str, object]) -> str:
    """Return an error message that names the run that holds the lock."""
    who = "another run is writing this output"
    if holder:
        place = f"process {holder.get('pid')} on {holder.get('host')}"
        who = f"{who}, {place}, since {holder.get('began')}"
    return f"{who}: wait until it ends. If the other run has stopped, continue with take_over=True"


def _holder(output: Store) -> Mapping[str, object]:
    """Read the lock of an output; return an empty mapping if it does not exist or is damaged."""
    try:
        holder: object = json.loads(output.read(_LOCK))
    except (FileNotFoundError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _this_process() -> dict[str, object]:
    """Return facts with which another process can check whether this process still runs."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
        "started": _started(os.getpid()),
    }


def _machine() -> str:
    """Return an id of this boot and process namespace; "" if the system has no such id."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return the time when a process started, in ticks since the boot; "" if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The name of the program, in brackets, may contain brackets and blanks.
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def _has_ended(holder: Mapping[str, object]) -> bool:
    """Return whether the process that holds a lock was on this machine and has certainly ended."""
    pid, machine = holder.get("pid"), _machine()
    if not machine or holder.get("machine") != machine or not isinstance(pid, int):
        return False
    return _started(pid) != holder.get("started")


# The output folder: allowed paths, and the job to which it belongs.

# Texts of the differences between two jobs, by key.
_DIFFERENCES = {
    "dataset": "its dataset is {}",
    "domains": "its domains differ",
    "options": "its options differ",
    "version": "geodomain {} began it",
    "format": "another version of geodomain began it",
}


def require_output_folder(dataset: Dataset, output: Store) -> None:
    """Refuse an output that is not a folder, or that overlaps the dataset's folder.

    Raises
    ------
    TableError, FileNotFoundError
        If the output is a file; if it is the dataset's folder, lies inside this folder or contains
        it; or if its parent folder does not exist.
    """
    if isinstance(output, LocalStore):
        _require_folder(output)
    base, place = (f"{folder.place.rstrip('/')}/" for folder in (dataset.base, output))
    # A pattern without folders matches only files directly in the base folder.
    flat = bool(dataset.pattern) and "/" not in dataset.pattern
    inside = base != place and place.startswith(base) and not flat
    if base == place or inside or base.startswith(place):
        where = "is" if base == place else "is inside" if inside else "holds"
        message = (
            f"the output {output} {where} the dataset's folder {dataset.base}: choose a folder "
            "outside the dataset"
        )
        raise TableError(message)


def _require_folder(output: LocalStore) -> None:
    """Refuse an output that is a file, or whose parent folder does not exist."""
    if output.path.exists() and not output.path.is_dir():
        message = f"{output} is a file, but a labelled dataset is a folder: choose another output"
        raise TableError(message)
    if not output.path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(output.path.parent))


@contextmanager
def open_output(
    output: Store,
    job: Mapping[str, object],
    parts: Sequence[PartFile],
    *,
    overwrite: bool,
    take_over: bool = False,
) -> Iterator[States]:
    """Open and lock an output folder that is new, or that an earlier run of the same job began.

    Parameters
    ----------
    output : Store
        The folder; on disk, its parent folder must exist.
    job : mapping
        The description of the job; see `describe_job`.
    parts : sequence of PartFile
        The parts of the dataset.
    overwrite : bool
        Whether to remove parts that another job labelled, or that the dataset no longer has.
    take_over : bool
        Whether to take the folder from another run.

    Yields
    ------
    States
        The states of the parts.

    Raises
    ------
    TableError
        If the folder belongs to another job, or is not an output of this command.
    OSError
        If another run is writing the folder.
    """
    if read_job(output) is None and not output.is_bare(STATE_FOLDER):
        message = (
            f"{output} is not empty, and is not an output of this command: choose a new or empty "
            "folder"
        )
        raise TableError(message)
    with _unless_in_vain(output), locked(output, take_over=take_over) as run:
        states = States(output, hash_of(job), output, run)
        begun = read_job(output) is not None
        _clear(output, job, states, parts, overwrite=overwrite)
        states.begin(job)
        try:
            yield states
        except BaseException:
            output.prune()
            with suppress(OSError):  # the first error is more important
                if not begun and not states.names() and output.is_bare(STATE_FOLDER):
                    states.withdraw()
            raise


@contextmanager
def _unless_in_vain(output: Store) -> Iterator[None]:
    """Remove the output folder after a ``with`` block that created it but wrote no file in it."""
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
    """If `overwrite`, remove parts of another job and parts that the dataset no longer has.

    Without `overwrite`, raise TableError if there are such parts.
    """
    done = read_job(output)
    if done is not None:
        names, there = {part.name for part in parts}, states.names()
        other = done.get("job") != states.job
        stale = [name for name in there if other or name not in names]
        placed = [name for name in output.matching("") if is_part(name)]
        _require_listed(output, placed, {*names, *there})
        # A job that ended before its first part has left nothing to remove.
        if other and not overwrite and (placed or there):
            message = (
                f"{output} holds the parts of another job ({_differ(done, job)}): choose another "
                "output, or remove these parts with overwrite=True"
            )
            raise TableError(message)
        if stale and not overwrite:
            message = (
                f"{output} holds {stale[0]}, which is no longer a part of the dataset: choose "
                "another output, or remove this file with overwrite=True"
            )
            raise TableError(message)
        for name in stale:
            _require_within(name, output)
            states.remove(name)


def _require_listed(output: Store, placed: Sequence[str], listed: Collection[str]) -> None:
    """Refuse a file in the output that is named like a part, but that no job has marked as done.

    A run that is killed between writing a part and storing the part's state leaves such a file. The
    file is accepted if the dataset has a part of this name, which is then written again.
    """
    for name in placed:
        if name not in listed:
            message = (
                f"{output} holds {name}, which is neither a part of the dataset nor a part that a "
                "run has finished: an interrupted run may have left it. Move the file away, or "
                "choose another output"
            )
            raise TableError(message)


def _require_within(name: str, output: Store) -> None:
    """Refuse to remove a file whose name leads out of the output."""
    if ".." in PurePosixPath(name).parts:
        message = (
            f"{output}/{STATE_FOLDER} lists the part {name}, which is outside {output}: choose "
            "another output"
        )
        raise TableError(message)


def _differ(done: Mapping[str, object], job: Mapping[str, object]) -> str:
    """Return the first difference between the stored job and this job, for a message."""
    differences = [
        words.format(done.get(key))
        for key, words in _DIFFERENCES.items()
        if done.get(key) != job[key]
    ]
    return differences[0] if differences else "its description cannot be read"
