"""Separate program that reads files with VTK for a parent process; imports no geodomain.

Each line on standard input is a JSON request: the path, the extension, and limits of seconds and
bytes. The answer on standard output is a line of JSON, followed by the bytes of the arrays that the
line describes. The line has one of three keys: `fault` is the fault of the data set, `error` is
VTK's error message, and `data` describes the data set. If VTK crashes, this process ends, and the
parent notices.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import struct
import sys
from typing import Any

_XML, _LEGACY = "vtkIOXML", "vtkIOLegacy"
READERS = {
    ".vtk": (_LEGACY, "vtkDataSetReader"),
    ".vtp": (_XML, "vtkXMLPolyDataReader"),
    ".vtu": (_XML, "vtkXMLUnstructuredGridReader"),
    ".vti": (_XML, "vtkXMLImageDataReader"),
    ".vtr": (_XML, "vtkXMLRectilinearGridReader"),
    ".vts": (_XML, "vtkXMLStructuredGridReader"),
}
# From version 5.1 on there is one more offset than cells.
_CELLS = re.compile(rb"(CELLS|POLYGONS|TRIANGLE_STRIPS) +(?!0*[01] )[0-9]+ ", re.IGNORECASE)
_LIBRARIES = 2 << 30  # bytes of address space for VTK's libraries


def main() -> None:
    """Answer requests on standard input until the input ends."""
    sys.path[:0] = json.loads(sys.argv[1])
    _leave_no_core()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # VTK's own output must not mix with answers
    for line in sys.stdin:
        path, extension, seconds, most = json.loads(line)
        _limit_time(seconds)
        importlib.import_module(f"vtkmodules.{READERS[extension][0]}")
        _limit_memory(most)
        answer, pieces = _answer(path, extension)
        answers.write(json.dumps(answer).encode() + b"\n")
        for piece in pieces:
            answers.write(piece)
        answers.flush()
        del answer, pieces  # and the memory of the data set


def _leave_no_core() -> None:
    """Disable core dumps, if the system can."""
    if os.name == "posix":
        resource = importlib.import_module("resource")
        _lower(resource, resource.RLIMIT_CORE, 0)


def _limit_memory(most: int) -> None:
    """Limit the address space to `most` bytes more than are in use, if the system can.

    The limit is the memory that the parent may use; a file that needs more is not read.
    """
    if os.name == "posix":
        resource = importlib.import_module("resource")
        used = _LIBRARIES
        try:
            with open("/proc/self/statm", encoding="ascii") as pages:  # noqa: PTH123
                used = int(pages.read().split()[0]) * resource.getpagesize()
        except (OSError, ValueError, IndexError):
            pass
        _lower(resource, resource.RLIMIT_AS, used + most)


def _limit_time(seconds: float) -> None:
    """Limit processor time, so that the system ends this process even if the parent is gone."""
    if os.name == "posix":
        resource = importlib.import_module("resource")
        used = resource.getrusage(resource.RUSAGE_SELF)
        _lower(resource, resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + 4 * seconds))


def _lower(resource: Any, kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


def _answer(path: str, extension: str) -> tuple[dict[str, Any], list[Any]]:
    """Read a file, and return a tuple: the answer, and the bytes of the arrays that it describes.

    The answer has one of three keys: `fault`, `error` (a message of VTK), or `data`.
    """
    module, name = READERS[extension]
    core = importlib.import_module("vtkmodules.vtkCommonCore")
    complaints = core.vtkStringOutputWindow()
    errors: list[str] = []

    def note(_: object, __: str, text: str) -> None:
        errors.append(text)

    note.CallDataType = "string0"  # type: ignore[attr-defined]
    complaints.AddObserver("ErrorEvent", note)
    core.vtkOutputWindow.SetInstance(complaints)
    reader = getattr(importlib.import_module(f"vtkmodules.{module}"), name)()
    reader.SetFileName(path)
    if extension == ".vtk":
        # All arrays, not only the first of each kind.
        for what in ("Scalars", "Vectors", "Normals", "Tensors", "TCoords", "Fields"):
            getattr(reader, f"ReadAll{what}On")()
    reader.Update()
    dataset = reader.GetOutputDataObject(0)
    sound = dataset is not None and hasattr(dataset, "GetNumberOfCells")
    if sound:
        empty = extension == ".vtk" and not dataset.GetNumberOfCells() and _promises_cells(path)
        fault = "the sizes of its cells do not add up" if empty else None
        fault = fault or _fault_of_cells(dataset) or _fault_of_arrays(dataset)
        if fault:
            return {"fault": fault}, []
    if errors:
        return {"error": errors[0]}, []
    if dataset is None:
        return {"error": "it contains no data set"}, []
    if not sound:
        return {"data": {"class": dataset.GetClassName()}}, []
    pieces: list[Any] = []
    try:
        return {"data": _described(dataset, pieces)}, pieces
    except _OtherArrayError as wrong:
        return {"error": str(wrong)}, []


def _promises_cells(path: str) -> bool:
    """Return whether a legacy file declares cells.

    VTK reads no cells, and reports no error, if the sizes of the cells are wrong.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        return any(map(_CELLS.match, file))


