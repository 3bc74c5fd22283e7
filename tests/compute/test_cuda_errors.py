"""What goes wrong on a GPU, each with its sentence, and where the labels come from then."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from fake_gpu import eager, fake, forget, on_device
from fake_gpu import machine_used as auto_taken
from shapes import cube, star

import geodomain
from geodomain import DeviceError, GeodomainWarning, PointLocator
from geodomain.compute import auto, choose, inventory
from geodomain.compute.api import Backend
from geodomain.compute.auto import AutoBackend
from geodomain.compute.cuda import buffers, device, kernels
from geodomain.compute.cuda import driver as cuda_errors

__all__ = ["eager", "fake"]

MESH = star(6)
POINTS = np.random.default_rng(0).normal(size=(20_000, 3)) * 60
EXPECTED = geodomain.contains(MESH, POINTS, backend="cpu")


def test_no_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycuda", None)
    forget()
    with pytest.raises(DeviceError, match=r"no CUDA backend here.*geodomain\[cuda\]"):
        geodomain.contains(MESH, POINTS, backend="cuda")


def test_no_driver(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def init() -> None:
        msg = "cuInit failed: no CUDA-capable device is detected"
        raise fake.RuntimeError(msg)

    monkeypatch.setattr(fake, "init", init)
    with pytest.raises(DeviceError, match="driver does not start: cuInit failed"):
        geodomain.contains(MESH, POINTS, backend="cuda")


def test_a_pycuda_that_does_not_import(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where CUDA_PATH names a folder that is gone, on Windows."""
    (tmp_path / "pycuda").mkdir()
    (tmp_path / "pycuda" / "__init__.py").write_text("raise FileNotFoundError('C:/CUDA/v11/bin')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "pycuda"]:
        monkeypatch.delitem(sys.modules, name)
    forget()
    with pytest.raises(DeviceError, match="no CUDA backend here: C:/CUDA/v11/bin; install"):
        geodomain.contains(MESH, POINTS, backend="cuda")


def test_no_device(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.capabilities.clear()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.raises(DeviceError, match="there is no CUDA device; use"):
        geodomain.contains(MESH, POINTS, backend="cuda")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(DeviceError, match=r"no CUDA device \(CUDA_VISIBLE_DEVICES is ''\); use"):
        geodomain.contains(MESH, POINTS, backend="cuda")


@pytest.mark.parametrize("wish", ["1", "-1", "first"])
def test_no_such_device(fake, monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    monkeypatch.setenv("GEODOMAIN_DEVICE", wish)
    with pytest.raises(
        DeviceError, match=f"GEODOMAIN_DEVICE is '{wish}'; it must be a number from 0 to 0"
    ):
        geodomain.contains(MESH, POINTS, backend="cuda")


def test_one_of_several_devices(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.capabilities.append((7, 5))
    monkeypatch.setenv("GEODOMAIN_DEVICE", "1")
    geodomain.contains(MESH, POINTS, backend="cuda")
    assert {image.split()[1] for image in fake.images} == {b"sm_75"}


def test_the_device_stays_the_one_that_was_used_first(fake, monkeypatch) -> None:
    fake.capabilities.append((7, 5))
    monkeypatch.setenv("GEODOMAIN_DEVICE", "")
    there = on_device(fake, POINTS)
    geodomain.contains(MESH, there)
    monkeypatch.setenv("GEODOMAIN_DEVICE", "1")
    assert np.array_equal(geodomain.contains(MESH, there).get(), EXPECTED)


def test_neither_nvcc_nor_kernels(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "compiler", lambda: None)
    monkeypatch.setattr(kernels, "shipped", lambda name: None)
    with pytest.raises(
        DeviceError,
        match=r"no compiled kernels of grid_build\.cu for sm_90 were found, and no nvcc",
    ):
        geodomain.contains(MESH, POINTS, backend="cuda")


def test_a_card_that_the_wheels_kernels_are_not_for(fake, monkeypatch, tmp_path: Path) -> None:
    fake.capabilities[0] = (6, 1)
    ptx = tmp_path / "k.ptx"
    ptx.write_text("//\n.version 8.0\n.target sm_75\n")
    monkeypatch.setattr(kernels, "compiler", lambda: None)
    monkeypatch.setattr(kernels, "shipped", lambda name: ptx)
    with pytest.raises(DeviceError, match="for sm_61 were found, and no nvcc"):
        geodomain.contains(MESH, POINTS, backend="cuda")
    assert not fake.images
    found = inventory.take()
    assert (found.backend, set(found.gpus[0].kernels.values())) == ("cpu", {"nowhere"})


def test_a_driver_that_is_too_old(fake) -> None:
    fake.refuses = lambda image: True
    with pytest.raises(DeviceError, match=r"driver, which is for CUDA 12\.2, refuses the kernels"):
        geodomain.contains(MESH, POINTS, backend="cuda")


FAILED = "nvcc compilation of kernel.cu failed"
FAILURES = {
    FAILED: f"{FAILED}\n[command: nvcc ...]",
    "nvcc fatal   : Unsupported gpu architecture 'compute_61'": (
        f"{FAILED}\n[command: nvcc error.cu]\n[stderr:\n"
        "nvcc fatal   : Unsupported gpu architecture 'compute_61'\n]"
    ),
    "host_config.h:143:2: error: #error -- unsupported GNU version!": (
        f"{FAILED}\n[stderr:\nIn file included from <command-line>:\n"
        "host_config.h:143:2: error: #error -- unsupported GNU version!\n  143 | #error ...]"
    ),
}


@pytest.mark.parametrize(("why", "said"), FAILURES.items())
def test_an_nvcc_that_fails(fake, monkeypatch: pytest.MonkeyPatch, why: str, said: str) -> None:
    def fails(text: str, **options: object) -> bytes:
        raise fake.CompileError(said)

    monkeypatch.setattr(sys.modules["pycuda.compiler"], "compile", fails)
    monkeypatch.setattr(kernels, "shipped", lambda name: None)
    with pytest.raises(DeviceError, match=rf"nvcc cannot compile grid_build\.cu: {why}; repair"):
        geodomain.contains(MESH, POINTS, backend="cuda")


def test_little_memory_makes_smaller_chunks(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers.pool_of("sent", 4), "_least", 512)
    locator = PointLocator(MESH, backend="cuda")
    fake.room = 37 * 4 * 1300 + 100
    assert np.array_equal(locator.contains(POINTS), EXPECTED)
    assert fake.calls.count("geodomain_look_up") == -(-20_000 // 1024)


def test_no_memory_is_a_case_for_the_cpu(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    fake.room = 1000
    with pytest.warns(
        GeodomainWarning, match="not enough GPU memory for 20,000 points: computed on the CPU"
    ):
        assert np.array_equal(locator.contains(POINTS), EXPECTED)
    with pytest.warns(GeodomainWarning, match="the wireframe's index: computed on the CPU"):
        locator = PointLocator(MESH, backend="cuda")
    assert np.array_equal(locator.contains(POINTS), EXPECTED)
    assert locator.index.size()[0] > 0
    with pytest.warns(GeodomainWarning, match="a lattice of 40 x 30 x 20 blocks"):
        axes = [np.linspace(-60, 60, n) for n in (40, 30, 20)]
        labels = geodomain.contains_lattice(MESH, *axes, backend="cuda")
    assert np.array_equal(labels, geodomain.contains_lattice(MESH, *axes, backend="cpu"))


def test_memory_kept_for_later_calls_makes_way(fake) -> None:
    PointLocator(MESH, backend="cuda").contains(POINTS)
    for make in (
        lambda: PointLocator(MESH, backend="cuda").index.size(),
        lambda: geodomain.DeviceArray(50_000, np.float64).get(),
    ):
        gc.collect()
        assert buffers.pool_of("sent", 4).idle_count == 1
        fake.room = 10_000
        make()  # warnings are errors
        fake.room = 1 << 40
        PointLocator(MESH, backend="cuda").contains(POINTS)


def test_page_locked_memory_is_not_the_gpus(fake, monkeypatch) -> None:
    def scant(*arguments: object) -> None:
        msg = "cuMemHostAlloc failed: out of memory"
        raise fake.MemoryError(msg)

    monkeypatch.setattr(fake, "pagelocked_empty", scant)
    with pytest.raises(DeviceError, match="8,000 bytes of page-locked memory are not available"):
        geodomain.pinned_empty(1000, np.float64)


def test_points_on_the_device_stay_there(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    there = on_device(fake, POINTS)
    fake.room = 100_000
    with pytest.raises(DeviceError, match="not enough GPU memory"):
        locator.contains(there)


@pytest.mark.parametrize("kernel", ["geodomain_look_up", "geodomain_count_full"])
def test_nothing_is_given_out_after_a_crash(fake, kernel: str) -> None:
    locator = PointLocator(MESH, backend="cuda")
    error = fake.LaunchError("cuLaunchKernel failed: an illegal memory access was encountered")
    fake.fail_launch_for_good[kernel] = error
    with pytest.raises(
        DeviceError, match="only a new process can use it again: cuLaunchKernel failed"
    ):
        locator.contains(POINTS)
    fake.calls.clear()
    for ask in (lambda: locator.contains(POINTS), lambda: PointLocator(MESH, backend="cuda")):
        with pytest.raises(DeviceError, match="only a new process can use it again"):
            ask()
    assert not fake.calls  # a dead context is left alone
    fake.crash = None


def test_an_error_that_passes_leaves_the_gpu_in_use(fake) -> None:
    locator = PointLocator(MESH, backend="cuda")
    fake.fail_launch["geodomain_look_up"] = fake.LaunchError("too many resources requested")
    with pytest.raises(
        DeviceError, match="the GPU reported an error: too many resources requested"
    ):
        locator.contains(POINTS)
    fake.fail_launch.clear()
    assert np.array_equal(locator.contains(POINTS), EXPECTED)
    assert getattr(fake.held, "count", 0) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_leaves_the_gpu_alone(fake, eager) -> None:
    both, locator = PointLocator(MESH), PointLocator(MESH, backend="cuda")
    assert both.contains(POINTS).shape == locator.contains(POINTS).shape
    fake.calls.clear()
    reader, writer = os.pipe()
    if os.fork() == 0:
        said = "nothing"
        try:
            try:
                locator.contains(POINTS)
            except DeviceError as error:
                said = str(error)
            said += (
                f" {np.array_equal(both.contains(POINTS), EXPECTED)} {both.index.machine_used()[0]}"
            )
            buffers.release()
            del locator
            said += f" {set(fake.calls) - {'leak'}}"  # what goes with a process is no loss
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.wait()
    said = os.read(reader, 10_000).decode()
    os.close(reader), os.close(writer)
    assert said.startswith("this process was forked from one that had used the GPU")
    assert said.endswith(" True cuda set()")  # where most was asked: before the fork
    assert np.array_equal(locator.contains(POINTS), EXPECTED)


def test_an_interrupt_loses_no_memory_and_no_context(fake, monkeypatch) -> None:
    locator = PointLocator(MESH, backend="cuda")

    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(device, "launch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            locator.contains(POINTS)
    assert getattr(fake.held, "count", 0) == 0
    assert np.array_equal(locator.contains(POINTS), EXPECTED)
    buffers.release()
    del locator
    assert fake.used_bytes == 0


def test_auto_leaves_little_work_to_the_cpu(fake) -> None:
    locator = PointLocator(MESH)
    assert np.array_equal(locator.contains(POINTS), EXPECTED)
    assert fake.calls == []  # not even the driver was asked
    machine, why = auto_taken()
    assert (machine, why) == ("cpu", "too little work for the GPU: 20,000 at once")


def test_auto_takes_the_gpu_once_the_work_so_far_would_have_paid(fake, monkeypatch) -> None:
    monkeypatch.setattr(auto, "_COLD", 2.5 * 20_000 * (15e-9 / 1 - 1e-9))
    locator = PointLocator(MESH, threads=1)
    for expected in ("cpu", "cpu", "cuda"):
        assert np.array_equal(locator.contains(POINTS), EXPECTED)
        assert auto_taken()[0] == expected
    assert locator.contains(POINTS[:10]).shape == (10,)
    assert auto_taken()[0] == "cpu"  # ten points are not worth a launch


def test_auto_takes_the_gpu_and_says_so(fake, eager) -> None:
    assert np.array_equal(geodomain.contains(MESH, POINTS), EXPECTED)
    assert auto_taken() == ("cuda", "enough work for the GPU: 20,000 at once")
    assert np.array_equal(geodomain.label_codes(POINTS, [cube(), MESH], threads=1) == 1, EXPECTED)
    axes = [np.linspace(-60, 60, n) for n in (40, 30, 20)]
    labels = geodomain.contains_lattice(MESH, *axes, packed=True)
    expected = geodomain.contains_lattice(MESH, *axes, packed=True, backend="cpu")
    assert np.array_equal(labels, expected)
    assert auto_taken() == ("cuda", "enough work for the GPU: 24,000 at once")


def test_auto_goes_where_the_points_are(fake) -> None:
    found = geodomain.contains(MESH, on_device(fake, POINTS))
    assert np.array_equal(found.get(), EXPECTED)
    assert auto_taken() == ("cuda", "the points are on the GPU")


def test_auto_falls_back_and_says_so_once(fake, eager) -> None:
    locator = PointLocator(MESH)
    locator.contains(POINTS)
    error = fake.LaunchError("cuLaunchKernel failed: unspecified launch failure")
    fake.fail_launch_for_good["geodomain_count_quick"] = error
    with pytest.warns(GeodomainWarning, match="unspecified launch failure.*the CPU takes over"):
        assert np.array_equal(locator.contains(POINTS), EXPECTED)
    assert np.array_equal(locator.contains(POINTS), EXPECTED)  # and no second warning
    machine, why = auto_taken()
    assert machine == "cpu" and "unspecified launch failure" in why
    fake.crash = None


def test_auto_comes_back_to_the_gpu_after_want_of_memory(fake, eager) -> None:
    asked, chosen = [], choose("auto")
    assert isinstance(chosen, AutoBackend)

    def ask(on: Backend) -> str:
        asked.append(on.name)
        if len(asked) == 1:
            msg = "not enough GPU memory"
            raise cuda_errors.OutOfDeviceMemory(msg)
        return asked[-1]

    with pytest.warns(GeodomainWarning, match="not enough GPU memory; the CPU takes over"):
        assert chosen.choice.either(1.0, 9, ask) == "cpu"
    assert auto_taken() == ("cpu", "not enough GPU memory")
    assert chosen.choice.either(1.0, 9, ask) == "cuda"


def test_auto_without_a_driver_stays_quiet(fake, eager) -> None:
    fake.capabilities.clear()
    assert np.array_equal(geodomain.contains(MESH, POINTS), EXPECTED)
    machine, why = auto_taken()
    assert machine == "cpu" and "there is no CUDA device" in why


def test_a_version_is_said_as_people_do() -> None:
    assert cuda_errors.version_text(12020) == "12.2" and cuda_errors.version_text(13000) == "13.0"


@pytest.mark.parametrize("own", [True, False], ids=["ours", "the driver's"])
def test_what_a_failed_call_held_goes_while_the_context_is_current(fake, own: bool) -> None:
    gone: list[int | None] = []

    class Held:
        def __del__(self) -> None:
            gone.append(fake.current)

    def ask(held: Held) -> None:
        raise cuda_errors.DeadContext("over") if own else device.driver().LogicError("refused")

    error: DeviceError | None = None
    try:
        with device.current():
            ask(Held())
    except DeviceError as raised:
        error = raised  # which keeps its frames
    assert error is not None
    assert gone == [0]
