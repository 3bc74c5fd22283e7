"""Every example in a docstring of the library runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import geodomain

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(geodomain.__path__, "geodomain.")
    # The GPU's modules import PyCUDA; `__main__` runs the command.
    if not found.name.endswith(("__main__", ".cuda", ".device", ".cubins"))
    # In a checkout the package is beside the commands, and so below itself.
    and not found.name.startswith("geodomain.geodomain")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_every_public_name_has_a_docstring() -> None:
    for name in geodomain.__all__:
        assert getattr(geodomain, name).__doc__, name
