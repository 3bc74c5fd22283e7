"""Several GPUs as one backend, with a stand-in driver of two devices: shares, failures, places."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from crossings import adversarial, same
from fake_cuda import FakeCuda
from fake_gpu import fake, on_device, read_back, small_buffers
from shapes import UNDECIDABLE, cube, minute, star

import geodomain
from geodomain import PointLocator, SegmentIntersector, Segments
from geodomain.compute import gpus
from geodomain.compute.cuda import buffers, device
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings

__all__ = ["fake", "small_buffers"]

MESH = star(6)
LOW, HIGH = MESH.bounds
POINTS = LOW + (np.random.default_rng(0).random((5000, 3)) * 1.2 - 0.1) * (HIGH - LOW)
MODES = ("boolean", "nearest", "count", "all")

AXES = [np.linspace(low - 1, high + 1, 37) for low, high in zip(LOW, HIGH, strict=True)]
ENDS = adversarial(MESH, 400, np.random.default_rng(2))
OTHERS = {
    "lattice_toggle": lambda b: geodomain.contains_lattice(MESH, *AXES, backend=b),
    "segments_count": lambda b: geodomain.intersect(MESH, *ENDS, mode="count", backend=b),
    "distance_inside": lambda b: geodomain.distances(MESH, POINTS, backend=b),
}

pytestmark = pytest.mark.usefixtures("small_buffers")


@pytest.fixture
def two(fake: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    """Return a driver of two devices that share what has more than a few hundred rows.

    Of what is shared each takes a part before the other takes its second.
    """
    fake.capabilities.append((9, 0))
    for name, least in (
        ("LEAST_POINTS", 512), ("LEAST_DISTANCES", 512), ("LEAST_SEGMENTS", 64), ("LEAST_BITS", 64)
    ):  # fmt: skip
        monkeypatch.setattr(gpus, name, least)
    take = gpus.WorkQueue._take

    def in_turn(queue: gpus.WorkQueue, number: int) -> object:
        taken = take(queue, number)
        both = vars(queue).setdefault("both", threading.Barrier(2))
        met = vars(queue).setdefault("met", set())
        if len(queue.at_work) == 2 and number not in met:
            met.add(number)
            both.wait(timeout=30)
        return taken

    monkeypatch.setattr(gpus.WorkQueue, "_take", in_turn)
    yield fake
    gc.collect()
    buffers.release()
    assert fake.crashed or "leak" not in fake.calls


def locator_of_cpu() -> PointLocator:
    return PointLocator(MESH, backend="cpu")


def shares(fake: FakeCuda, kernel: str) -> list[int]:
    """Return how often each device ran a kernel."""
    return [fake.launched[number, f"geodomain_{kernel}"] for number in (0, 1)]


def test_points_are_shared(two: FakeCuda) -> None:
    ours, cpu = PointLocator(MESH, backend="cuda"), PointLocator(MESH, backend="cpu")
    for verb in ("contains", "count_crossings", "winding_numbers", "on_surface", "count_sides"):
        assert np.array_equal(getattr(ours, verb)(POINTS), getattr(cpu, verb)(POINTS))
    inside = ours.contains(POINTS, rule="winding")
    assert np.array_equal(inside, cpu.contains(POINTS, rule="winding"))
    for kernel in ("look_up", "crossings", "on_surface", "sides", "nonzero"):
        assert min(shares(two, kernel)) > 0
    assert shares(two, "build_plan") == [1, 1]


def test_fractions_codes_and_distances_are_shared(two: FakeCuda) -> None:
    cup = geodomain.Mesh(MESH.vertices, MESH.triangles[50:])
    ours, cpu = (PointLocator(cup, backend=b, allow_open=True) for b in ("cuda", "cpu"))
    found, expected = ours.generalised_winding(POINTS), cpu.generalised_winding(POINTS)
    assert np.array_equal(found.number, expected.number)
    meshes = [cube(1.0), star(3, radius=(50.0, 40.0, 20.0)), MESH]
    codes = geodomain.label_codes(POINTS, meshes, backend="cpu")
    assert np.array_equal(geodomain.label_codes(POINTS, meshes, backend="cuda"), codes)
    near = geodomain.nearest(MESH, POINTS, backend="cpu")
    near_here = geodomain.nearest(MESH, POINTS, backend="cuda")
    assert all(np.array_equal(a, b) for a, b in zip(near_here, near, strict=True))
    for kernel in ("winding", "codes_look_up", "distance_inside"):
        assert min(shares(two, kernel)) > 0


@pytest.mark.parametrize("packed", [False, True])
def test_lattices_are_shared_in_slabs(packed: bool, two: FakeCuda) -> None:
    expected = geodomain.contains_lattice(MESH, *AXES, backend="cpu", packed=packed)
    found = geodomain.contains_lattice(MESH, *AXES, backend="cuda", packed=packed)
    assert np.array_equal(found, expected) and min(shares(two, "lattice_toggle")) > 0
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(POINTS)
    assert np.array_equal(locator.contains_lattice(*AXES, packed=packed), expected)


@pytest.mark.parametrize("options", [{}, {"strategy": "brute"}], ids=str)
def test_segments_are_shared_and_stay_where_they_are(options, two: FakeCuda) -> None:
    with SegmentIntersector(MESH, backend="cuda", **options) as intersector:
        for sort in (False, True):
            with Segments(*ENDS, sort=sort) as kept:
                for mode in MODES:
                    expected = geodomain.intersect(MESH, *ENDS, mode=mode, backend="cpu")
                    assert same(intersector.intersect(kept, mode=mode), expected)
                homes = {part.home for part in kept.device["several GPUs"].parts}
                assert homes == {0, 1}
    kernel = "brute_count" if options else "segments_count"
    assert min(shares(two, kernel)) > 0 and two.used_bytes == 0


def test_few_points_are_answered_by_one_gpu_in_the_callers_thread(two: FakeCuda) -> None:
    before = threading.active_count()
    inside = geodomain.contains(MESH, POINTS[:500], backend="cuda")
    assert np.array_equal(inside, geodomain.contains(MESH, POINTS[:500], backend="cpu"))
    assert shares(two, "look_up")[1] == 0 and threading.active_count() == before


def test_the_first_refused_row_of_all(two: FakeCuda) -> None:
    rows = np.tile(UNDECIDABLE, (3000, 1))
    rows[:1700] = 1.0
    with pytest.raises(geodomain.PointError, match="point 1700 "):
        geodomain.contains(minute(), rows, backend="cuda")


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("launches", [1, 2])
def test_a_gpu_that_fails_leaves_its_part_to_the_other(
    number: int, launches: int, two: FakeCuda
) -> None:
    expected = geodomain.contains(MESH, POINTS, backend="cpu")
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(POINTS)
    two.crash_after[number] = "geodomain_look_up", launches, two.LaunchError("unspecified failure")
    with pytest.warns(
        geodomain.GeodomainWarning, match=f"GPU {number} failed .* other GPUs take over"
    ):
        assert np.array_equal(locator.contains(POINTS), expected)
    asked = shares(two, "look_up")[number]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(locator.contains(POINTS), expected)  # without it
    assert shares(two, "look_up")[number] == asked


def test_where_all_gpus_fail_the_cpu_goes_on(two: FakeCuda) -> None:
    labeller = Labeller({"a": MESH}, LabelSettings(backend="cuda"))
    expected = Labeller({"a": MESH}, LabelSettings(backend="cpu")).label(POINTS).codes
    assert np.array_equal(labeller.label(POINTS).codes, expected)
    assert labeller.machine == ("cuda", "asked for")
    for number in (0, 1):
        error = two.LaunchError("unspecified failure")
        two.crash_after[number] = "geodomain_count_full", 1 + number, error
    with pytest.warns(geodomain.GeodomainWarning, match="the CPU takes over"):
        assert np.array_equal(labeller.label(POINTS).codes, expected)
    machine, why = labeller.machine
    assert machine == "cuda" and "the CPU computed " in why and "GPU 1 failed: " in why
    assert np.array_equal(labeller.label(POINTS).codes, expected)
    with pytest.raises(geodomain.DeviceError, match="only a new process"):
        geodomain.contains(MESH, POINTS, backend="cuda")
    assert np.array_equal(geodomain.contains(MESH, POINTS), expected == 0)


def test_a_call_that_is_refused_is_an_error_and_no_gpu_is_out(two: FakeCuda) -> None:
    """Any GPU would refuse it."""
    expected = geodomain.contains(MESH, POINTS, backend="cpu")
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(POINTS)
    two.fail_launch["geodomain_look_up"] = two.LogicError("invalid argument")
    with pytest.raises(geodomain.DeviceError, match="reported an error: invalid argument"):
        locator.contains(POINTS)
    two.fail_launch.clear()
    before = shares(two, "look_up")
    assert np.array_equal(locator.contains(POINTS), expected)
    after = shares(two, "look_up")
    assert after[0] > before[0] and after[1] > before[1]


def test_a_forked_process_leaves_all_gpus_alone(two: FakeCuda, monkeypatch) -> None:
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(POINTS)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        two.calls.clear()
        for points in (POINTS, POINTS[:100]):
            with pytest.raises(geodomain.DeviceError, match="was forked from one"):
                locator.contains(points)
        assert np.array_equal(geodomain.contains(MESH, POINTS), locator_of_cpu().contains(POINTS))
        assert not two.calls
    assert np.array_equal(locator.contains(POINTS), locator_of_cpu().contains(POINTS))


def test_at_the_end_each_gpu_gives_back_its_kernels(two: FakeCuda) -> None:
    PointLocator(MESH, backend="cuda").contains(POINTS)
    assert {*device.kernel.results} == {*device.module.results} == {0, 1}
    with warnings.catch_warnings():
        buffers._release_for_good()
        warnings.warn("module in out-of-thread context could not be cleaned up", stacklevel=1)
    assert not device.kernel.results and not device.module.results
    geodomain.contains(MESH, POINTS, backend="cuda")  # should anyone ask yet


def test_a_lattice_finds_the_mesh_on_each_gpu(two: FakeCuda) -> None:
    """Where an index was made for points on one, it is made on the other too, once."""
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(POINTS[:10])
    for _ in range(2):
        locator.contains_lattice(*AXES)
    assert shares(two, "build_plan") == [1, 1]


@pytest.mark.parametrize("kernel", OTHERS)
def test_what_else_a_gpu_leaves_to_the_other(kernel: str, two: FakeCuda) -> None:
    ask, error = OTHERS[kernel], two.LaunchError("unspecified failure")
    expected = ask("cpu")
    assert np.array_equal(ask("cuda"), expected)
    two.crash_after[1] = f"geodomain_{kernel}", 1, error
    with pytest.warns(geodomain.GeodomainWarning, match="GPU 1 failed .* other GPUs take over"):
        assert np.array_equal(ask("cuda"), expected)
    two.crash_after[0] = f"geodomain_{kernel}", 1, error
    with pytest.warns(geodomain.GeodomainWarning, match="GPU 0 failed .* the CPU takes over"):
        assert np.array_equal(ask("cuda"), expected)


def test_one_that_never_worked_is_an_error_and_auto_takes_the_cpu(two: FakeCuda) -> None:
    two.fail_launch["geodomain_look_up"] = two.LogicError("invalid value")
    with pytest.raises(geodomain.DeviceError, match="invalid value"):
        PointLocator(MESH, backend="cuda").contains(POINTS)


def test_a_context_that_is_not_to_be_had(two: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other GPU starts, and answers."""
    retain = two.Device.retain_primary_context

    def refuse(one: object) -> object:
        if one.number == 0:
            msg = "exclusive process"
            raise two.Error(msg)
        return retain(one)

    monkeypatch.setattr(two.Device, "retain_primary_context", refuse)
    locator = PointLocator(MESH, backend="cuda")
    with pytest.warns(geodomain.GeodomainWarning, match="GPU 0 failed .exclusive process"):
        inside = locator.contains(POINTS)
    assert np.array_equal(inside, geodomain.contains(MESH, POINTS, backend="cpu"))


