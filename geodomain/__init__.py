"""Label geological block models: which blocks lie inside which wireframe, exactly."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module signal takes long
import sys

# As a program, an interrupt ends it quietly from the first line on, until `__main__` minds it.
_CALLED = sys.argv[0] if getattr(sys, "argv", None) else ""
_PROGRAM = (_CALLED == "-m" and sys.orig_argv[1:3] == ["-m", "geodomain"]) or (
    _CALLED.replace("\\", "/").rpartition("/")[2] in ("geodomain", "geodomain.exe")
)
if _PROGRAM and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import importlib  # noqa: E402
import os  # noqa: E402

TYPE_CHECKING = False  # typing and pathlib take most of the time before the command minds a signal
if TYPE_CHECKING:
    from geodomain import synthetic as synthetic
    from geodomain.blocks.merging import merge_file
    from geodomain.blocks.new_model import NewModel, model_file
    from geodomain.blocks.settings import MergeSummary, SubblockSummary
    from geodomain.blocks.splitting import subblock_file
    from geodomain.compute.device_arrays import DeviceArray, pinned_empty
    from geodomain.compute.inventory import use_devices
    from geodomain.datasets.labelling import label_dataset
    from geodomain.domains.domain import Domain
    from geodomain.domains.order import Domains
    from geodomain.domains.stack import Stack
    from geodomain.domains.toml import read_domains
    from geodomain.drillholes.composites import Composites, composite
    from geodomain.drillholes.crossings import HoleCrossings
    from geodomain.drillholes.drillholes import Drillholes
    from geodomain.drillholes.files import composite_file, crossings_file
    from geodomain.drillholes.flag_files import FlagSummary, flag, flag_file
    from geodomain.errors import (
        DeviceError,
        DomainError,
        GeodomainError,
        GeodomainWarning,
        MeshError,
        PointError,
        TableError,
    )
    from geodomain.formats.conversion import convert_blocks
    from geodomain.formats.wireframes import convert_file, read_mesh, read_meshes
    from geodomain.inputs import as_mesh
    from geodomain.labelling.arrays import label_grid, label_lattice, label_points
    from geodomain.labelling.files import label_file
    from geodomain.labelling.frames import label_blocks, proportions_blocks
    from geodomain.labelling.summary import Summary
    from geodomain.mesh.check import MeshReport
    from geodomain.mesh.mesh import Mesh
    from geodomain.mesh.repair import FillResult, Hole, WeldResult
    from geodomain.query.contains import (
        contains,
        contains_lattice,
        count_crossings,
        generalised_winding,
        on_surface,
        winding_numbers,
    )
    from geodomain.query.first_solid import label_codes
    from geodomain.query.locator import PointLocator, Winding
    from geodomain.query.segment_files import IntersectionSummary, intersect_file
    from geodomain.query.segments import Hits, SegmentIntersector, Segments, intersect, sort_rays
    from geodomain.query.surfaces import sides
    from geodomain.reporting.compare import Comparison, compare_files
    from geodomain.reporting.inspect import Inspection, inspect_file
    from geodomain.reporting.notebook import view
    from geodomain.reporting.plot import plot_sections
    from geodomain.reporting.report_file import Report, report_file
    from geodomain.volumes.block_shares import proportions
    from geodomain.volumes.distance import Nearest, distances, nearest
    from geodomain.volumes.distance_file import DistanceSummary, distance_file
    from geodomain.volumes.lattice_shares import proportions_lattice
    from geodomain.volumes.tonnes import tonnes, tonnes_file
    from geodomain.volumes.tonnes_table import Tonnes
    from geodomain.wireframes import MeshCheck, check, check_file, fill_holes, weld, write_mesh

    __version__: str

if __name__ != "geodomain":  # a second copy, which the path below would allow in a checkout
    _MESSAGE = f"No module named {__name__!r}: import geodomain"
    raise ModuleNotFoundError(_MESSAGE, name=__name__)

# In a checkout the commands and the kernels lie beside the package, once installed within it.
_CHECKOUT = __path__[0][: -len("/geodomain")]
_IN_CHECKOUT = os.access(f"{_CHECKOUT}/kernels/CMakeLists.txt", os.F_OK)
if _IN_CHECKOUT and _CHECKOUT not in __path__:
    __path__.append(_CHECKOUT)

# Where each public name lives. It is imported when it is first used, so that
# `import geodomain` costs nothing and a script pays for what it touches.
_HOME = {
    "Comparison": "reporting.compare",
    "Composites": "drillholes.composites",
    "DeviceArray": "compute.device_arrays",
    "DeviceError": "errors",
    "DistanceSummary": "volumes.distance_file",
    "Domain": "domains.domain",
    "DomainError": "errors",
    "Domains": "domains.order",
    "Drillholes": "drillholes.drillholes",
    "FillResult": "mesh.repair",
    "FlagSummary": "drillholes.flag_files",
    "GeodomainError": "errors",
    "GeodomainWarning": "errors",
    "Hits": "query.segments",
    "Hole": "mesh.repair",
    "HoleCrossings": "drillholes.crossings",
    "Inspection": "reporting.inspect",
    "IntersectionSummary": "query.segment_files",
    "Mesh": "mesh.mesh",
    "MeshCheck": "wireframes",
    "MeshError": "errors",
    "MergeSummary": "blocks.settings",
    "MeshReport": "mesh.check",
    "Nearest": "volumes.distance",
    "NewModel": "blocks.new_model",
    "PointError": "errors",
    "PointLocator": "query.locator",
    "Stack": "domains.stack",
    "SubblockSummary": "blocks.settings",
    "Summary": "labelling.summary",
    "SegmentIntersector": "query.segments",
    "Segments": "query.segments",
    "TableError": "errors",
    "Tonnes": "volumes.tonnes_table",
    "WeldResult": "mesh.repair",
    "check_file": "wireframes",
    "Winding": "query.locator",
    "as_mesh": "inputs",
    "check": "wireframes",
    "compare_files": "reporting.compare",
    "composite": "drillholes.composites",
    "composite_file": "drillholes.files",
    "contains": "query.contains",
    "contains_lattice": "query.contains",
    "convert_blocks": "formats.conversion",
    "convert_file": "formats.wireframes",
    "count_crossings": "query.contains",
    "crossings_file": "drillholes.files",
    "distance_file": "volumes.distance_file",
    "distances": "volumes.distance",
    "fill_holes": "wireframes",
    "flag": "drillholes.flag_files",
    "flag_file": "drillholes.flag_files",
    "generalised_winding": "query.contains",
    "label_blocks": "labelling.frames",
    "inspect_file": "reporting.inspect",
    "intersect": "query.segments",
    "intersect_file": "query.segment_files",
    "label_grid": "labelling.arrays",
    "label_lattice": "labelling.arrays",
    "label_codes": "query.first_solid",
    "label_dataset": "datasets.labelling",
    "label_file": "labelling.files",
    "label_points": "labelling.arrays",
    "merge_file": "blocks.merging",
    "model_file": "blocks.new_model",
    "nearest": "volumes.distance",
    "on_surface": "query.contains",
    "plot_sections": "reporting.plot",
    "pinned_empty": "compute.device_arrays",
    "proportions": "volumes.block_shares",
    "proportions_blocks": "labelling.frames",
    "proportions_lattice": "volumes.lattice_shares",
    "read_domains": "domains.toml",
    "read_mesh": "formats.wireframes",
    "read_meshes": "formats.wireframes",
    "Report": "reporting.report_file",
    "report_file": "reporting.report_file",
    "view": "reporting.notebook",
    "sides": "query.surfaces",
    "sort_rays": "query.segments",
    "subblock_file": "blocks.splitting",
    "tonnes": "volumes.tonnes",
    "tonnes_file": "volumes.tonnes",
    "use_devices": "compute.inventory",
    "weld": "wireframes",
    "winding_numbers": "query.contains",
    "write_mesh": "wireframes",
}

__all__ = [
    "Comparison",
    "Composites",
    "DeviceArray",
    "DeviceError",
    "DistanceSummary",
    "Domain",
    "DomainError",
    "Domains",
    "Drillholes",
    "FillResult",
    "FlagSummary",
    "GeodomainError",
    "GeodomainWarning",
    "Hits",
    "Hole",
    "HoleCrossings",
    "Inspection",
    "IntersectionSummary",
    "MergeSummary",
    "Mesh",
    "MeshCheck",
    "MeshError",
    "MeshReport",
    "Nearest",
    "NewModel",
    "PointError",
    "PointLocator",
    "Report",
    "SegmentIntersector",
    "Segments",
    "Stack",
    "SubblockSummary",
    "Summary",
    "TableError",
    "Tonnes",
    "WeldResult",
    "Winding",
    "as_mesh",
    "check",
    "check_file",
    "compare_files",
    "composite",
    "composite_file",
    "contains",
    "contains_lattice",
    "convert_blocks",
    "convert_file",
    "count_crossings",
    "crossings_file",
    "distance_file",
    "distances",
    "fill_holes",
    "flag",
    "flag_file",
    "generalised_winding",
    "inspect_file",
    "intersect",
    "intersect_file",
    "label_blocks",
    "label_codes",
    "label_dataset",
    "label_file",
    "label_grid",
    "label_lattice",
    "label_points",
    "merge_file",
    "model_file",
    "nearest",
    "on_surface",
    "pinned_empty",
    "plot_sections",
    "proportions",
    "proportions_blocks",
    "proportions_lattice",
    "read_domains",
    "read_mesh",
    "read_meshes",
    "report_file",
    "sides",
    "sort_rays",
    "subblock_file",
    "tonnes",
    "tonnes_file",
    "use_devices",
    "view",
    "weld",
    "winding_numbers",
    "write_mesh",
]


if not TYPE_CHECKING:  # to a type checker a name that is not above is an error

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("geodomain")
        if name == "synthetic":
            return importlib.import_module("geodomain.synthetic")
        if name not in _HOME:
            message = f"module 'geodomain' has no attribute {name!r}"
            raise AttributeError(message)
        value = getattr(importlib.import_module(f"geodomain.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
