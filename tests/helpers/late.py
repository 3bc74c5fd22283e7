"""Libraries that are imported where a test first uses them: collecting the tests needs none."""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from typing import Any

import pytest


class Late:
    """Stand for a library, and skip the test that uses it where it is not installed."""

    def __init__(self, name: str, *submodules: str) -> None:
        self._name = name
        self._submodules = submodules

    @cached_property
    def _library(self) -> Any:
        for submodule in self._submodules:
            pytest.importorskip(f"{self._name}.{submodule}")
        return pytest.importorskip(self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "__version__":  # pytest asks each object for such names
            raise AttributeError(name)
        return getattr(self._library, name)


pandas = pd = Late("pandas")
pyvista = pv = Late("pyvista")
polars = Late("polars")
pyarrow = pa = Late("pyarrow", "csv", "parquet")
parquet = Late("pyarrow.parquet")
h5py = Late("h5py")
openpyxl = Late("openpyxl", "cell", "styles")
matplotlib = Late("matplotlib", "image", "pyplot")
playwright = Late("playwright.sync_api")
narwhals = Late("narwhals.stable.v1")


def needs(library: str) -> pytest.MarkDecorator:
    """Skip a test, or a module's tests, where a library is not installed."""
    return pytest.mark.skipif(find_spec(library) is None, reason=f"{library} is not installed")
