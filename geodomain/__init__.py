"""Label geological block models: which blocks lie inside which wireframe, exactly."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geodomain.backends.device_arrays import DeviceArray
    from geodomain.backends.pinned import pinned_empty
    from geodomain.containment import (
        contains,
        contains_lattice,
        count_crossings,
        generalised_winding,
        on_surface,
        winding_numbers,
    )
    from geodomain.dataframes import label_blocks
    from geodomain.domain_file import read_domains
    from geodomain.domains import Domain
    from geodomain.errors import (
        DeviceError,
        DomainError,
        GeodomainError,
        GeodomainWarning,
        MeshError,
        PointError,
        TableError,
    )
    from geodomain.faults.report import MeshReport, check
    from geodomain.faults.welding import WeldResult, weld
    from geodomain.first_solid import label_codes
    from geodomain.hits import Hits
    from geodomain.intersection import intersect
    from geodomain.intersector import SegmentIntersector
    from geodomain.labelling import label_points
    from geodomain.locator import PointLocator
    from geodomain.mesh import Mesh
    from geodomain.meshfiles import read_mesh, write_mesh
    from geodomain.ordering import Domains
    from geodomain.segments import Segments, sort_rays
    from geodomain.stacks import Stack
    from geodomain.surfaces import sides

# Where each public name lives. It is imported when it is first used, so that
# `import geodomain` costs nothing and a script pays for what it touches.
_HOME = {
    "DeviceArray": "backends.device_arrays",
    "DeviceError": "errors",
    "Domain": "domains",
    "DomainError": "errors",
    "Domains": "ordering",
    "GeodomainError": "errors",
    "GeodomainWarning": "errors",
    "Hits": "hits",
    "Mesh": "mesh",
    "MeshError": "errors",
    "MeshReport": "faults.report",
    "PointError": "errors",
    "PointLocator": "locator",
    "Stack": "stacks",
    "SegmentIntersector": "intersector",
    "Segments": "segments",
    "TableError": "errors",
    "WeldResult": "faults.welding",
    "check": "faults.report",
    "contains": "containment",
    "contains_lattice": "containment",
    "count_crossings": "containment",
    "generalised_winding": "containment",
    "label_blocks": "dataframes",
    "intersect": "intersection",
    "label_codes": "first_solid",
    "label_points": "labelling",
    "on_surface": "containment",
    "pinned_empty": "backends.pinned",
    "read_domains": "domain_file",
    "read_mesh": "meshfiles",
    "sides": "surfaces",
    "sort_rays": "segments",
    "weld": "faults.welding",
    "winding_numbers": "containment",
    "write_mesh": "meshfiles",
}

__all__ = [
    "DeviceArray",
    "DeviceError",
    "Domain",
    "DomainError",
    "Domains",
    "GeodomainError",
    "GeodomainWarning",
    "Hits",
    "Mesh",
    "MeshError",
    "MeshReport",
    "PointError",
    "PointLocator",
    "SegmentIntersector",
    "Segments",
    "Stack",
    "TableError",
    "WeldResult",
    "check",
    "contains",
    "contains_lattice",
    "count_crossings",
    "generalised_winding",
    "intersect",
    "label_blocks",
    "label_codes",
    "label_points",
    "on_surface",
    "pinned_empty",
    "read_domains",
    "read_mesh",
    "sides",
    "sort_rays",
    "weld",
    "winding_numbers",
    "write_mesh",
]


def __getattr__(name: str) -> Any:
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
