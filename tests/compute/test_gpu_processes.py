"""A GPU shared with other libraries and processes: their contexts, arrays and faults."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from gpu_scene import MESH, POINTS, expected, locator

import geodomain

__all__ = ["expected", "locator"]

pytestmark = pytest.mark.gpu
pytest.importorskip("pycuda.driver", exc_type=ImportError)

FORKED = """
import os
import numpy as np
import geodomain
from geodomain import DeviceError, PointLocator
mesh = geodomain.synthetic.star_shaped_orebody(frequency=4)
points = np.zeros((1000, 3))
locator, both = PointLocator(mesh, backend="cuda"), PointLocator(mesh)
expected = locator.contains(points)
many = np.resize(points, (9_000_000, 3))  # all the GPUs share them
assert np.array_equal(locator.contains(many)[:1000], expected)
if os.fork() == 0:
    for asked in (points, many):
        try:
            locator.contains(asked)
        except DeviceError as error:
            assert "was forked from one" in str(error), error
        else:
            os._exit(1)
    assert np.array_equal(both.contains(points), expected)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert np.array_equal(locator.contains(points), expected)
print("said")
"""


@pytest.mark.parametrize("devices", ["0", ""], ids=["one", "all"])
def test_a_forked_child_leaves_the_gpu_alone(devices: str, monkeypatch) -> None:
    monkeypatch.setenv("GEODOMAIN_DEVICE", devices)
    command = [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "said\n", done.stdout + done.stderr


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
    with pytest.raises(ValueError, match="the CPU cannot read"):
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
from geodomain.compute import layout
from geodomain.compute.cuda import device
mesh = geodomain.synthetic.star_shaped_orebody(frequency=4)
points = np.zeros((1000, 3))
locator, both = PointLocator(mesh, backend="cuda"), PointLocator(mesh)
locator.contains(points)
# The vertices' address goes astray: an illegal memory access on the device.
view = layout.structure("GridView").read(locator.index.grid.view).copy()
view["mesh"]["vertices"] = 16
locator.index.grid.view = view.tobytes()
low, high = mesh.bounds
points = low + np.random.default_rng(0).random((500_000, 3)) * (high - low)
for attempt in range(2):
    try:
        locator.contains(points)
        raise SystemExit("labels after a crash")
    except DeviceError as error:
        assert "only a new process can use it again" in str(error), error
assert both.contains(points).shape == (500_000,)
print("said")
"""


def test_nothing_is_given_out_after_an_illegal_address(monkeypatch) -> None:
    monkeypatch.setenv("GEODOMAIN_DEVICE", "0")  # for others would answer in its place
    done = subprocess.run([sys.executable, "-P", "-c", CRASH], capture_output=True, text=True)
    assert done.stdout == "said\n", done.stdout + done.stderr


AT_THE_END = """
import threading
import numpy as np
import geodomain
from geodomain import PointLocator, SegmentIntersector, Segments
mesh = geodomain.synthetic.star_shaped_orebody(frequency=4)
locator = PointLocator(mesh, backend="cuda")
def ask():
    global segments, intersector
    locator.contains(np.zeros((9_000_000, 3)))
    segments = Segments(*np.random.default_rng(0).normal(size=(2, 3_000_000, 3)))
    intersector = SegmentIntersector(mesh, backend="cuda")
    intersector.intersect(segments, mode="count")
thread = threading.Thread(target=ask)
thread.start()
thread.join()
print("done")
"""


@pytest.mark.parametrize("devices", ["0", ""], ids=["one", "all"])
def test_what_is_held_to_the_very_end_goes_in_silence(devices: str, monkeypatch) -> None:
    """Of whatever thread and GPU."""
    monkeypatch.setenv("GEODOMAIN_DEVICE", devices)
    done = subprocess.run([sys.executable, "-P", "-c", AT_THE_END], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


NO_NVCC = """
import numpy as np
import geodomain
from geodomain.compute.cuda import cubins
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
    from geodomain.compute.cuda import kernels

    if kernels.shipped("grid.cu") is None:
        pytest.skip("built without nvcc")
    monkeypatch.setenv("GEODOMAIN_CACHE", str(tmp_path))
    done = subprocess.run([sys.executable, "-P", "-c", NO_NVCC], capture_output=True, text=True)
    assert done.stdout == "same\n", done.stdout + done.stderr
