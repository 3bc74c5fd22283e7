"""A program of its own: reads files by VTK for a parent that must not crash; imports no geodomain.

Each line on standard input is a request, JSON: the path, the extension, the seconds allowed. Each
line on standard output is the answer, JSON: what is wrong with the data set, or null. What makes
VTK crash ends this process, which says enough.
"""

from __future__ import annotations

import importlib
import json
import os
import re
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
    ".glb": ("vtkIOGeometry", "vtkGLTFReader"),
}
# From version 5.1 on there is an offset more than there are cells.
_CELLS = re.compile(rb"(CELLS|POLYGONS|TRIANGLE_STRIPS) +(?!0*[01] )[0-9]+ ", re.IGNORECASE)
_LIBRARIES = 2 << 30  # bytes of addresses that VTK's libraries take


def main() -> None:
    """Answer until the parent has no more requests."""
    sys.path[:0] = json.loads(sys.argv[1])
    _leave_no_core()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what VTK prints is no answer
    for line in sys.stdin:
        path, extension, seconds, most = json.loads(line)
        _limit_time(seconds)
        importlib.import_module(f"vtkmodules.{READERS[extension][0]}")
        _limit_memory(most)
        print(json.dumps(_fault(path, extension)), file=answers, flush=True)


def _leave_no_core() -> None:
    """Have a crash leave no copy of the memory, where the system can."""
    if os.name == "posix":
        resource = importlib.import_module("resource")
        _lower(resource, resource.RLIMIT_CORE, 0)


def _limit_memory(most: int) -> None:
    """Allow so many bytes of addresses more than are taken, where the system can.

    They are what the parent may take: what it cannot read without is not read here.
    """
    if os.name == "posix":
        resource = importlib.import_module("resource")
        taken = _LIBRARIES
        try:
            with open("/proc/self/statm", encoding="ascii") as pages:  # noqa: PTH123
                taken = int(pages.read().split()[0]) * resource.getpagesize()
        except (OSError, ValueError, IndexError):
            pass
        _lower(resource, resource.RLIMIT_AS, taken + most)


def _limit_time(seconds: float) -> None:
    """Have the system end this process if the parent is no longer there to do so."""
    if os.name == "posix":
        resource = importlib.import_module("resource")
        used = resource.getrusage(resource.RUSAGE_SELF)
        _lower(resource, resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + 4 * seconds))


def _lower(resource: Any, kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


def _fault(path: str, extension: str) -> str | None:
    """Read a file, and say what would make VTK read or write outside its arrays later."""
    module, name = READERS[extension]
    reader = getattr(importlib.import_module(f"vtkmodules.{module}"), name)()
    reader.SetFileName(path)
    if extension == ".vtk":
        # As PyVista does: all arrays, not the first of each kind.
        for what in ("Scalars", "Vectors", "Normals", "Tensors", "TCoords", "Fields"):
            getattr(reader, f"ReadAll{what}On")()
    reader.Update()
    dataset = reader.GetOutput()
    if dataset is None or not hasattr(dataset, "GetNumberOfCells"):
        return None  # nothing was read, or a collection, which is refused by its type
    if extension == ".vtk" and not dataset.GetNumberOfCells() and _promises_cells(path):
        return "the sizes of its cells do not sum up"
    return _fault_of_cells(dataset) or _fault_of_arrays(dataset)


def _promises_cells(path: str) -> bool:
    """Tell whether a legacy file declares cells; where their sizes are wrong, VTK says nothing."""
    with open(path, "rb") as file:  # noqa: PTH123
        return any(map(_CELLS.match, file))


def _fault_of_cells(dataset: Any) -> str | None:
    """Say where cells name points that are not there."""
    points = dataset.GetNumberOfPoints()
    parts: tuple[Any, ...]
    if dataset.IsA("vtkPolyData"):
        parts = (dataset.GetVerts(), dataset.GetLines(), dataset.GetPolys(), dataset.GetStrips())
    elif dataset.IsA("vtkUnstructuredGrid"):
        parts = (dataset.GetCells(),)
        kinds = _types_of_cells(dataset)
        if kinds is not None and kinds.GetNumberOfTuples() != parts[0].GetNumberOfCells():
            return "it has not as many types as cells"
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
    """Return the type of each cell; VTK 9.6 renamed what gives it to a name that took an array."""
    try:
        kinds = dataset.GetCellTypes()
    except (AttributeError, TypeError):
        kinds = None
    return dataset.GetCellTypesArray() if kinds is None else kinds


def _shape(dataset: Any) -> tuple[int, int, int]:
    """Count the points along each axis of a lattice."""
    extent = dataset.GetExtent()
    return (extent[1] - extent[0] + 1, extent[3] - extent[2] + 1, extent[5] - extent[4] + 1)


def _fault_of_arrays(dataset: Any) -> str | None:
    """Say which array has not a value for each point or cell."""
    for data, rows in (
        (dataset.GetPointData(), dataset.GetNumberOfPoints()),
        (dataset.GetCellData(), dataset.GetNumberOfCells()),
    ):
        for i in range(data.GetNumberOfArrays()):
            array = data.GetAbstractArray(i)
            if array.GetNumberOfTuples() != rows:
                found = array.GetNumberOfTuples()
                return f"its array {array.GetName()!r} has {found:,} values for {rows:,} places"
    return None


if __name__ == "__main__":
    main()
