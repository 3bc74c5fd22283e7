"""What only a GPU can show: other libraries in the process, streams, faults, real copies."""

from __future__ import annotations

import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from shapes import cube, star

import geodomain
from geodomain import PointLocator
from geodomain.backends import device, lattice_in_place, lattice_parts, libcuda, pools

pytestmark = pytest.mark.gpu
pytest.importorskip("pycuda.driver", exc_type=ImportError)

MESH = star(20)
POINTS = np.random.default_rng(0).normal(size=(3_000_000, 3)) * 60


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return geodomain.contains(MESH, POINTS, backend="cpu")


@pytest.fixture(scope="module")
def locator() -> PointLocator:
    return PointLocator(MESH, backend="cuda")


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


def test_floats_first_give_the_same_labels(monkeypatch, expected) -> None:
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
    from geodomain.backends import cpu

    arrays = MESH.vertices, MESH.triangles, MESH.bounds
    host = cpu.Index(*arrays, closed=True, threads=2, density=1.0).size()
    device = locator.index.size()
    assert np.allclose(device[:2], host[:2], rtol=0.01) and device[2:] == (1, 0)


def test_page_locked_memory_is_known(locator) -> None:
    pinned, ordinary = geodomain.pinned_empty(1000, np.float64), np.empty(1_000_000)
    with device.current():
        assert libcuda.is_pinned(pinned.ctypes.data, pinned.nbytes)
        assert not libcuda.is_pinned(ordinary.ctypes.data, ordinary.nbytes)


def test_numbers_and_surfaces(locator) -> None:
    cpu, some = PointLocator(MESH, backend="cpu"), POINTS[:300_000]
    for verb in ("count_crossings", "winding_numbers", "on_surface"):
        assert np.array_equal(getattr(locator, verb)(some), getattr(cpu, verb)(some))
    assert np.array_equal(locator.contains(some, rule="winding"), cpu.contains(some))


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


@pytest.mark.parametrize("few", [0, lattice_parts._FEW])
@pytest.mark.parametrize("width", [1, 37])
@pytest.mark.parametrize("depth", [1, 63, 64, 65, 100, 333, 1000, 2100])
def test_lattices_that_stay_on_the_device(
    locator, depth: int, width: int, few: int, monkeypatch
) -> None:
    monkeypatch.setattr(lattice_parts, "_FEW", few)
    axes = [np.linspace(-110, 110, n) for n in (61, width, depth)]
    axes = [axis if len(axis) > 1 else np.zeros(1) for axis in axes]
    for packed in (False, True):
        expected = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cpu")
        assert expected.any()
        for slab in (lattice_in_place.SLAB_BYTES, 50_000):
            monkeypatch.setattr(lattice_in_place, "SLAB_BYTES", slab)
            out = geodomain.DeviceArray(expected.shape, expected.dtype)
            assert locator.contains_lattice(*axes, packed=packed, out=out) is out
            assert np.array_equal(out.get(), expected)
        assert np.array_equal(locator.contains_lattice(*axes, packed=packed), expected)


@pytest.mark.parametrize("few", [0, lattice_parts._FEW])
@pytest.mark.parametrize("depth", [65, 100, 333])
def test_lattices_at_any_address_leave_the_rest_alone(
    locator, depth: int, few: int, monkeypatch
) -> None:
    monkeypatch.setattr(lattice_parts, "_FEW", few)
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
    monkeypatch.setattr(lattice_parts, "UNSURE_ROOM", 1)
    pools.release()
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
        with pytest.raises(geodomain.DeviceError, match="the GPU refuses: cuMemcpyHtoDAsync"):
            locator.contains(POINTS)
    assert threading.active_count() == running
    assert np.array_equal(locator.contains(POINTS), expected)


