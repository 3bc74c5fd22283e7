"""The GPU's host side with a stand-in driver: labels, transfers, buffers, out=."""

from __future__ import annotations

import gc
import sys
import threading

import numpy as np
import pytest
from fake_gpu import ByDlpack, fake, on_device, read_back
from shapes import UNDECIDABLE, cube, minute, star

import geodomain
from geodomain import PointError, PointLocator
from geodomain.backends import buffers, cuda, lattice_on_device, libcuda, pools

__all__ = ["fake"]

MESH = star(6)
LOW, HIGH = MESH.bounds


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make several chunks, pieces and slabs of a few thousand points."""
    monkeypatch.setattr(buffers, "ROOM", 1024)
    monkeypatch.setattr(buffers, "_SMALL_ROOM", 256)
    monkeypatch.setattr(buffers, "LEAST_ROOM", 64)
    monkeypatch.setattr(buffers, "PIECE_BYTES", 24 * 100)
    monkeypatch.setattr(lattice_on_device, "SLAB_BYTES", 600)
    pools.release()


def points(count: int, seed: int = 0) -> np.ndarray:
    return LOW + (np.random.default_rng(seed).random((count, 3)) * 1.2 - 0.1) * (HIGH - LOW)


FORMS = {
    "rows": lambda p: p,
    "columns": np.asfortranarray,
    "every other row": lambda p: np.repeat(p, 2, axis=0)[::2],
    "from the end": lambda p: np.ascontiguousarray(p[::-1])[::-1],
    "one of four columns": lambda p: np.hstack([p, p[:, :1]])[:, :3],
    "read only": lambda p: np.frombuffer(p.tobytes()).reshape(-1, 3),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 255, 256, 10_000])
def test_points_of_any_strides(fake, form: str, count: int) -> None:
    given = FORMS[form](points(count))
    gpu, cpu = PointLocator(MESH, backend="cuda"), PointLocator(MESH, backend="cpu")
    for verb in ("contains", "count_crossings", "winding_numbers", "on_surface"):
        assert np.array_equal(getattr(gpu, verb)(given), getattr(cpu, verb)(given))
    by_winding = gpu.contains(given, rule="winding")
    assert np.array_equal(by_winding, cpu.contains(given, rule="winding"))
    assert "leak" not in fake.calls


@pytest.mark.parametrize("order", ["C", "F"])
def test_page_locked_arrays_go_straight(fake, order: str) -> None:
    given = points(5000)
    locator = PointLocator(MESH, backend="cuda")
    with cuda.device.current():
        pinned = fake.pagelocked_empty((5000, 3), np.float64, order=order)
    pinned[:] = given
    out = geodomain.pinned_empty(5000, bool)
    assert locator.contains(pinned, out=out) is out
    assert np.array_equal(out, geodomain.contains(MESH, given, backend="cpu"))
    # Nothing was filled for the bus: the pieces hold what they held at first.
    for kept in buffers.pool._idle:
        assert all((piece.memory.view(np.uint8) == 0xA5).all() for piece in kept.pieces)
        assert all((slot.host_answers == 0xA5).all() for slot in kept.slots)


def test_codes_of_several_meshes_in_one_pass(fake) -> None:
    meshes = [cube(1.0), star(3, radius=(50.0, 40.0, 20.0)), MESH]
    given = points(5000)
    given[17] = np.nan
    expected = geodomain.label_codes(given, meshes, backend="cpu")
    fake.calls.clear()
    assert np.array_equal(geodomain.label_codes(given, meshes, backend="cuda"), expected)
    assert fake.calls.count("htod") == sum(
        -(-min(1024, 5000 - b) // 100) for b in range(0, 5000, 1024)
    )


def test_meshes_of_different_backends_are_refused(fake) -> None:
    meshes = [PointLocator(MESH, backend="cpu"), PointLocator(MESH, backend="cuda")]
    with pytest.raises(ValueError, match="different backends"):
        geodomain.label_codes(points(5), meshes)


def test_the_first_refused_row_is_named(fake) -> None:
    given = np.ones((5000, 3))
    given[[2500, 4000]] = UNDECIDABLE
    with pytest.raises(PointError, match="point 2500 is"):
        geodomain.contains(minute(), given, backend="cuda")
    with pytest.raises(PointError, match="point 2500 is"):
        PointLocator(minute(), backend="cuda").count_crossings(on_device(fake, given))


@pytest.mark.parametrize("depth", [64, 100, 200])
@pytest.mark.parametrize("packed", [False, True])
def test_a_lattice_slab_by_slab(fake, packed: bool, depth: int) -> None:
    axes = [np.linspace(LOW[k], HIGH[k], n) for k, n in enumerate((23, 17, depth))]
    expected = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cpu")
    labels = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cuda")
    assert np.array_equal(labels, expected)
    assert len([call for call in fake.calls if call == "geodomain_lattice_toggle"]) > 3
    pinned = geodomain.pinned_empty(expected.shape, expected.dtype)
    locator = PointLocator(MESH, backend="cuda")
    assert locator.contains_lattice(*axes, packed=packed, out=pinned) is pinned
    assert np.array_equal(pinned, expected)
    assert np.array_equal(
        locator.contains_lattice(*[a[::-1] for a in axes]),
        geodomain.contains_lattice(MESH, *[a[::-1] for a in axes], backend="cpu"),
    )


def test_a_locator_sends_its_mesh_once(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    axes = [np.linspace(LOW[k], HIGH[k], 20) for k in range(3)]
    fake.calls.clear()
    locator.contains_lattice(*axes)
    rulers = 2 * (2 + 20)  # at most: y, z, and one of x for each slab
    assert fake.calls.count("memcpy_htod") <= rulers
    fake.calls.clear()
    geodomain.contains_lattice(geodomain.Mesh(MESH.vertices, MESH.triangles), *axes, backend="cuda")
    assert fake.calls.count("memcpy_htod") > 4


def test_buffers_are_used_again_and_given_back(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(points(3000))
    fake.calls.clear()
    locator.contains(points(3000))
    assert "mem_alloc" not in fake.calls and "pagelocked_empty" not in fake.calls
    held = fake.used_bytes
    cuda.release()
    assert fake.used_bytes < held
    del locator
    cuda.release()
    assert fake.used_bytes == 0 and "leak" not in fake.calls


def test_a_point_takes_at_most_64_bytes(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    before = fake.used_bytes
    locator.contains(points(100_000))
    assert fake.most_bytes - before <= 64 * 4 * 1024
    buffers.pool.drain()


def test_callers_of_several_threads_have_buffers_of_their_own(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    given = [points(4000, seed) for seed in range(6)]
    expected = [geodomain.contains(MESH, p, backend="cpu") for p in given]
    found = [None] * 6
    threads = [
        threading.Thread(target=lambda k=k: found.__setitem__(k, locator.contains(given[k])))
        for k in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_out_is_filled_and_returned(fake, backend: str) -> None:
    given = points(5000)
    for verb, kind in (
        ("contains", bool),
        ("count_crossings", np.int32),
        ("winding_numbers", np.int32),
        ("on_surface", bool),
    ):
        out = np.ones(5000, kind)
        ask = getattr(geodomain, verb)
        assert ask(MESH, given, backend=backend, out=out) is out
        assert np.array_equal(out, ask(MESH, given, backend="cpu"))
        with pytest.raises(ValueError, match=r"out must be a contiguous.*shape \(5000,\)"):
            ask(MESH, given, backend=backend, out=np.empty(5001, kind))
        with pytest.raises(ValueError, match="out must be a contiguous"):
            ask(MESH, given, backend=backend, out=np.empty(5000, np.float32))
        with pytest.raises(ValueError, match="out must be a contiguous"):
            ask(MESH, given, backend=backend, out=np.empty(10_000, kind)[::2])
        with pytest.raises(TypeError, match="not list"):
            ask(MESH, given, backend=backend, out=[False] * 5000)
    codes = np.empty(5000, np.int32)
    assert geodomain.label_codes(given, [MESH], backend=backend, out=codes) is codes


def test_out_of_points_that_are_a_lattice(fake) -> None:
    x, y, z = np.meshgrid(*[np.linspace(LOW[k], HIGH[k], 20) for k in range(3)], indexing="ij")
    given = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    for backend in ("cpu", "cuda"):
        out = np.ones(8000, bool)
        assert geodomain.contains(MESH, given, backend=backend, out=out) is out
        assert np.array_equal(out, PointLocator(MESH, backend="cpu").contains(given))
        with pytest.raises(ValueError, match="out must be"):
            geodomain.contains(MESH, given, backend=backend, out=np.ones(7999, bool))


def test_points_on_the_device_are_used_in_place(fake) -> None:
    given = points(5000)
    there = on_device(fake, given)
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(points(10))
    fake.calls.clear()
    found = locator.contains(there)
    assert "htod" not in fake.calls and "dtoh" in fake.calls  # the refused rows alone
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
        with pytest.raises(ValueError, match="points are on a GPU, which the CPU does not read"):
            getattr(geodomain, verb)(MESH, on_device(fake, points(5)), backend="cpu")
    with pytest.raises(ValueError, match="out is on a GPU"):
        geodomain.contains(MESH, points(5), backend="cpu", out=on_device(fake, np.zeros(5, bool)))
    for wrong in (np.zeros(6, bool), np.zeros(5, np.uint8)):
        with pytest.raises(ValueError, match="out must be a contiguous, writable array of bool"):
            geodomain.contains(MESH, points(5), backend="cuda", out=on_device(fake, wrong))
    read_only = on_device(fake, np.zeros(5, bool))
    read_only.__cuda_array_interface__["data"] = (int(read_only.memory), True)
    with pytest.raises(ValueError, match="writable"):
        geodomain.contains(MESH, points(5), backend="cuda", out=read_only)


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
    with pytest.raises(ValueError, match="the CPU does not read"):
        geodomain.contains(MESH, there, backend="cpu")


def test_an_array_of_another_gpu_is_refused(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.capabilities.append((9, 0))
    there = on_device(fake, points(5))
    monkeypatch.setattr(libcuda, "ordinal", lambda address: 1)
    with pytest.raises(geodomain.DeviceError, match="is on GPU 1, and GPU 0 is used: set"):
        geodomain.contains(MESH, there)


def test_without_the_drivers_library_nothing_is_taken_for_page_locked(fake, monkeypatch) -> None:
    monkeypatch.setattr(libcuda, "library", lambda: None)
    given = points(3000)
    expected = geodomain.contains(MESH, given, backend="cpu")
    pinned = geodomain.pinned_empty((3000, 3), np.float64)
    pinned[:] = given
    assert np.array_equal(geodomain.contains(MESH, pinned, backend="cuda"), expected)
    there = on_device(fake, given, stream=7)
    fake.calls.clear()
    assert np.array_equal(geodomain.contains(MESH, there).get(), expected)
    assert "synchronize" in fake.calls  # all of it, where one stream cannot be waited for
