"""Whether PyVista has plug-ins, and whether the installed geodomain declares its own."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, entry_points, version

import pytest


def _release() -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in version("pyvista").split(".")[:2])
    except PackageNotFoundError:
        return (0,)


HAS_PLUGINS = _release() >= (0, 48)
has_plugins = pytest.mark.skipif(
    not HAS_PLUGINS, reason="PyVista before 0.48 has no plug-ins, or is not installed"
)


def declared(group: str) -> dict[str, str]:
    """Return our entry points of a group: names and values."""
    found = {
        point.name: point.value
        for point in entry_points(group=group)
        if point.value.startswith("geodomain.")
    }
    assert found, f"the installed geodomain has no {group}: run pip install -e . again"
    return found