FORKED = """
import os
import numpy as np
import geodomain
from geodomain import DeviceError, PointLocator
mesh = geodomain.synthetic.star_shaped_orebody(frequency=4)
points = np.zeros((1000, 3))
locator, both = PointLocator(mesh, backend="cuda"), PointLocator(mesh)
expected = locator.contains(points)
if os.fork() == 0:
    try:
        locator.contains(points)
    except DeviceError as error:
        assert "was forked from one" in str(error), error
        assert np.array_equal(both.contains(points), expected)
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert np.array_equal(locator.contains(points), expected)
print("said")
"""


def test_a_forked_child_leaves_the_gpu_alone() -> None:
    command = [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "said\n", done.stdout + done.stderr


def test_answers_over_points_and_doubles_at_odd_addresses(locator) -> None:
    wide = geodomain.DeviceArray((1001, 3), np.float64)
    start, _ = wide.__cuda_array_interface__["data"]
    told = {**wide.__cuda_array_interface__, "shape": (1000, 3), "data": (start + 4, False)}
    with pytest.raises(ValueError, match="multiples of 8 bytes"):
        locator.contains(SimpleNamespace(__cuda_array_interface__=told))
    over = {**told, "shape": (1001,), "typestr": "|b1", "data": (start, False)}
    with pytest.raises(ValueError, match="shares memory"):
        locator.contains(wide, out=SimpleNamespace(__cuda_array_interface__=over))


def test_cupy_on_a_stream_of_its_own(locator, expected) -> None:
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        there = cupy.zeros(POINTS.shape)
        for _ in range(200):  # work that is still going on when the points are asked for
            there += 1.0
        there[...] = cupy.asarray(POINTS)
        labels = locator.contains(there)
    assert np.array_equal(cupy.asarray(labels).get(), expected)
    out = cupy.empty(len(POINTS), bool)
    assert locator.contains(cupy.asfortranarray(there), out=out) is out
    assert np.array_equal(out.get(), expected)
    assert float(cupy.arange(10.0).sum()) == 45.0
    with pytest.raises(TypeError, match="float64, not float32"):
        locator.contains(there.astype(cupy.float32))


def test_pytorch_keeps_its_context(locator, expected) -> None:
    torch = pytest.importorskip("torch")
    there = torch.from_numpy(POINTS).cuda() * 1.0
    labels = locator.contains(there)
    found = torch.as_tensor(labels, device="cuda")
    assert found.dtype == torch.bool and np.array_equal(found.cpu().numpy(), expected)
    assert np.array_equal(locator.contains(there.T.contiguous().T).get(), expected)
    out = torch.zeros(len(POINTS), dtype=torch.int32, device="cuda")
    locator.count_crossings(there, out=out)
    assert np.array_equal(out.cpu().numpy() % 2 == 1, expected)
    assert float((torch.ones(8, device="cuda") * 2).sum()) == 16.0
    pinned = torch.from_numpy(POINTS).pin_memory().numpy()
    assert np.array_equal(locator.contains(pinned), expected)
    with pytest.raises(ValueError, match="the CPU does not read"):
        geodomain.contains(MESH, there, backend="cpu")


class OnlyDlpack:
    """A tensor that offers DLPack and nothing else."""

    def __init__(self, tensor: object) -> None:
        self.tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream: int) -> object:
        return self.tensor.__dlpack__(stream=stream)


def test_dlpack(locator, expected) -> None:
    torch = pytest.importorskip("torch")
    with torch.cuda.stream(torch.cuda.Stream()):
        there = torch.zeros(POINTS.shape, dtype=torch.float64, device="cuda")
        for _ in range(200):
            there += 1.0
        there.copy_(torch.from_numpy(POINTS))
        assert np.array_equal(locator.contains(OnlyDlpack(there)).get(), expected)


OTHER_ORDERS = """
import numpy as np
import geodomain
import {library}
{use}
assert geodomain.contains(geodomain.synthetic.star_shaped_orebody(frequency=4),
                          np.zeros((10, 3)), backend="cuda").shape == (10,)
{use}
"""

