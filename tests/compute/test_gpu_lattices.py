"""Lattices on a GPU: every form of the labels, at any address."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from gpu_scene import MESH, expected, locator
from shapes import cube, star

import geodomain
from geodomain.compute.cuda import buffers, device, lattices

__all__ = ["expected", "locator"]

pytestmark = pytest.mark.gpu
pytest.importorskip("pycuda.driver", exc_type=ImportError)


@pytest.mark.parametrize("depth", [64, 100, 333])
def test_lattices_to_bits_and_bools(locator, depth: int) -> None:
    axes = [np.linspace(-110, 110, n) for n in (301, 203, depth)]
    for packed in (False, True):
        expected = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cpu")
        out = geodomain.pinned_empty(expected.shape, expected.dtype)
        assert np.array_equal(locator.contains_lattice(*axes, packed=packed), expected)
        assert np.array_equal(locator.contains_lattice(*axes, packed=packed, out=out), expected)
        labels = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cuda")
        assert np.array_equal(labels, expected)


@pytest.mark.parametrize("frequency", [1, 2, 5])
def test_large_triangles_over_many_columns(frequency: int) -> None:
    mesh = star(frequency)
    for columns in (7, 301):
        axes = [np.linspace(low - 1, high + 1, columns) for low, high in mesh.bounds.T]
        axes[0] = np.r_[axes[0], mesh.vertices[:, 0]]  # not evenly spaced
        expected = geodomain.contains_lattice(mesh, *axes, backend="cpu")
        assert np.array_equal(geodomain.contains_lattice(mesh, *axes, backend="cuda"), expected)


@pytest.mark.parametrize("few", [0, lattices._FEW])
@pytest.mark.parametrize("width", [1, 37])
@pytest.mark.parametrize("depth", [1, 63, 64, 65, 100, 333, 1000, 2100])
def test_lattices_that_stay_on_the_device(
    locator, depth: int, width: int, few: int, monkeypatch
) -> None:
    monkeypatch.setattr(lattices, "_FEW", few)
    axes = [np.linspace(-110, 110, n) for n in (61, width, depth)]
    axes = [axis if len(axis) > 1 else np.zeros(1) for axis in axes]
    for packed in (False, True):
        expected = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cpu")
        assert expected.any()
        for slab in (lattices.IN_PLACE_BYTES, 50_000):
            monkeypatch.setattr(lattices, "IN_PLACE_BYTES", slab)
            out = geodomain.DeviceArray(expected.shape, expected.dtype)
            assert locator.contains_lattice(*axes, packed=packed, out=out) is out
            assert np.array_equal(out.get(), expected)
        assert np.array_equal(locator.contains_lattice(*axes, packed=packed), expected)


@pytest.mark.parametrize("few", [0, lattices._FEW])
@pytest.mark.parametrize("depth", [65, 100, 333])
def test_lattices_at_any_address_leave_the_rest_alone(
    locator, depth: int, few: int, monkeypatch
) -> None:
    monkeypatch.setattr(lattices, "_FEW", few)
    axes = [np.linspace(-110, 110, n) for n in (13, 11, depth)]
    for packed in (False, True):
        expected = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cpu")
        for offset in range(8):
            wide = geodomain.DeviceArray(expected.nbytes + 16, np.uint8)
            start = wide.__cuda_array_interface__["data"][0]
            with device.current() as cuda:
                cuda.memcpy_htod(start, np.full(wide.shape, 0xA5, np.uint8))
            told = {
                **wide.__cuda_array_interface__,
                "shape": expected.shape,
                "typestr": expected.dtype.str,
                "data": (start + offset, False),
            }
            out = SimpleNamespace(__cuda_array_interface__=told)
            locator.contains_lattice(*axes, packed=packed, out=out)
            found = wide.get()
            end = offset + expected.nbytes
            assert np.array_equal(found[offset:end], expected.view(np.uint8).ravel())
            assert (found[:offset] == 0xA5).all() and (found[end:] == 0xA5).all()


def test_a_list_of_unsure_pairs_that_is_too_short(locator, monkeypatch) -> None:
    """Blocks on the faces of a cube, where quick arithmetic may be unsure of heights."""
    monkeypatch.setattr(lattices, "UNSURE_ROOM", 1)
    buffers.release()
    third = cube(30.0).vertices / 3 + 0.1  # faces that no double lies on exactly
    mesh = geodomain.Mesh(third, cube(30.0).triangles)
    axes = [np.unique(np.r_[np.linspace(*mesh.bounds[:, k], 50), third[:, k]]) for k in range(3)]
    expected = geodomain.contains_lattice(mesh, *axes, backend="cpu")
    out = geodomain.DeviceArray(expected.shape, bool)
    geodomain.contains_lattice(mesh, *axes, backend="cuda", out=out)
    assert np.array_equal(out.get(), expected)


def test_lattices_into_other_libraries_arrays(locator) -> None:
    torch = pytest.importorskip("torch")
    axes = [np.linspace(-110, 110, n) for n in (61, 50, 100)]
    expected = geodomain.contains_lattice(MESH, *axes, backend="cpu")
    out = torch.zeros(expected.shape, dtype=torch.bool, device="cuda")
    assert locator.contains_lattice(*axes, out=out) is out
    assert np.array_equal(out.cpu().numpy(), expected)
