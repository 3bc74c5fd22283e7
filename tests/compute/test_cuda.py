"""The GPU's host side with a stand-in driver: labels, transfers, buffers, out=."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from fake_gpu import fake, forget, on_device, small_buffers
from shapes import UNDECIDABLE, cube, minute, star

import geodomain
from geodomain import PointError, PointLocator
from geodomain.compute import cpu
from geodomain.compute.cuda import buffers, device, pipeline
from geodomain.compute.cuda import points as cuda
from geodomain.compute.cuda.buffers import Stager
from geodomain.compute.data import keeping
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.mesh.edges import signed_rim

__all__ = ["fake", "small_buffers"]

MESH = star(6)
LOW, HIGH = MESH.bounds

pytestmark = pytest.mark.usefixtures("small_buffers")


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


@pytest.mark.parametrize("count", [0, 1, 255, 10_000])
def test_answers_of_several_words(fake, count: int) -> None:
    given = points(count)
    cup = geodomain.Mesh(MESH.vertices, MESH.triangles[50:])
    gpu, cpu = (PointLocator(cup, backend=b, allow_open=True) for b in ("cuda", "cpu"))
    assert np.array_equal(gpu.count_sides(given), cpu.count_sides(given))
    found, expected = gpu.generalised_winding(given), cpu.generalised_winding(given)
    assert np.array_equal(found.number, expected.number)
    assert np.array_equal(found.bound, expected.bound)
    inside = gpu.contains(given, rule="winding", out=np.empty(count, np.bool_))
    assert np.array_equal(inside, expected.inside)
    with pytest.raises(PointError, match="point 0 "):
        gpu.generalised_winding([UNDECIDABLE])
    assert "leak" not in fake.calls


@pytest.mark.parametrize("order", ["C", "F"])
def test_page_locked_arrays_go_straight(fake, order: str) -> None:
    given = points(5000)
    locator = PointLocator(MESH, backend="cuda")
    with device.current():
        pinned = fake.pagelocked_empty((5000, 3), np.float64, order=order)
    pinned[:] = given
    out = geodomain.pinned_empty(5000, bool)
    assert locator.contains(pinned, out=out) is out
    assert np.array_equal(out, geodomain.contains(MESH, given, backend="cpu"))
    # Nothing was filled for the bus.
    assert buffers.pool_of("sent", 4).idle_count and not buffers.rings.idle_count
    for kept in buffers.pool_of("sent", 4)._idle:
        assert all((slot.host_answers == 0xA5).all() for slot in kept.slots)


def test_codes_of_several_meshes_in_one_pass(fake) -> None:
    meshes = [cube(1.0), star(3, radius=(50.0, 40.0, 20.0)), MESH]
    given = points(5000)
    given[17] = np.nan
    expected = geodomain.label_codes(given, meshes, backend="cpu")
    fake.calls.clear()
    assert np.array_equal(geodomain.label_codes(given, meshes, backend="cuda"), expected)
    assert fake.calls.count("htod") == sent(5000)
    assert fake.calls.count("geodomain_codes_look_up") == 5  # whatever the number of meshes


def sent(rows: int) -> int:
    """Count the pieces of one pass over points."""
    return -(-rows // buffers.PIECE_ROWS)


DOMAINS = {"a": cube(1.0), "b": star(3, radius=(50.0, 40.0, 20.0)), "c": MESH}


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_labelling_sends_its_points_once(fake, order: str) -> None:
    given = np.asarray(points(3000), order=order)
    options = {"count_on_wall": True, "rule": "winding"}
    expected = Labeller(DOMAINS, LabelSettings(backend="cpu", **options)).label(given)
    labeller = Labeller(DOMAINS, LabelSettings(backend="cuda", **options))
    held = fake.used_bytes
    fake.calls.clear()
    found = labeller.label(given)
    assert np.array_equal(found.codes, expected.codes)
    assert np.array_equal(found.on_wall, expected.on_wall)
    assert fake.calls.count("geodomain_on_surface") == 3 * 3
    assert fake.calls.count("htod") == sent(3000)
    labeller.label(points(3000, seed=1))
    assert fake.calls.count("htod") == 2 * sent(3000)
    buffers.release()
    assert fake.used_bytes == held and "leak" not in fake.calls


def test_points_that_cannot_be_kept_are_sent_again(fake, monkeypatch) -> None:
    given = points(3000)
    expected = Labeller(DOMAINS, LabelSettings(rule="winding", backend="cpu")).label(given).codes
    labeller = Labeller(DOMAINS, LabelSettings(rule="winding", backend="cuda"))
    labeller.label(given)
    fake.room = 3000
    fake.calls.clear()
    assert np.array_equal(labeller.label(given).codes, expected)
    assert fake.calls.count("htod") == 3 * sent(3000)


def test_points_that_are_kept_by_chunks_of_other_sizes(fake) -> None:
    """As where another thread has the larger buffers in between."""
    given = points(1000)
    with device.current():
        pinned = fake.pagelocked_empty((1000, 3), np.float64, order="F")
    pinned[:] = given
    expected = geodomain.contains(MESH, given, backend="cpu")
    locator = PointLocator(MESH, backend="cuda")
    with keeping(pinned) as kept:
        for room in (256, 128, 256, 512, 128):
            with buffers_of(room):
                assert np.array_equal(locator.contains(kept), expected)
    assert "leak" not in fake.calls


@contextlib.contextmanager
def buffers_of(room: int) -> Iterator[None]:
    """Let chunks be of so many points."""
    buffers.release()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "room_for", lambda *_: room)
        yield


def test_a_labelling_says_what_the_cpu_did_for_want_of_memory(fake) -> None:
    labeller = Labeller(DOMAINS, LabelSettings(rule="winding", backend="cuda"))
    assert labeller.machine == ("cuda", "asked for")
    labeller.label(points(1000))
    assert labeller.machine == ("cuda", "asked for")
    buffers.release()
    fake.room = 1000
    with pytest.warns(geodomain.GeodomainWarning, match="computed on the CPU"):
        labeller.label(points(500))
    want = "not enough GPU memory for 500 points"
    assert labeller.machine == (
        "cuda",
        f"asked for; the CPU computed 1,500 of 4,500 points: {want}",
    )
    with pytest.warns(geodomain.GeodomainWarning, match="wireframe's index"):
        labeller = Labeller(DOMAINS, LabelSettings(rule="winding", backend="cuda"))
    labeller.label(points(500))
    assert labeller.machine == ("cpu", "not enough GPU memory for the wireframe's index")


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
    assert fake.calls.count("memcpy_htod") == 1  # all the rulers
    fake.calls.clear()
    geodomain.contains_lattice(geodomain.Mesh(MESH.vertices, MESH.triangles), *axes, backend="cuda")
    assert fake.calls.count("memcpy_htod") == 3


def test_buffers_are_used_again_and_given_back(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    locator.contains(points(3000))
    fake.calls.clear()
    locator.contains(points(3000))
    assert "mem_alloc" not in fake.calls and "pagelocked_empty" not in fake.calls
    held = fake.used_bytes
    buffers.release()
    assert fake.used_bytes < held
    del locator
    buffers.release()
    assert fake.used_bytes == 0 and "leak" not in fake.calls


def test_a_point_takes_at_most_64_bytes(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    fake.most_bytes = before = fake.used_bytes
    locator.contains(points(100_000))
    assert fake.most_bytes - before <= 64 * 4 * 1024
    buffers.pool_of("sent", 4).drain()


def test_cards_with_slow_doubles_try_floats_first(fake) -> None:
    expected = geodomain.contains(MESH, points(1000), backend="cpu")
    for ratio, how in ((2, "quick"), (64, "single")):
        forget()
        fake.attributes["ratio"], fake.calls = ratio, []
        locator = PointLocator(MESH, backend="cuda")
        assert np.array_equal(locator.contains(points(1000)), expected)
        assert np.array_equal(geodomain.label_codes(points(1000), [locator]) == 0, expected)
        calls = {call.removeprefix("geodomain_") for call in fake.calls}
        found = {call for call in calls if call.startswith(("count_", "codes_"))}
        assert found == {"codes_look_up"} | {
            f"{verb}_{end}" for verb in ("count", "codes") for end in (how, "full")
        }


@pytest.mark.parametrize("crowded", [False, True])
def test_crowded_cells_are_built_on_the_host(fake, crowded: bool) -> None:
    fake.crowded = crowded
    locator = PointLocator(MESH, backend="cuda")
    assert locator.contains(points(1000)).any()
    host = PointLocator(MESH, backend="cpu")
    assert (locator.index.size()[0] > 1) == crowded
    assert np.array_equal(locator.contains(points(1000)), host.contains(points(1000)))


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


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("which", [1, 4])
def test_an_error_on_the_way(fake, monkeypatch, which: int, sent: bool) -> None:
    """No thread waits for ever, no memory is lost, and the next call has what it needs."""
    locator = PointLocator(MESH, backend="cuda")
    buffers.release()
    held, running, calls = fake.used_bytes, threading.active_count(), []
    place, name = (fake, "memcpy_htod_async") if sent else (Stager, "copy")
    real = getattr(place, name)

    def fail(*arguments: object) -> None:
        calls.append(name)
        if len(calls) >= which:
            msg = "cuMemcpy failed: invalid argument"
            raise fake.LogicError(msg)
        real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, fail)
        with pytest.raises(
            geodomain.DeviceError, match="the GPU reported an error: cuMemcpy failed"
        ):
            locator.contains(points(6000))
    assert threading.active_count() == running
    assert fake.used_bytes == held and "leak" not in fake.calls
    expected = geodomain.contains(MESH, points(6000), backend="cpu")
    assert np.array_equal(locator.contains(points(6000)), expected)


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


def test_page_locked_arrays(fake) -> None:
    array = geodomain.pinned_empty((5, 3), np.int32)
    assert array.shape == (5, 3) and array.dtype == np.int32 and array.flags.writeable
    assert geodomain.pinned_empty(0, bool).shape == (0,)
    assert geodomain.pinned_empty((0, 3), float).shape == (0, 3)
    array[:] = 7
    part = array[1:]
    del array
    assert (part == 7).all()


def test_memory_that_an_error_leaves_is_freed_in_time(fake) -> None:
    """In another thread than the one that made the context, where PyCUDA would leak it."""
    locator = PointLocator(MESH, backend="cuda")
    buffers.release()
    held, found = fake.used_bytes, []
    fake.room = 37 * 256 * 3

    def ask() -> None:
        with pytest.warns(geodomain.GeodomainWarning, match="computed on the CPU"):
            found.append(locator.contains(points(3000)))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert np.array_equal(found[0], geodomain.contains(MESH, points(3000), backend="cpu"))
    assert "leak" not in fake.calls and fake.used_bytes == held


@pytest.mark.parametrize("verb", ["sides", "winding"])
def test_one_launch_answers_however_wide_the_answer(fake, verb: str) -> None:
    """A pair of counts, and a pair of doubles: eight bytes and sixteen."""
    mesh = geodomain.Mesh(MESH.vertices, MESH.triangles[1:])
    given = points(200)  # a chunk
    index, on_cpu = (kind(mesh, threads=2) for kind in (cuda.CudaPointIndex, cpu.CpuPointIndex))
    options = {"rim": signed_rim(mesh)} if verb == "winding" else {}
    dtype = np.float64 if verb == "winding" else np.int32
    found, expected = np.empty((200, 2), dtype), np.empty((200, 2), dtype)
    columns = tuple(given[:, axis] for axis in range(3))
    fake.calls.clear()
    assert getattr(index, verb)(columns, found, 2, **options) == -1
    assert fake.calls.count(f"geodomain_{verb}") == 1
    getattr(on_cpu, verb)(columns, expected, 2, **options)
    assert np.array_equal(found, expected)
