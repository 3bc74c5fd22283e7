"""The folder that a labelled dataset goes to: where it may be, and whose job it holds."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from geodomain.datasets.job import hash_of
from geodomain.datasets.parts import Dataset, PartFile
from geodomain.datasets.states import STATE_FOLDER, States
from geodomain.errors import TableError
from geodomain.io.files.streams import replaced

_JOB = "job.json"
# What two jobs may differ in, by its key, in words.
_DIFFERENCES = {
    "dataset": "its dataset is {}",
    "domains": "its domains are others",
    "options": "its options are others",
    "version": "it is by geodomain {}",
    "format": "it is by another version of geodomain",
}


def require_output_folder(dataset: Dataset, output: Path) -> None:
    """Refuse an output that cannot be a folder, or whose parts would be parts of the dataset.

    Raises
    ------
    TableError, FileNotFoundError
    """
    if output.exists() and not output.is_dir():
        message = f"{output} is a file, and a labelled dataset is a folder: name another output"
        raise TableError(message)
    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(output.parent))
    base, place = dataset.base.resolve(), output.resolve()
    # A pattern without wildcards in folders names no file below the base's own folder.
    flat = bool(dataset.pattern) and "/" not in dataset.pattern
    inside = base in place.parents and not flat
    if base == place or inside or place in base.parents:
        where = "is" if base == place else "is inside" if inside else "holds"
        message = (
            f"the output {output} {where} the dataset's folder {dataset.base}: name a folder "
            "beside it"
        )
        raise TableError(message)


def open_output(
    output: Path, job: Mapping[str, object], parts: Sequence[PartFile], *, overwrite: bool
) -> States:
    """Open a new folder, or one that the same job began; refuse any other.

    Parameters
    ----------
    output : Path
        The folder; its own folder is there.
    job : mapping
        What is to be done: see `describe_job`.
    parts : sequence of PartFile
        The parts of the dataset.
    overwrite : bool
        Whether parts that another job labelled, or that the dataset has no more, are removed.

    Raises
    ------
    TableError
    """
    states = States(output / STATE_FOLDER / "parts", hash_of(job), output)
    place = output / STATE_FOLDER / _JOB
    if place.is_file():
        done = _read(place)
        names = {part.name for part in parts}
        other = done.get("job") != states.job
        stale = [name for name in states.names() if other or name not in names]
        if other and not overwrite:
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
    elif output.is_dir() and any(path.name != STATE_FOLDER for path in output.iterdir()):
        message = (
            f"{output} is not empty, and is no output of this command: name a folder that is new "
            "or empty"
        )
        raise TableError(message)
    place.parent.mkdir(parents=True, exist_ok=True)
    with replaced(place) as file:
        file.write((json.dumps({"job": states.job, **job}, indent=2) + "\n").encode())
    return states


def _require_within(name: str, output: Path) -> None:
    """Refuse to remove what is not in the output."""
    if ".." in PurePosixPath(name).parts:
        message = f"{output / STATE_FOLDER} names {name}, which is not in {output}"
        raise TableError(message)


def _read(place: Path) -> Mapping[str, object]:
    """Read what was done; what cannot be read is another job's."""
    try:
        found: object = json.loads(place.read_bytes())
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


def _differ(done: Mapping[str, object], job: Mapping[str, object]) -> str:
    """Say in what another job differs."""
    said = [
        words.format(done.get(key))
        for key, words in _DIFFERENCES.items()
        if done.get(key) != job[key]
    ]
    return said[0] if said else "its description cannot be read"
