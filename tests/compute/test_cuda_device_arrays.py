"""Points and answers that are on a GPU already, with a stand-in driver."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from fake_gpu import ByDlpack, fake, on_device, read_back, small_buffers
from shapes import UNDECIDABLE, minute, star

import geodomain
from geodomain import PointError, PointLocator
from geodomain.compute.cuda import buffers, driver
from geodomain.compute.cuda import points as cuda_points

__all__ = ["fake", "small_buffers"]

FEW = "geodomain_contains_few"
MESH = star(6)
LOW, HIGH = MESH.bounds

pytestmark = pytest.mark.usefixtures("small_buffers")


def points(count: int, seed: int = 0) -> np.ndarray:
    return LOW + (np.random.default_rng(seed).random((count, 3)) * 1.2 - 0.1) * (HIGH - LOW)


def test_points_on_the_device_are_used_in_place(fake) -> None:
    given = points(5000)
    there = on_device(fake, given)
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(points(10))
    fake.calls.clear()
    found = locator.contains(there)
    assert not {"htod", "dtoh", "dtod"} & set(fake.calls)  # kernels write to the caller's room
    assert isinstance(found, geodomain.DeviceArray)
    assert found.__cuda_array_interface__["typestr"] == "|b1" and len(found) == 5000
    assert repr(found) == "DeviceArray(shape=(5000,), dtype=bool)"
    expected = geodomain.contains(MESH, given, backend="cpu")
    assert np.array_equal(found.get(), expected)
    assert np.array_equal(read_back(fake, found), expected)
    out = np.empty(5000, bool)
    assert locator.contains(there, out=out) is out
    assert np.array_equal(out, expected)
    room = on_device(fake, np.zeros(5000, np.int32))
    assert geodomain.count_crossings(MESH, given, backend="cuda", out=room) is room
    assert np.array_equal(read_back(fake, room) % 2 == 1, expected)
    codes = geodomain.label_codes(there, [MESH])
    assert np.array_equal(codes.get() == 0, expected)


def test_strides_on_the_device(fake) -> None:
    given = points(3000)
    expected = geodomain.contains(MESH, given, backend="cpu")
    columns = on_device(fake, given.T.copy(), shape=(3000, 3), strides=(8, 8 * 3000))
    assert np.array_equal(geodomain.contains(MESH, columns).get(), expected)
    wide = on_device(fake, np.hstack([given, given]), shape=(3000, 3), strides=(48, 8))
    assert np.array_equal(geodomain.contains(MESH, wide).get(), expected)
    backwards = on_device(fake, given[::-1].copy(), strides=(-24, 8))
    start, _ = backwards.__cuda_array_interface__["data"]
    backwards.__cuda_array_interface__["data"] = (start + 24 * 2999, False)
    assert np.array_equal(geodomain.contains(MESH, backwards).get(), expected)


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ({"stream": 7}, "wait 7"),
        ({"stream": 1}, "wait 1"),
        ({"version": 2}, "synchronize"),
    ],
)
def test_the_streams_of_others_are_waited_for(fake, told, waits: str) -> None:
    there = on_device(fake, points(10), **told)
    locator = PointLocator(MESH, backend="cuda")
    fake.calls.clear()
    locator.contains(there)
    assert fake.calls.index(waits) < fake.calls.index("geodomain_look_up")
    fake.calls.clear()
    locator.contains(on_device(fake, points(10)))
    assert not {call for call in fake.calls if call.startswith(("wait", "synchronize"))}


def test_what_is_on_the_device_is_checked(fake) -> None:
    with pytest.raises(TypeError, match="must be float64, not float32: convert"):
        geodomain.contains(MESH, on_device(fake, points(5).astype(np.float32)))
    with pytest.raises(ValueError, match=r"shape \(n, 3\), not \(5, 2\)"):
        geodomain.contains(MESH, on_device(fake, points(5)[:, :2]))
    with pytest.raises(ValueError, match="masked"):
        geodomain.contains(MESH, on_device(fake, points(5), mask=1))
    for verb in ("contains", "count_crossings", "winding_numbers", "on_surface"):
        with pytest.raises(ValueError, match="points are on a GPU, which the CPU cannot read"):
            getattr(geodomain, verb)(MESH, on_device(fake, points(5)), backend="cpu")
    with pytest.raises(ValueError, match="out is on a GPU"):
        geodomain.contains(MESH, points(5), backend="cpu", out=on_device(fake, np.zeros(5, bool)))
    for wrong in (np.zeros(6, bool), np.zeros(5, np.uint8)):
        with pytest.raises(ValueError, match="out must be a contiguous, writable array of bool"):
            geodomain.contains(MESH, points(5), backend="cuda", out=on_device(fake, wrong))
    for astray in ({"strides": (28, 8)}, {"strides": (24, 12)}):
        with pytest.raises(ValueError, match="aligned to 8 bytes"):
            geodomain.contains(MESH, on_device(fake, points(9)[:5], **astray))
    shifted = on_device(fake, points(9))
    shifted.__cuda_array_interface__.update(shape=(5, 3), data=(int(shifted.memory) + 4, False))
    with pytest.raises(ValueError, match="aligned to 8 bytes"):
        geodomain.contains(MESH, shifted)
    read_only = on_device(fake, np.zeros(5, bool))
    read_only.__cuda_array_interface__["data"] = (int(read_only.memory), True)
    with pytest.raises(ValueError, match="writable"):
        geodomain.contains(MESH, points(5), backend="cuda", out=read_only)


def test_answers_over_the_points_are_refused(fake) -> None:
    given = points(100)
    for backend in ("cpu", "cuda"):
        for out in (given.view(bool).ravel()[7:107], given.view(np.int32).ravel()[-100:]):
            ask = geodomain.contains if out.dtype == bool else geodomain.count_crossings
            with pytest.raises(ValueError, match="out shares memory with the input"):
                ask(MESH, given, backend=backend, out=out)
    columns = np.zeros((100, 4), order="F")
    columns[:, :3] = given
    beside = columns[:, 3].view(bool)[:100]
    assert geodomain.contains(MESH, columns[:, :3], backend="cuda", out=beside) is beside
    there = on_device(fake, given[::-1])
    start = int(there.memory)
    told = there.__cuda_array_interface__
    told.update(data=(start + 24 * 99, False), strides=(-24, 8))
    for first in (0, 2300):
        room = on_device(fake, np.zeros(100, bool), data=(start + first, False))
        with pytest.raises(ValueError, match="out shares memory with the input"):
            geodomain.contains(MESH, there, out=room)


def test_no_points_at_all(fake) -> None:
    assert geodomain.contains(MESH, np.empty((0, 3)), backend="cuda").shape == (0,)
    none = on_device(fake, np.empty((0, 3)), data=(0, False))
    assert geodomain.contains(MESH, none, backend="cuda").get().shape == (0,)


def test_points_by_dlpack(fake) -> None:
    given = points(3000)
    expected = geodomain.contains(MESH, given, backend="cpu")
    there = ByDlpack(fake, given)
    references = sys.getrefcount(there.view)
    fake.calls.clear()
    assert np.array_equal(geodomain.contains(MESH, there).get(), expected)
    assert there.streams == [1]
    assert fake.calls.index("synchronize") < fake.calls.index("geodomain_look_up")
    gc.collect()
    kept = sys.getrefcount(there.view)
    assert kept == references  # the producer was told that we are done
    there.view = there.view[::2, ::-1]
    expected = geodomain.contains(MESH, given[::2, ::-1], backend="cpu")
    assert np.array_equal(geodomain.contains(MESH, there).get(), expected)
    with pytest.raises(TypeError, match="float64, not float32"):
        geodomain.contains(MESH, ByDlpack(fake, given.astype(np.float32)))
    with pytest.raises(ValueError, match="the CPU cannot read"):
        geodomain.contains(MESH, there, backend="cpu")


def test_an_array_of_another_gpu_is_refused(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.capabilities.append((9, 0))
    monkeypatch.setenv("GEODOMAIN_DEVICE", "0")
    there = on_device(fake, points(5))
    monkeypatch.setattr(driver, "ordinal", lambda address: 1)
    with pytest.raises(
        geodomain.DeviceError, match="is on GPU 1, but this process uses GPU 0: set"
    ):
        geodomain.contains(MESH, there)


def test_without_the_drivers_library_nothing_is_taken_for_page_locked(fake, monkeypatch) -> None:
    monkeypatch.setattr(driver, "library", lambda: None)
    given = points(3000)
    expected = geodomain.contains(MESH, given, backend="cpu")
    pinned = geodomain.pinned_empty((3000, 3), np.float64)
    pinned[:] = given
    assert np.array_equal(geodomain.contains(MESH, pinned, backend="cuda"), expected)
    there = on_device(fake, given, stream=7)
    fake.calls.clear()
    assert np.array_equal(geodomain.contains(MESH, there).get(), expected)
    assert "synchronize" in fake.calls  # all of it, where one stream cannot be waited for


def test_names_of_points_on_the_device_are_in_memory(fake) -> None:
    given = points(2000)
    names = geodomain.label_points(on_device(fake, given), {"ORE": MESH}, background="WASTE")
    expected = geodomain.label_points(given, {"ORE": MESH}, background="WASTE", backend="cpu")
    assert np.array_equal(names, expected)


def test_few_points_take_one_launch(fake, monkeypatch) -> None:
    monkeypatch.setattr(cuda_points, "FEW_ROWS", 200)
    monkeypatch.setattr(buffers, "FEW_ROWS", 200)
    given = points(200)
    expected = geodomain.contains(MESH, given, backend="cpu")
    locator = PointLocator(MESH, backend="cuda")
    there, room = on_device(fake, given), on_device(fake, np.zeros(200, np.bool_))
    for _ in range(2):  # the first time makes buffers
        fake.calls.clear()
        assert np.array_equal(locator.contains(given), expected)
        assert [call for call in fake.calls if call.startswith("geodomain")] == [FEW]
        fake.calls.clear()
        locator.contains(there, out=room)
        assert np.array_equal(read_back(fake, room), expected)
    assert fake.calls == [FEW, "Stream.synchronize"]
    assert np.array_equal(locator.contains(points(201))[:200], expected)
    assert "geodomain_look_up" in fake.calls
    with pytest.raises(PointError, match="point 150 is"):
        refused = np.ones((200, 3))
        refused[[150, 199]] = UNDECIDABLE
        geodomain.contains(minute(), refused, backend="cuda")


def test_room_that_kernels_cannot_write_to_gets_a_copy(fake) -> None:
    given = points(3000)
    memory = on_device(fake, np.zeros(4 * 3001, np.uint8))
    start, _ = memory.__cuda_array_interface__["data"]
    odd = on_device(fake, np.zeros(3000, np.int32))
    odd.__cuda_array_interface__["data"] = (start + 1, False)
    PointLocator(MESH, backend="cuda").count_crossings(on_device(fake, given), out=odd)
    assert "dtod" in fake.calls
    expected = PointLocator(MESH, backend="cpu").count_crossings(given)
    found = fake.at(start + 1, 4 * 3000).copy().view(np.int32)
    assert np.array_equal(found, expected)
