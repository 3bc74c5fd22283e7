"""What an output folder knows of its parts: whose job it is, and the counts of those done."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict, cast

import numpy as np

from geodomain.datasets.parts import FileMark, PartFile
from geodomain.domains.order import DomainOrLayer
from geodomain.io.files.streams import replaced
from geodomain.labelling.counts import Counts
from geodomain.labelling.run_record import FileHash

# Readers of datasets pass over names with an underscore.
STATE_FOLDER = "_geodomain"
_END, _FACTS = ".npz", "facts"


class _Facts(TypedDict):
    """What is stored of a part beside its counts."""

    job: str
    input: list[int]
    output: list[int]
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
    folder : Path
        Where they are.
    job : str
        The job's hash; states of other jobs are none.
    output : Path, optional
        Where labelled parts are; without one nothing but the counts is kept.
    """

    def __init__(self, folder: Path, job: str, output: Path | None) -> None:
        self.folder, self.job, self.output = folder, job, output

    def absolute(self) -> States:
        """Return the states with paths that hold in any folder."""
        output = None if self.output is None else self.output.absolute()
        return States(self.folder.absolute(), self.job, output)

    def target(self, part: PartFile) -> Path | None:
        """Return where a labelled part is."""
        return None if self.output is None else self.output / part.name

    def has(self, part: PartFile) -> bool:
        """Return whether a part is done, and neither its input nor its output has changed."""
        try:
            with self._place(part.name).open("rb") as file, np.load(file) as stored:
                facts = _read_facts(str(stored[_FACTS]))
            return facts["job"] == self.job and self._marks(part) == [
                facts["input"],
                facts["output"],
            ]
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            return False

    def write(self, part: PartFile, done: DonePart) -> None:
        """Store that a part is done, once its output is in its place."""
        place = self._place(part.name)
        place.parent.mkdir(parents=True, exist_ok=True)
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
        with replaced(place) as file:
            file.write(buffer.getbuffer())

    def read(self, part: PartFile, targets: Sequence[DomainOrLayer]) -> DonePart:
        """Return what is known of a part that is done."""
        with self._place(part.name).open("rb") as file, np.load(file) as stored:
            facts = _read_facts(str(stored[_FACTS]))
            counts = Counts.restored(targets, {name: stored[name] for name in stored.files})
        return DonePart(counts, tuple(facts["warnings"]), tuple(facts["hashes"]))

    def names(self) -> list[str]:
        """Return the names of all parts that have a state, of this job or another."""
        found = (path.relative_to(self.folder) for path in self.folder.rglob(f"*{_END}"))
        return sorted(path.as_posix().removesuffix(_END) for path in found)

    def remove(self, name: str) -> None:
        """Remove a labelled part and its state."""
        if self.output is not None:
            (self.output / name).unlink(missing_ok=True)
        self._place(name).unlink(missing_ok=True)

    def _place(self, name: str) -> Path:
        return self.folder / f"{name}{_END}"

    def _marks(self, part: PartFile) -> list[list[int]]:
        """Return the size and time of a part as listed, and of its output as it is."""
        target = self.target(part)
        after = FileMark(0, 0) if target is None else FileMark.of(target)
        return [[*asdict(mark).values()] for mark in (part.mark, after)]


def _read_facts(text: str) -> _Facts:
    """Return what is stored beside the counts."""
    return cast(_Facts, json.loads(text))
