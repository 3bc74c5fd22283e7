"""What only several GPUs can show: the same bits from one and from all of them, and memory.

Under memcheck, which takes minutes:

    compute-sanitizer --tool memcheck --error-exitcode 9 --target-processes all \\
        python -m pytest -q tests/compute/test_gpu_several.py
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from crossings import adversarial, same
from gpu_scene import MESH, POINTS, expected

import geodomain
from geodomain import PointLocator, SegmentIntersector, Segments
from geodomain.compute import gpus
from geodomain.compute.cuda import buffers, device
from geodomain.compute.cuda.driver import DeadContext

__all__ = ["expected"]

pytestmark = pytest.mark.gpu
pytest.importorskip("pycuda.driver", exc_type=ImportError)

MODES = ("boolean", "nearest", "count", "all")


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip with fewer than two GPUs; share what one would otherwise answer alone."""
    try:
        count = len(device.numbers())
    except geodomain.DeviceError as error:
        pytest.skip(f"no GPU: {error}")
    if count < 2:
        pytest.skip(f"{count} GPU is used, and this is about several")
    for name, least in (
        ("LEAST_POINTS", 1 << 18), ("LEAST_DISTANCES", 1 << 14),
        ("LEAST_SEGMENTS", 1 << 12), ("LEAST_BITS", 1 << 16),
    ):  # fmt: skip
        monkeypatch.setattr(gpus, name, least)


def test_points_in_any_memory(expected: np.ndarray) -> None:
    locator = PointLocator(MESH, backend="cuda")
    pinned = geodomain.pinned_empty(POINTS.shape, np.float64)
    pinned[:] = POINTS
    for given in (POINTS, np.asfortranarray(POINTS), pinned):
        assert np.array_equal(locator.contains(given), expected)
        out = geodomain.pinned_empty(len(POINTS), bool)
        assert np.array_equal(locator.contains(given, out=out), expected)
    assert len(locator.index.copies.made()) == len(device.numbers())


def test_numbers_codes_and_distances() -> None:
    ours, cpu = PointLocator(MESH, backend="cuda"), PointLocator(MESH, backend="cpu")
    some = POINTS[:600_000].copy()
    some[::1000] = np.nan
    for verb in ("count_crossings", "winding_numbers", "on_surface", "count_sides"):
        assert np.array_equal(getattr(ours, verb)(some), getattr(cpu, verb)(some))
    codes = geodomain.label_codes(some, [ours, PointLocator(MESH, backend="cuda")], backend="cuda")
    assert np.array_equal(codes, geodomain.label_codes(some, [MESH, MESH], backend="cpu"))
    few = POINTS[:60_000]
    near = geodomain.nearest(MESH, few, backend="cuda")
    for found, wanted in zip(near, geodomain.nearest(MESH, few, backend="cpu"), strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("packed", [False, True])
def test_lattices(packed: bool) -> None:
    axes = [np.linspace(low, high, 301) for low, high in zip(*MESH.bounds, strict=True)]
    found = geodomain.contains_lattice(MESH, *axes, backend="cuda", packed=packed)
    wanted = geodomain.contains_lattice(MESH, *axes, backend="cpu", packed=packed)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("options", [{}, {"strategy": "brute"}], ids=str)
def test_segments(options: dict[str, str]) -> None:
    ends = adversarial(MESH, 20_000, np.random.default_rng(2))
    with SegmentIntersector(MESH, backend="cuda", **options) as intersector:
        for sort in (False, True):
            with Segments(*ends, sort=sort) as kept:
                for mode in MODES:
                    wanted = geodomain.intersect(MESH, *ends, mode=mode, backend="cpu")
                    assert same(intersector.intersect(kept, mode=mode), wanted)
                homes = {part.home for part in kept.device["several GPUs"].parts}
                assert homes == set(device.numbers())


def test_points_on_each_gpu_are_answered_there(expected: np.ndarray) -> None:
    locator, some = PointLocator(MESH, backend="cuda"), POINTS[:500_000]
    for number in device.numbers():
        with device.using(number):
            given = geodomain.DeviceArray(some.shape, np.float64)
            with device.current() as cuda:
                cuda.memcpy_htod(given.__cuda_array_interface__["data"][0], some)
        found = locator.contains(given)
        assert device.home_of(found.__cuda_array_interface__["data"][0]) == number
        assert np.array_equal(found.get(), expected[: len(some)])


def test_callers_of_several_threads(expected: np.ndarray) -> None:
    locator = PointLocator(MESH, backend="cuda")
    found: list = [None] * 4

    def ask(place: int) -> None:
        found[place] = locator.contains(POINTS if place % 2 else POINTS[:100_000])

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, expected[: len(one)]) for one in found)


def test_a_gpu_that_fails_leaves_its_part_to_the_others(
    expected: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(POINTS)
    real, last = device.launch, device.numbers()[-1]

    def fail(*arguments: object, **options: object) -> None:
        if device.number() == last:
            message = "the launch failed"
            raise DeadContext(message)
        real(*arguments, **options)

    pool = locator.index._pool
    with monkeypatch.context() as patch:
        patch.setattr(device, "launch", fail)
        with pytest.warns(geodomain.GeodomainWarning, match=f"GPU {last} failed"):
            assert np.array_equal(locator.contains(POINTS), expected)
    assert last in pool.failed
    pool.failed.clear()
    assert np.array_equal(locator.contains(POINTS), expected)


def test_what_is_kept_is_given_back_on_every_gpu() -> None:
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(POINTS)
    buffers.release()
    free = {}
    for number in device.numbers():
        with device.using(number), device.current() as cuda:
            free[number] = cuda.mem_get_info()[0]
    del locator
    buffers.release()
    for number, before in free.items():
        with device.using(number), device.current() as cuda:
            assert cuda.mem_get_info()[0] >= before
