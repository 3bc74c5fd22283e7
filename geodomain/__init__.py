"""Label geological block models: which blocks lie inside which wireframe, exactly."""

from __future__ import annotations

import _signal  # the module signal takes long
import sys

# As a program, an interrupt ends it without a traceback, from here until `__main__` takes over.
_CALLED = sys.argv[0] if getattr(sys, "argv", None) else ""
_PROGRAM = (_CALLED == "-m" and sys.orig_argv[1:3] == ["-m", "geodomain"]) or (
    _CALLED.replace("\\", "/").rpartition("/")[2] in ("geodomain", "geodomain.exe")
)
if _PROGRAM and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import importlib  # noqa: E402
import os  # noqa: E402

__version__ = "0.1.0"  # the build reads it here

if __name__ != "geodomain":  # a second copy, which the path below would allow in a checkout
    _MESSAGE = f"No module named {__name__!r}: import geodomain"
    raise ModuleNotFoundError(_MESSAGE, name=__name__)

# In a checkout, commands and kernels are next to the package; an installation has them in it.
_CHECKOUT = __path__[0][: -len("/geodomain")]
if os.access(f"{_CHECKOUT}/kernels/CMakeLists.txt", os.F_OK) and _CHECKOUT not in __path__:
    __path__.append(_CHECKOUT)

# The public names of each module. `python tests/test_public.py` writes them to `__init__.pyi`,
# which type checkers and editors read instead of this file.
_NAMES = {
    "changes.depletion": "deplete",
    "changes.depletion_report": "Depletion",
    "blocks.merging": "merge_file",
    "blocks.new_model": "NewModel model_file",
    "changes.regularised": "Regularised",
    "changes.regularising": "regularise",
    "blocks.settings": "MergeSummary SubblockSummary",
    "blocks.shell": "Shells shell",
    "blocks.splitting": "subblock_file",
    "compute.device_arrays": "DeviceArray pinned_empty",
    "compute.inventory": "use_devices",
    "datasets.labelling": "label_dataset",
    "domains.domain": "Domain",
    "changes.domain_differences": "DomainsDifference",
    "domains.implicit": "model_domains",
    "domains.order": "Domains",
    "domains.stack": "Stack",
    "domains.toml": "read_domains",
    "drillholes.composites": "Composites composite",
    "statistics.contact_means": "Contacts",
    "statistics.contacts": "contacts contacts_file",
    "drillholes.crossings": "HoleCrossings",
    "drillholes.drillholes": "Drillholes",
    "drillholes.files": "composite_file crossings_file surface_points_file",
    "drillholes.flag_files": "FlagSummary flag flag_file",
    "drillholes.surface_points": "SurfacePoints",
    "errors": "DeviceError DomainError GeodomainError GeodomainWarning MeshError PointError "
    "TableError",
    "formats.blocks": "convert_blocks",
    "formats.wireframes": "convert_file read_mesh read_meshes",
    "inputs": "as_mesh",
    "labelling.arrays": "label_grid label_lattice label_points",
    "labelling.files": "label_file",
    "labelling.frames": "label_blocks proportions_blocks",
    "labelling.summary": "Summary",
    "labels": "label",
    "mesh.check": "MeshReport",
    "mesh.mesh": "Mesh",
    "mesh.repair": "FillResult Hole WeldResult",
    "query.contains": "contains contains_lattice count_crossings generalised_winding label_codes "
    "on_surface winding_numbers",
    "query.locator": "PointLocator Winding",
    "query.segment_files": "IntersectionSummary intersect_file",
    "query.segments": "Hits SegmentIntersector Segments intersect sort_rays",
    "query.surfaces": "sides",
    "reporting.compare": "Comparison compare_files",
    "changes.difference_results": "ModelDifference",
    "changes.differences": "diff",
    "reporting.inspect": "Inspection inspect_file",
    "reporting.notebook": "view",
    "reporting.plot": "plot_sections",
    "reporting.report_file": "Report report_file",
    "statistics.by_domain": "stats",
    "statistics.results": "Statistics",
    "statistics.validation": "validate",
    "statistics.validation_report": "Validation",
    "changes.cut_and_fill": "CutAndFill cut_and_fill",
    "volumes.distance": "DistanceSummary Nearest distance_file distances nearest",
    "volumes.shares": "proportions proportions_lattice",
    "volumes.solids": "VolumeReport volume_report",
    "volumes.tonnes": "tonnes tonnes_file",
    "volumes.tonnes_report": "Tonnes",
    "changes.wireframe_differences": "WireframeDifference",
    "wireframes": "MeshCheck check check_file fill_holes weld write_mesh",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so a script imports only what it needs."""
    if name in ("solids", "synthetic"):
        return importlib.import_module(f"geodomain.{name}")
    if name not in _MODULES:
        message = f"module 'geodomain' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f"geodomain.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
