"""What an output folder knows of its parts: whose job it is, and the counts of those done."""

from __future__ import annotations

import errno
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

import numpy as np

from geodomain.datasets.parts import PartFile
from geodomain.datasets.stores import FileMark, Store
from geodomain.domains.order import DomainOrLayer
from geodomain.labelling.counts import Counts
from geodomain.labelling.run_record import FileHash

# Readers of datasets pass over names with an underscore.
STATE_FOLDER = "_geodomain"
_JOB = f"{STATE_FOLDER}/job.json"
_PARTS, _END, _FACTS = f"{STATE_FOLDER}/parts", ".npz", "facts"


class _Facts(TypedDict):
    """What is stored of a part beside its counts."""

    job: str
    input: list[int | str]
    output: list[int | str]
    hashes: list[FileHash]
    warnings: list[str]


@dataclass(frozen=True)
class DonePart:
    """A part that is labelled.

    Attributes
    ----------
    counts : Counts
    warnings : tuple of str
        What its reading warned of.
    hashes : tuple of FileHash
        Its input and its output, where a record was asked for.
    """

    counts: Counts
    warnings: tuple[str, ...] = ()
    hashes: tuple[FileHash, ...] = ()


class States:
    """The states of the parts of one job, a file each; a part without one is not done.

    Parameters
    ----------
    kept : Store
        What has them in a folder of its own.
    job : str
        The job's hash; states of other jobs are none.
    output : Store, optional
        Where labelled parts are; without one nothing but the counts is kept.
    run : str
        The run that writes them; see `locked`.
    """

    def __init__(self, kept: Store, job: str, output: Store | None, run: str = "") -> None:
        self.kept, self.job, self.output, self.run = kept, job, output, run

    def absolute(self) -> States:
        """Return the states with paths that hold in any folder."""
        output = None if self.output is None else self.output.absolute()
        return States(self.kept.absolute(), self.job, output, self.run)

    def begin(self, job: Mapping[str, object]) -> None:
        """Store whose job the output holds from now on, and which run does it."""
        stored = {"job": self.job, "run": self.run, **job}
        self.kept.write(_JOB, (json.dumps(stored, indent=2) + "\n").encode())

    def withdraw(self) -> None:
        """Forget the job, which has ended before any of its parts was done."""
        self.kept.remove(_JOB)

    def require_own(self) -> None:
        """Refuse to go on where another run has taken the output over.

        Raises
        ------
        OSError
        """
        if self.output is None:
            return
        stored = read_job(self.output) or {}
        if (stored.get("job"), stored.get("run")) != (self.job, self.run):
            message = "another run has taken it over: what this run has labelled is left to that"
            raise OSError(errno.EBUSY, message, str(self.output))

    def missing(self, parts: Sequence[PartFile]) -> list[PartFile]:
        """Return the parts that are not done; only states that are listed are read."""
        listed = set(self.names())
        return [part for part in parts if part.name not in listed or not self._has(part)]

    def _has(self, part: PartFile) -> bool:
        """Return whether a part is done, and neither its input nor its output has changed."""
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
        """Store that a part is done, once its output is in its place."""
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
        self.kept.write(_place(part.name), buffer.getbuffer())

    def read(self, part: PartFile, targets: Sequence[DomainOrLayer]) -> DonePart:
        """Return what is known of a part that is done.

        Raises
        ------
        OSError
            If another run, or anything else, has changed the output since it was labelled.
        """
        with self._open(part.name) as file, np.load(file) as stored:
            facts = _read_facts(str(stored[_FACTS]))
            counts = Counts.restored(targets, {name: stored[name] for name in stored.files})
        if facts["job"] != self.job or self._marks(part) != [facts["input"], facts["output"]]:
            message = (
                f"{part.name} has changed since it was labelled: the same command labels it again"
            )
            raise OSError(errno.EBUSY, message, str(self.output))
        return DonePart(counts, tuple(facts["warnings"]), tuple(facts["hashes"]))

    def names(self) -> list[str]:
        """Return the names of all parts that have a state, of this job or another."""
        found = self.kept.below(_PARTS)
        return sorted(name.removesuffix(_END) for name in found if name.endswith(_END))

    def remove(self, name: str) -> None:
        """Remove a labelled part and its state."""
        if self.output is not None:
            self.output.remove(name)
        self.kept.remove(_place(name))

    def _open(self, name: str) -> io.BytesIO:
        """Read what is stored of a part."""
        return io.BytesIO(self.kept.read(_place(name)))

    def _marks(self, part: PartFile) -> list[list[int | str]]:
        """Return the mark of a part as listed, and of its output as it is."""
        after = FileMark(0, 0) if self.output is None else self.output.mark(part.name)
        return [[*mark] for mark in (part.mark, after)]


def read_job(output: Store) -> Mapping[str, object] | None:
    """Read whose job an output holds, None where nothing was; what is damaged is another job's."""
    try:
        found: object = json.loads(output.read(_JOB))
    except FileNotFoundError:
        return None
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


def _place(name: str) -> str:
    """Name the file that a part's state is in."""
    return f"{_PARTS}/{name}{_END}"


def _read_facts(text: str) -> _Facts:
    """Return what is stored beside the counts."""
    return cast(_Facts, json.loads(text))