@pytest.mark.parametrize("number", [0, 1])
def test_points_on_a_gpu_are_answered_there(number: int, two: FakeCuda) -> None:
    expected = geodomain.contains(MESH, POINTS, backend="cpu")
    with device.using(number):
        given, out = on_device(two, POINTS), geodomain.DeviceArray(len(POINTS), bool)
    with device.using(1 - number):
        elsewhere = geodomain.DeviceArray(len(POINTS), bool)
    locator = PointLocator(MESH, backend="cuda")
    found = locator.contains(given)
    assert two.home_of(found.__cuda_array_interface__["data"][0]) == number
    assert np.array_equal(found.get(), expected)
    locator.contains(POINTS, out=out)
    assert np.array_equal(read_back(two, out), expected)
    assert shares(two, "look_up")[1 - number] == 0
    with pytest.raises(ValueError, match=f"points are on GPU {number}, but out= is on GPU"):
        locator.contains(given, out=elsewhere)
    axes = [np.linspace(low, high, 9) for low, high in zip(LOW, HIGH, strict=True)]
    with device.using(number):
        room = geodomain.DeviceArray((9, 9, 9), bool)
    geodomain.contains_lattice(MESH, *axes, out=room, backend="cuda")
    assert np.array_equal(room.get(), geodomain.contains_lattice(MESH, *axes, backend="cpu"))
    with device.using(number), device.current():  # PyCUDA leaks what goes elsewhere
        del given


def test_callers_of_several_threads(two: FakeCuda) -> None:
    locator, expected = PointLocator(MESH, backend="cuda"), geodomain.contains(MESH, POINTS)
    found: list = [None] * 4

    def ask(place: int) -> None:
        found[place] = locator.contains(POINTS[: 5000 if place % 2 else 400])

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, expected[: len(one)]) for one in found)


@pytest.mark.parametrize("rows", [0, 1, 99, 100, 199, 200, 12_345])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_parts_are_all_the_rows_in_their_order(rows: int, workers: int) -> None:
    parts = gpus.cut(rows, workers, 100)
    assert [row for part in parts for row in range(rows)[part]] == [*range(rows)]
    sizes = [part.stop - part.start for part in parts]
    assert len(parts) == 1 or (min(sizes) >= 100 and workers > 1)
    assert len(parts) == max(1, min(workers, rows // 100)) and max(sizes) - min(sizes) <= 1
