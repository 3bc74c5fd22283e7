"""Where a command may write: what is wrong with a place is said before there is any work."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path


def require_folder(output: Path) -> None:
    """Refuse an output in a folder that is not there."""
    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder is not there", str(output))


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse an output that would take the place of an input."""
    from geodomain.errors import TableError

    read = [path for path in inputs if path.exists()]
    for output in outputs:
        for path in read:
            if output.exists() and output.samefile(path):
                message = f"{output} is the input {path}; name another output"
                raise TableError(message)
