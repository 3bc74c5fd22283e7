"""Paths as callers give them, and what to call for a block model in memory."""

from __future__ import annotations

import os

# A path as a caller gives it.
PathGiven = str | os.PathLike[str]


def model_path(model: str | os.PathLike[str], in_memory: str) -> str:
    """Return the path of a block model as text.

    Parameters
    ----------
    model : path
        What the caller gave.
    in_memory : str
        What to call for a model in memory, for the message.

    Raises
    ------
    TypeError
        If it is no path.
    """
    if isinstance(model, str | os.PathLike):
        return os.fspath(model)
    message = f"the model must be the path of a file, not {type(model).__name__}; {in_memory}"
    raise TypeError(message)
