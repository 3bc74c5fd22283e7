"""Names of the extras that install a missing library."""

from __future__ import annotations

import re

_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
# Extras that bring more than one feature needs.
_WIDE = {"all", "bench", "docs", "test"}
_DISTRIBUTIONS = {"vtkmodules": "pyvista"}


def mend_missing(error: ModuleNotFoundError) -> str | None:
    """Return how to install a library that is missing; None for a module of our own."""
    module = (error.name or "").partition(".")[0]
    name = _DISTRIBUTIONS.get(module, module)
    extras = _extras().get(name)
    if extras is None:
        return None
    narrow = sorted(extras - _WIDE) or sorted(extras)
    wanted = name if "" in extras else f"'geodomain[{narrow[0]}]'"
    return f"this needs {name}, which is not installed: pip install {wanted}"


def _extras() -> dict[str, set[str]]:
    """Return the extras that bring each library; "" where geodomain always brings it."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("geodomain") or []
    except PackageNotFoundError:
        lines = []
    found: dict[str, set[str]] = {}
    for line in lines:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name is not None:
            found.setdefault(name[0].lower(), set()).add(extra[1] if extra else "")
    return found