def _fault_of_cells(dataset: Any) -> str | None:
    """Return the fault if cells refer to missing points, or counts of a data set disagree."""
    points = dataset.GetNumberOfPoints()
    parts: tuple[Any, ...]
    if dataset.IsA("vtkPolyData"):
        parts = (dataset.GetVerts(), dataset.GetLines(), dataset.GetPolys(), dataset.GetStrips())
    elif dataset.IsA("vtkUnstructuredGrid"):
        parts = (dataset.GetCells(),)
        kinds = _types_of_cells(dataset)
        if kinds is not None and kinds.GetNumberOfTuples() != parts[0].GetNumberOfCells():
            return "its number of cell types differs from its number of cells"
    elif dataset.IsA("vtkStructuredGrid"):
        nx, ny, nz = _shape(dataset)
        return None if nx * ny * nz == points else "it has too few points"
    elif dataset.IsA("vtkRectilinearGrid"):
        axes = (dataset.GetXCoordinates(), dataset.GetYCoordinates(), dataset.GetZCoordinates())
        lengths = tuple(0 if axis is None else axis.GetNumberOfTuples() for axis in axes)
        return None if lengths == _shape(dataset) else "an axis has too few coordinates"
    else:
        return None
    for cells in parts:
        if cells is None or cells.GetNumberOfCells() == 0:
            continue
        if not cells.IsValid():
            return "the offsets of its cells do not fit their corners"
        low, high = cells.GetConnectivityArray().GetRange()
        if cells.GetNumberOfConnectivityIds() and (low < 0 or high >= points):
            worst = low if low < 0 else high
            return f"a cell refers to point {worst:.0f}, but there are {points:,}, counted from 0"
    return None


def _types_of_cells(dataset: Any) -> Any:
    """Return the array of cell types, which VTK 9.6 returns from a different method."""
    try:
        kinds = dataset.GetCellTypes()
    except (AttributeError, TypeError):
        kinds = None
    return dataset.GetCellTypesArray() if kinds is None else kinds


def _shape(dataset: Any) -> tuple[int, int, int]:
    """Return the number of points along each axis of a lattice."""
    extent = dataset.GetExtent()
    return (extent[1] - extent[0] + 1, extent[3] - extent[2] + 1, extent[5] - extent[4] + 1)


def _fault_of_arrays(dataset: Any) -> str | None:
    """Return the fault if an array does not have one value per point or cell."""
    for data, rows in (
        (dataset.GetPointData(), dataset.GetNumberOfPoints()),
        (dataset.GetCellData(), dataset.GetNumberOfCells()),
    ):
        for i in range(data.GetNumberOfArrays()):
            array = data.GetAbstractArray(i)
            if array.GetNumberOfTuples() != rows:
                count = array.GetNumberOfTuples()
                return (
                    f"its array {array.GetName()!r} has {count:,} values for {rows:,} points or "
                    "cells"
                )
    return None


# --- The content of a data set as JSON and bytes.