USES = {
    "torch": 'assert float(torch.ones(4, device="cuda").sum()) == 4.0',
    "cupy": "assert float(cupy.ones(4).sum()) == 4.0",
}


@pytest.mark.parametrize("library", USES)
def test_a_library_that_was_there_first_goes_on(library: str) -> None:
    pytest.importorskip(library)
    code = OTHER_ORDERS.format(library=library, use=USES[library])
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "PyCUDA" not in done.stderr, done.stderr


CRASH = """
import numpy as np
import geodomain
from geodomain import DeviceError, PointLocator
from geodomain.backends import device
mesh = geodomain.synthetic.star_shaped_orebody(frequency=4)
points = np.zeros((1000, 3))
locator, both = PointLocator(mesh, backend="cuda"), PointLocator(mesh)
locator.contains(points)
good = locator.index.grid.view
# The vertices' address goes astray: an illegal memory access on the device.
locator.index.grid.view = (16).to_bytes(8, "little") + good[8:]
low, high = mesh.bounds
points = low + np.random.default_rng(0).random((500_000, 3)) * (high - low)
for attempt in range(2):
    try:
        locator.contains(points)
        raise SystemExit("labels after a crash")
    except DeviceError as error:
        assert "only a new process mends" in str(error), error
assert both.contains(points).shape == (500_000,)
print("said")
"""


def test_nothing_is_given_out_after_an_illegal_address() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", CRASH], capture_output=True, text=True)
    assert done.stdout == "said\n", done.stdout + done.stderr


NO_NVCC = """
import numpy as np
import geodomain
from geodomain.backends import cubins
cubins.compiler = lambda: None
mesh = geodomain.synthetic.star_shaped_orebody(frequency=10)
points = np.random.default_rng(0).normal(size=(100_000, 3)) * np.abs(mesh.bounds).max()
assert [image.origin for image in cubins.images("grid.cu", "sm_90", bytes)] == ["PTX"]
gpu = geodomain.contains(mesh, points, backend="cuda")
assert np.array_equal(gpu, geodomain.contains(mesh, points, backend="cpu"))
axes = [np.linspace(low, high, 70) for low, high in zip(*mesh.bounds)]
gpu = geodomain.contains_lattice(mesh, *axes, packed=True, backend="cuda")
assert np.array_equal(gpu, geodomain.contains_lattice(mesh, *axes, packed=True, backend="cpu"))
print("same")
"""


def test_the_wheels_ptx_gives_the_same_labels(tmp_path, monkeypatch) -> None:
    from geodomain.backends import cubins

    if cubins.shipped("grid.cu") is None:
        pytest.skip("built without nvcc")
    monkeypatch.setenv("GEODOMAIN_CACHE", str(tmp_path))
    done = subprocess.run([sys.executable, "-P", "-c", NO_NVCC], capture_output=True, text=True)
    assert done.stdout == "same\n", done.stdout + done.stderr


def test_little_memory_makes_smaller_chunks_and_then_the_cpu(expected, monkeypatch) -> None:
    from geodomain.backends import buffers

    locator = PointLocator(MESH, backend="cuda")
    pools.release()
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
                pools.release()
                with pytest.warns(geodomain.GeodomainWarning, match="done on the CPU"):
                    assert np.array_equal(locator.contains(POINTS), expected)
            else:
                assert np.array_equal(locator.contains(POINTS), expected)
                assert buffers.pool._idle[0].room <= most // 24


def _raise(error: Exception) -> None:
    raise error


def test_label_codes_of_meshes_on_the_gpu() -> None:
    meshes = [cube(30.0), MESH]
    some = POINTS[:500_000].copy()
    some[::1000] = np.nan
    expected = geodomain.label_codes(some, meshes, backend="cpu")
    assert np.array_equal(geodomain.label_codes(some, meshes, backend="cuda"), expected)
