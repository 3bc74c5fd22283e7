"""Arrays of VTK data sets that PyVista cannot make or put by itself, and a data set's bytes."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from geodomain.io.meshes.vtk import vtk_errors
from geodomain.io.meshes.vtk_encoding import encode


def put(data: Any, array: Any) -> None:
    """Add an array, or have it take the place of another.

    One that was, say, the active scalars may not be so as strings: VTK's writers crash on it.
    """
    for attribute in range(data.NUM_ATTRIBUTES):
        active = data.GetAbstractAttribute(attribute)
        if active is not None and active.GetName() == array.GetName():
            data.SetActiveAttribute(-1, attribute)
    data.AddArray(array)


def encoded(dataset: Any, path: str) -> bytes:
    """Give the bytes of a file, or say why VTK could not."""
    try:
        with vtk_errors():
            return encode(dataset, Path(path).suffix.lower())
    except RuntimeError as error:
        raise OSError(errno.EIO, f"it cannot be written ({error})", path) from error


def string_array(name: str, texts: Iterable[str]) -> Any:
    """Give an array of strings, by VTK itself: PyVista refuses text that is not ASCII."""
    from vtkmodules.vtkCommonCore import vtkStringArray

    strings = vtkStringArray()
    strings.SetName(name)
    add = strings.InsertNextValue
    for text in texts:
        add(text)
    return strings
