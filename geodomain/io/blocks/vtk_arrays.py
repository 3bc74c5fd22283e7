"""Arrays of VTK data sets that PyVista cannot make or put by itself, and a data set's bytes."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def category_array(name: str, texts: Sequence[str], index: NDArray[np.int32]) -> Any:
    """Give an array of strings by the place of each one's text, -1 for none.

    A run of one text is copied, by VTK, from the longest run of it so far: setting strings one by
    one from Python takes forty times as long.
    """
    strings = string_array(name, ())
    strings.SetNumberOfValues(len(index))
    longest: dict[int, tuple[int, int]] = {}
    begins = np.flatnonzero(np.concatenate([[True], index[1:] != index[:-1]])[: len(index)])
    ends = np.append(begins[1:], len(index))
    texted = np.flatnonzero(index[begins] >= 0)
    runs = zip(begins[texted].tolist(), ends[texted].tolist(), strict=True)
    for (begin, end), place in zip(runs, index[begins[texted]].tolist(), strict=True):
        done = begin
        if place not in longest:
            strings.SetValue(begin, texts[place])
            longest[place], done = (begin, 1), begin + 1
        while done < end:
            source, length = longest[place]
            count = min(length, end - done)
            strings.InsertTuples(done, count, source, strings)
            done += count
            if done - begin > length:
                longest[place] = (begin, done - begin)
    return strings
