"""Where "auto" asks about segments: the CPU for few, the GPU where it pays, as it is with points.

The GPU is a stand-in driver, and its surface the CPU's by another name.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from crossings import adversarial, same
from fake_gpu import eager, fake, on_device
from fake_gpu import machine_used as auto_taken
from shapes import star

from geodomain import DeviceError, GeodomainWarning, SegmentIntersector, Segments, intersect
from geodomain.compute import _choosing, auto, choose, gpus, machine_used
from geodomain.compute import cpu as cpu_segments
from geodomain.compute.cuda import device
from geodomain.compute.cuda import segments as cuda_segments

__all__ = ["eager", "fake"]

MESH = star(6)
STARTS, ENDS = adversarial(MESH, 400, np.random.default_rng(2))
MODES = ("boolean", "nearest", "count", "all")
EXPECTED = {mode: intersect(MESH, STARTS, ENDS, mode=mode, backend="cpu") for mode in MODES}


@pytest.fixture
def gpu(fake, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a surface where the GPU's would be; return what it is asked."""
    asked: list[str] = []

    class Surface(cpu_segments.CpuSegmentIndex):
        def __init__(self, *arrays, strategy: str, grid: int | None) -> None:
            super().__init__(*arrays, strategy=strategy, threads=1)

        def _ask(self, function: str, *arguments) -> None:
            asked.append(function)
            super()._ask(function, *arguments)

        def close(self) -> None:
            asked.append("close")
            super().close()

    monkeypatch.setattr(gpus, "CudaSegmentIndex", Surface)
    return asked


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch, eager) -> None:
    """Let anything pay for the GPU."""
    for what in ("segment", "triangle"):
        monkeypatch.setitem(auto.COSTS, what, auto.COSTS[what]._replace(cuda=0.0))


def test_few_segments_stay_on_the_cpu(gpu, fake) -> None:
    intersector = SegmentIntersector(MESH)
    assert intersector.machine == ("cpu", "no query yet")
    for mode in MODES:
        assert same(intersector.intersect((STARTS, ENDS), mode=mode), EXPECTED[mode])
    assert gpu == fake.calls == []  # not even the driver was asked
    machine, why = intersector.machine
    assert machine == "cpu" and why == "too little work for the GPU: 400 at once"


def test_many_segments_go_to_the_gpu(gpu, free) -> None:
    intersector = SegmentIntersector(MESH)
    for mode in MODES:
        assert same(intersector.intersect((STARTS, ENDS), mode=mode), EXPECTED[mode])
    assert len(gpu) == 5  # "all" counts first
    assert intersector.machine[0] == "cuda"
    assert set(intersector.build_times) == set(cpu_segments.STEPS)
    intersector.close()
    assert "close" in gpu


def test_the_gpu_is_taken_once_the_work_so_far_would_have_paid(gpu, monkeypatch) -> None:
    monkeypatch.setitem(auto.COSTS, "segment", auto.Cost(1.0, 0.0))
    monkeypatch.setitem(auto.COSTS, "triangle", auto.Cost(0.0, 0.0))
    monkeypatch.setattr(auto, "_COLD", 2.5 * 400)
    intersector = SegmentIntersector(MESH, threads=1)
    for expected in ("cpu", "cpu", "cuda"):
        intersector.intersect((STARTS, ENDS))
        assert auto_taken()[0] == expected


def test_a_large_surface_pays_by_itself(gpu, monkeypatch) -> None:
    """Building is work too, and it is done once."""
    monkeypatch.setitem(auto.COSTS, "segment", auto.Cost(0.0, 0.0))
    monkeypatch.setitem(auto.COSTS, "triangle", auto.Cost(1.0, 0.5))
    monkeypatch.setattr(auto, "_COLD", 1.0)
    intersector = SegmentIntersector(MESH, threads=1)
    for _ in range(2):
        intersector.intersect((STARTS, ENDS))
        assert auto_taken()[0] == "cuda"


def test_points_and_segments_share_one_record(gpu, monkeypatch) -> None:
    monkeypatch.setattr(_choosing().choice.record, "saved", auto._COLD)
    SegmentIntersector(MESH).intersect((STARTS, ENDS))
    assert auto_taken()[0] == "cuda"


def test_the_cpu_takes_over_from_a_gpu_that_fails(gpu, free, monkeypatch) -> None:
    def fail(*_: object) -> None:
        message = "the GPU fell off the bus"
        raise DeviceError(message)

    intersector = SegmentIntersector(MESH)
    monkeypatch.setattr(gpus.CudaSegmentIndex, "_ask", fail)
    with pytest.warns(GeodomainWarning, match="fell off the bus; the CPU takes over"):
        assert same(intersector.intersect((STARTS, ENDS)), EXPECTED["boolean"])
    assert intersector.machine == ("cpu", "the GPU fell off the bus")


def test_boxes_without_a_question_are_the_cpus(gpu) -> None:
    pytest.importorskip("pyvista")
    assert SegmentIntersector(MESH).to_pyvista(0).n_cells > 0
    assert gpu == []


def test_without_pycuda_there_is_nothing_to_choose(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert choose("auto") is choose("cpu")
    assert SegmentIntersector(MESH).machine == ("cpu", "PyCUDA is not installed")
    assert SegmentIntersector(MESH, backend="cpu").machine == ("cpu", "asked for")


def test_ends_on_a_gpu_are_refused_with_a_way_out(fake) -> None:
    there = on_device(fake, STARTS)
    for ask in (lambda: intersect(MESH, there, ENDS), lambda: Segments(STARTS, there)):
        with pytest.raises(TypeError, match=r"(starts|ends) are on a GPU.* cupy\.asnumpy"):
            ask()


def test_what_a_question_sends_to_the_gpu_is_not_mixed(monkeypatch) -> None:
    """Threads that share segments share the list of what is unsure."""
    sent: list[int] = []

    def send(*_: object) -> None:
        sent.append(threading.get_ident())
        time.sleep(0.001)

    kept = SimpleNamespace(rows=1, ends=0, sorted=False, unsure=lambda: send() or b"")
    surface = object.__new__(cuda_segments.CudaSegmentIndex)
    surface._held = SimpleNamespace(view=b"", frame=None)
    surface._grid = 1
    monkeypatch.setattr(device, "launch", send)
    start = threading.Barrier(4)

    def ask() -> None:
        start.wait()
        for _ in range(5):
            surface.ask("boolean", kept, 0)

    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(ask) for _ in range(4)]:
            each.result()
    assert len(sent) == 4 * 5 * 3
    assert all(len(set(sent[k : k + 3])) == 1 for k in range(0, len(sent), 3))


def test_a_gpu_that_is_asked_for_is_named(fake) -> None:
    surface = object.__new__(cuda_segments.CudaSegmentIndex)
    assert machine_used("cuda", [surface]) == ("cuda", "asked for")
