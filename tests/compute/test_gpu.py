"""What only a GPU can show: points in any memory, streams, threads, faults, real copies."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from gpu_scene import MESH, POINTS, expected, locator, one_gpu
from shapes import cube, star

import geodomain
from geodomain import PointLocator
from geodomain.compute.cuda import buffers, device, driver

__all__ = ["expected", "locator", "one_gpu"]

pytestmark = pytest.mark.gpu
pytest.importorskip("pycuda.driver", exc_type=ImportError)


def test_ordinary_and_page_locked_arrays_of_any_form(locator, expected) -> None:
    wide = np.hstack([POINTS, POINTS[:, :1]])
    pinned = geodomain.pinned_empty(POINTS.shape, np.float64)
    pinned[:] = POINTS
    columns = geodomain.pinned_empty((3, len(POINTS)), np.float64)
    columns[:] = POINTS.T
    for given in (POINTS, np.asfortranarray(POINTS), wide[:, :3], pinned, columns.T):
        assert np.array_equal(locator.contains(given), expected)
        out = geodomain.pinned_empty(len(POINTS), bool)
        assert np.array_equal(locator.contains(given, out=out), expected)
    assert np.array_equal(locator.contains(pinned[::-1])[::-1], expected)


def test_floats_first_give_the_same_labels(one_gpu, monkeypatch, expected) -> None:
    """As on cards with slow doubles."""
    monkeypatch.setattr(device, "has_slow_doubles", lambda: True)
    single = PointLocator(MESH, backend="cuda")
    assert single.index.grid.single is not None
    assert np.array_equal(single.contains(POINTS), expected)
    corners = np.repeat(MESH.vertices, 3, axis=0) + np.tile(
        np.eye(3) * 1e-9, (len(MESH.vertices), 1)
    )
    assert np.array_equal(
        single.contains(corners), geodomain.contains(MESH, corners, backend="cpu")
    )


@pytest.mark.parametrize("slow", [False, True])
def test_codes_of_many_solids(slow: bool, monkeypatch) -> None:
    """More than are looked at together, one in the other, beside each other and not closed."""
    monkeypatch.setattr(device, "has_slow_doubles", lambda: slow)
    body = star(6)
    solids = [
        geodomain.Mesh(
            body.vertices * (0.2 + 0.02 * k) + [40.0 * (k % 7), 9.0 * k, 0], body.triangles
        )
        for k in range(40)
    ]
    solids[3] = geodomain.Mesh(solids[3].vertices, solids[3].triangles[9:])
    points = np.random.default_rng(1).normal(size=(1_500_000, 3)) * [250, 300, 80]
    points[::4] = solids[5].vertices[np.arange(len(points[::4])) % len(body.vertices)]
    points[7] = np.nan
    options = {"allow_open": True}
    expected = geodomain.label_codes(points, solids, backend="cpu", **options)
    assert len(np.unique(expected)) > 38
    found = geodomain.label_codes(points, solids, backend="cuda", **options)
    assert np.array_equal(found, expected)


def test_the_grid_is_built_on_the_device(locator) -> None:
    """Its cells are those of the host's, but for rounding in the choice of how many."""
    from geodomain.compute import cpu

    host = cpu.CpuPointIndex(MESH, threads=2, density=1.0).size()
    device = locator.index.size()
    assert np.allclose(device[:2], host[:2], rtol=0.01) and device[2:] == (1, 0)


def test_page_locked_memory_is_known(locator) -> None:
    pinned, ordinary = geodomain.pinned_empty(1000, np.float64), np.empty(1_000_000)
    with device.current():
        assert driver.is_pinned(pinned.ctypes.data, pinned.nbytes)
        assert not driver.is_pinned(ordinary.ctypes.data, ordinary.nbytes)


def test_numbers_and_surfaces(locator) -> None:
    cpu, some = PointLocator(MESH, backend="cpu"), POINTS[:300_000]
    for verb in ("count_crossings", "winding_numbers", "on_surface"):
        assert np.array_equal(getattr(locator, verb)(some), getattr(cpu, verb)(some))
    assert np.array_equal(locator.contains(some, rule="winding"), cpu.contains(some))


def test_callers_of_several_threads(locator, expected) -> None:
    """More of them than buffers are kept for: the others' go with the threads that made them."""
    found: list = [None] * 6

    def ask(number: int) -> None:
        found[number] = locator.contains(POINTS)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(labels, expected) for labels in found)


def test_an_error_while_points_are_sent(locator, expected, monkeypatch) -> None:
    """No thread waits for ever, and the next call has what it needs."""
    running, sent = threading.active_count(), []
    with device.current() as cuda:
        real, error = cuda.memcpy_htod_async, cuda.LogicError

    def fail(*arguments: object) -> None:
        sent.append(len(sent))
        if len(sent) > 9:
            _raise(error("cuMemcpyHtoDAsync failed: invalid argument"))
        real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(cuda, "memcpy_htod_async", fail)
        with pytest.raises(
            geodomain.DeviceError, match="the GPU reported an error: cuMemcpyHtoDAsync"
        ):
            locator.contains(POINTS)
    assert threading.active_count() == running
    assert np.array_equal(locator.contains(POINTS), expected)


def test_answers_over_points_and_doubles_at_odd_addresses(locator) -> None:
    wide = geodomain.DeviceArray((1001, 3), np.float64)
    start, _ = wide.__cuda_array_interface__["data"]
    told = {**wide.__cuda_array_interface__, "shape": (1000, 3), "data": (start + 4, False)}
    with pytest.raises(ValueError, match="aligned to 8 bytes"):
        locator.contains(SimpleNamespace(__cuda_array_interface__=told))
    over = {**told, "shape": (1001,), "typestr": "|b1", "data": (start, False)}
    with pytest.raises(ValueError, match="shares memory"):
        locator.contains(wide, out=SimpleNamespace(__cuda_array_interface__=over))


def test_little_memory_makes_smaller_chunks_and_then_the_cpu(
    one_gpu, expected, monkeypatch
) -> None:

    locator = PointLocator(MESH, backend="cuda")
    buffers.release()
    with device.current() as cuda:
        real, memory_error = cuda.mem_alloc, cuda.MemoryError
        for most in (1_000_000, 1000):
            monkeypatch.setattr(
                cuda,
                "mem_alloc",
                lambda size, most=most: (
                    real(size) if size <= most else _raise(memory_error("cuMemAlloc failed"))
                ),
            )
            if most == 1000:
                buffers.release()
                with pytest.warns(geodomain.GeodomainWarning, match="computed on the CPU"):
                    assert np.array_equal(locator.contains(POINTS), expected)
            else:
                assert np.array_equal(locator.contains(POINTS), expected)
                assert buffers.pool_of("sent", 4)._idle[0].room <= most // 24


def _raise(error: Exception) -> None:
    raise error


def test_label_codes_of_meshes_on_the_gpu() -> None:
    meshes = [cube(30.0), MESH]
    some = POINTS[:500_000].copy()
    some[::1000] = np.nan
    expected = geodomain.label_codes(some, meshes, backend="cpu")
    assert np.array_equal(geodomain.label_codes(some, meshes, backend="cuda"), expected)