def _described(dataset: Any, pieces: list[Any]) -> dict[str, Any]:
    """Return the description of a data set; append the bytes of its arrays to `pieces`."""
    data: dict[str, Any] = {"class": dataset.GetClassName()}
    if dataset.IsA("vtkImageData"):
        matrix = dataset.GetDirectionMatrix()
        data["origin"], data["spacing"] = dataset.GetOrigin(), dataset.GetSpacing()
        data["direction"] = [matrix.GetElement(i, j) for i in range(3) for j in range(3)]
    elif dataset.IsA("vtkRectilinearGrid"):
        axes = (dataset.GetXCoordinates(), dataset.GetYCoordinates(), dataset.GetZCoordinates())
        data["axes"] = [_array(axis, pieces) for axis in axes]
    elif dataset.GetPoints() is not None:
        data["points"] = _array(dataset.GetPoints().GetData(), pieces)
    if hasattr(dataset, "GetExtent"):
        data["extent"] = dataset.GetExtent()
    if dataset.IsA("vtkPolyData"):
        for kind in ("Verts", "Lines", "Polys", "Strips"):
            data[kind] = _cells(getattr(dataset, f"Get{kind}")(), pieces)
    elif dataset.IsA("vtkUnstructuredGrid"):
        data["cells"] = _cells(dataset.GetCells(), pieces)
        kinds = _types_of_cells(dataset)
        data["types"] = None if kinds is None else _array(kinds, pieces)
    for kind in ("Point", "Cell", "Field"):
        held = getattr(dataset, f"Get{kind}Data")()
        data[kind] = [
            _array(held.GetAbstractArray(i), pieces) for i in range(held.GetNumberOfArrays())
        ]
        if kind != "Field":
            for i, array in enumerate(data[kind]):
                array["attribute"] = held.IsArrayAnAttribute(i)
    information, step = dataset.GetInformation(), dataset.DATA_TIME_STEP()
    data["time"] = information.Get(step) if information.Has(step) else None
    return data


def _cells(cells: Any, pieces: list[Any]) -> list[Any] | None:
    """Return the descriptions of two arrays, offsets and corners; None if there are no cells."""
    if cells is None or not cells.GetNumberOfCells():
        return None
    return [_array(cells.GetOffsetsArray(), pieces), _array(cells.GetConnectivityArray(), pieces)]


class _OtherArrayError(Exception):
    """Raised for an array whose values have several types."""


_BIT, _STRING = 1, 13  # VTK's type numbers


def _array(array: Any, pieces: list[Any]) -> dict[str, Any]:
    """Return the description of an array; append its bytes to `pieces`.

    The bytes are the numbers as in memory, or the lengths of all texts and then the texts.
    """
    kind, parts = array.GetDataType(), array.GetNumberOfComponents()
    rows = array.GetNumberOfTuples()
    if kind == _STRING:
        texts = [array.GetValue(i) for i in range(array.GetNumberOfValues())]
        raw = [text if isinstance(text, bytes) else text.encode() for text in texts]
        lengths = struct.pack(f"<{len(raw)}Q", *map(len, raw))
        pieces += [lengths, b"".join(raw)]
        size = len(lengths) + len(pieces[-1])
    elif not array.IsA("vtkDataArray"):
        message = f"its array {array.GetName()!r} holds neither numbers nor text"
        raise _OtherArrayError(message)
    else:
        count = rows * parts
        size = (count + 7) // 8 if kind == _BIT else count * array.GetDataTypeSize()
        if size:
            if not array.HasStandardMemoryLayout():
                plain = array.CreateDataArray(kind)
                plain.DeepCopy(array)
                array = plain
            pieces.append(memoryview(array).cast("B")[:size])
    made: dict[str, Any] = {"name": array.GetName(), "type": kind, "parts": parts, "rows": rows}
    made["bytes"] = size
    if array.HasAComponentName():
        made["components"] = [array.GetComponentName(i) for i in range(parts)]
    made["keys"] = _keys(array)
    table = array.GetLookupTable() if kind != _STRING else None
    if table is not None and table.IsA("vtkLookupTable"):
        made["table"] = _array(table.GetTable(), pieces)
    return made


def _keys(array: Any) -> list[Any]:
    """Return the metadata of an array as a list: type, location, name and value of each key."""
    if not array.HasInformation():
        return []
    core = importlib.import_module("vtkmodules.vtkCommonCore")
    information, entries = array.GetInformation(), []
    steps = core.vtkInformationIterator()
    steps.SetInformation(information)
    steps.InitTraversal()
    while not steps.IsDoneWithTraversal():
        key = steps.GetCurrentKey()
        kind = key.GetClassName()
        if kind in _KEYS:
            value = information.Get(key)
            entries.append([kind, key.GetLocation(), key.GetName(), value])
        elif kind in _VECTORS:
            count = key.Length(information)
            values = [information.Get(key, i) for i in range(count)]
            entries.append([kind, key.GetLocation(), key.GetName(), values])
        steps.GoToNextItem()
    return entries


_KEYS = tuple(
    f"vtkInformation{kind}Key" for kind in ("Double", "IdType", "Integer", "String", "UnsignedLong")
)
_VECTORS = tuple(f"vtkInformation{kind}VectorKey" for kind in ("Double", "Integer", "String"))


if __name__ == "__main__":
    main()
