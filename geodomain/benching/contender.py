"""The contenders of a benchmark: ways to test segments against a mesh."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]
Answers = NDArray[np.bool_]
Ask = Callable[[], Answers]
Load = Callable[[Floats, Floats], Ask]


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class Contender:
    """One way to tell which segments cross a mesh.

    Attributes
    ----------
    name : str
        Library and function, or our strategy.
    prepare : callable
        From a mesh, builds what is searched, and returns what loads starts and ends,
        shape (n, 3); that returns what answers, as often as it is asked, (n,) bool.
    modules : tuple of str
        What must be installed.
    unfit : callable
        Says in a few words why it cannot run here for another reason, or nothing.
    """

    name: str
    prepare: Callable[[Mesh], Load]
    modules: tuple[str, ...] = ()
    unfit: Callable[[], str] = _nothing

    def lacking(self) -> str:
        """Return in a few words why it cannot run here; empty if it can."""
        for name in self.modules:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                return f"not installed: {error.name or name}"
            except (ImportError, OSError) as error:
                return f"{name} does not load: {str(error).split(':')[0][:40]}"
        return self.unfit()
