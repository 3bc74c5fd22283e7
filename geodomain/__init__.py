"""Label geological block models: which blocks lie inside which wireframe, exactly."""

from __future__ import annotations

import importlib
import os

TYPE_CHECKING = False  # typing and pathlib take most of the time before the command minds a signal
if TYPE_CHECKING:
    from geodomain import synthetic as synthetic
    from geodomain.backends.chosen_devices import use_devices
    from geodomain.backends.device_arrays import DeviceArray
    from geodomain.backends.pinned import pinned_empty
    from geodomain.datasets.labelling import label_dataset
    from geodomain.domains.domain import Domain
    from geodomain.domains.order import Domains
    from geodomain.domains.stack import Stack
    from geodomain.domains.toml import read_domains
    from geodomain.drillholes.composite_files import composite_file
    from geodomain.drillholes.composites import Composites
    from geodomain.drillholes.compositing import composite
    from geodomain.drillholes.crossing_files import crossings_file
    from geodomain.drillholes.crossings import HoleCrossings
    from geodomain.drillholes.drillholes import Drillholes
    from geodomain.drillholes.flag_files import flag_file
    from geodomain.drillholes.flag_frames import flag
    from geodomain.drillholes.flag_summary import FlagSummary
    from geodomain.errors import (
        DeviceError,
        DomainError,
        GeodomainError,
        GeodomainWarning,
        MeshError,
        PointError,
        TableError,
    )
    from geodomain.inputs.meshes import as_mesh
    from geodomain.inputs.wireframes import check, fill_holes, weld, write_mesh
    from geodomain.inspection.comparison import Comparison, compare_files
    from geodomain.inspection.file import inspect_file
    from geodomain.inspection.mesh_file import MeshCheck, check_file
    from geodomain.inspection.report import Inspection
    from geodomain.io.blocks.conversion import convert_blocks
    from geodomain.io.meshes.conversion import convert_file
    from geodomain.io.meshes.reading import read_mesh, read_meshes
    from geodomain.labelling.block_proportions import proportions_blocks
    from geodomain.labelling.dataframe import label_blocks
    from geodomain.labelling.file import label_file
    from geodomain.labelling.lattices import label_grid, label_lattice
    from geodomain.labelling.points import label_points
    from geodomain.labelling.summary import Summary
    from geodomain.mesh.faults.filling import FillResult, Hole
    from geodomain.mesh.faults.report import MeshReport
    from geodomain.mesh.faults.welding import WeldResult
    from geodomain.mesh.mesh import Mesh
    from geodomain.modelling.file import model_file
    from geodomain.modelling.new_model import NewModel
    from geodomain.query.contains import contains, contains_lattice
    from geodomain.query.counts import (
        count_crossings,
        generalised_winding,
        on_surface,
        winding_numbers,
    )
    from geodomain.query.first_solid import label_codes
    from geodomain.query.locator import PointLocator, Winding
    from geodomain.query.surfaces import sides
    from geodomain.report.file import Report, report_file
    from geodomain.report.notebook import view
    from geodomain.sections.file import plot_sections
    from geodomain.segments.files import intersect_file
    from geodomain.segments.hits import Hits
    from geodomain.segments.intersect import intersect
    from geodomain.segments.intersector import SegmentIntersector
    from geodomain.segments.segments import Segments, sort_rays
    from geodomain.segments.summary import IntersectionSummary
    from geodomain.subblocks.file import subblock_file
    from geodomain.subblocks.merged_file import merge_file
    from geodomain.subblocks.summary import MergeSummary, SubblockSummary
    from geodomain.volumes.block_shares import proportions
    from geodomain.volumes.distance import Nearest, distances, nearest
    from geodomain.volumes.distance_file import distance_file
    from geodomain.volumes.distance_summary import DistanceSummary
    from geodomain.volumes.lattice_shares import proportions_lattice
    from geodomain.volumes.tonnes import tonnes, tonnes_file
    from geodomain.volumes.tonnes_table import Tonnes

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
    "Comparison": "inspection.comparison",
    "Composites": "drillholes.composites",
    "DeviceArray": "backends.device_arrays",
    "DeviceError": "errors",
    "DistanceSummary": "volumes.distance_summary",
    "Domain": "domains.domain",
    "DomainError": "errors",
    "Domains": "domains.order",
    "Drillholes": "drillholes.drillholes",
    "FillResult": "mesh.faults.filling",
    "FlagSummary": "drillholes.flag_summary",
    "GeodomainError": "errors",
    "GeodomainWarning": "errors",
    "Hits": "segments.hits",
    "Hole": "mesh.faults.filling",
    "HoleCrossings": "drillholes.crossings",
    "Inspection": "inspection.report",
    "IntersectionSummary": "segments.summary",
    "Mesh": "mesh.mesh",
    "MeshCheck": "inspection.mesh_file",
    "MeshError": "errors",
    "MergeSummary": "subblocks.summary",
    "MeshReport": "mesh.faults.report",
    "Nearest": "volumes.distance",
    "NewModel": "modelling.new_model",
    "PointError": "errors",
    "PointLocator": "query.locator",
    "Stack": "domains.stack",
    "SubblockSummary": "subblocks.summary",
    "Summary": "labelling.summary",
    "SegmentIntersector": "segments.intersector",
    "Segments": "segments.segments",
    "TableError": "errors",
    "Tonnes": "volumes.tonnes_table",
    "WeldResult": "mesh.faults.welding",
    "check_file": "inspection.mesh_file",
    "Winding": "query.locator",
    "as_mesh": "inputs.meshes",
    "check": "inputs.wireframes",
    "compare_files": "inspection.comparison",
    "composite": "drillholes.compositing",
    "composite_file": "drillholes.composite_files",
    "contains": "query.contains",
    "contains_lattice": "query.contains",
    "convert_blocks": "io.blocks.conversion",
    "convert_file": "io.meshes.conversion",
    "count_crossings": "query.counts",
    "crossings_file": "drillholes.crossing_files",
    "distance_file": "volumes.distance_file",
    "distances": "volumes.distance",
    "fill_holes": "inputs.wireframes",
    "flag": "drillholes.flag_frames",
    "flag_file": "drillholes.flag_files",
    "generalised_winding": "query.counts",
    "label_blocks": "labelling.dataframe",
    "inspect_file": "inspection.file",
    "intersect": "segments.intersect",
    "intersect_file": "segments.files",
    "label_grid": "labelling.lattices",
    "label_lattice": "labelling.lattices",
    "label_codes": "query.first_solid",
    "label_dataset": "datasets.labelling",
    "label_file": "labelling.file",
    "label_points": "labelling.points",
    "merge_file": "subblocks.merged_file",
    "model_file": "modelling.file",
    "nearest": "volumes.distance",
    "on_surface": "query.counts",
    "plot_sections": "sections.file",
    "pinned_empty": "backends.pinned",
    "proportions": "volumes.block_shares",
    "proportions_blocks": "labelling.block_proportions",
    "proportions_lattice": "volumes.lattice_shares",
    "read_domains": "domains.toml",
    "read_mesh": "io.meshes.reading",
    "read_meshes": "io.meshes.reading",
    "Report": "report.file",
    "report_file": "report.file",
    "view": "report.notebook",
    "sides": "query.surfaces",
    "sort_rays": "segments.segments",
    "subblock_file": "subblocks.file",
    "tonnes": "volumes.tonnes",
    "tonnes_file": "volumes.tonnes",
    "use_devices": "backends.chosen_devices",
    "weld": "inputs.wireframes",
    "winding_numbers": "query.counts",
    "write_mesh": "inputs.wireframes",
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
