"""PTX that the driver makes into machine code, several kernels at a time, and its cache."""

from __future__ import annotations

import re
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fake_cuda import FakeCuda
from fake_gpu import fake, forget
from shapes import star

import geodomain
from geodomain import (
    DeviceError,
    GeodomainWarning,
    Mesh,
    PointLocator,
    SegmentIntersector,
    Segments,
)
from geodomain.compute.cuda import device, driver, kernels
from geodomain.compute.native import sources

__all__ = ["fake"]

MESH = star(6)
POINTS = np.random.default_rng(0).normal(size=(5_000, 3)) * 60
EXPECTED = geodomain.contains(MESH, POINTS, backend="cpu")
SOLIDS = [Mesh(MESH.vertices * 0.5, MESH.triangles), MESH]
BUILD, ASK = kernels.TOGETHER[0], kernels.TOGETHER[1]


@pytest.fixture
def ptx(fake: FakeCuda, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCuda:
    """Take nvcc away, and give every kernel file PTX of all its kernels."""

    def shipped(name: str) -> Path:
        path = tmp_path / Path(name).with_suffix(".ptx")
        entries = "".join(
            f"\n.visible .entry {kernel}(\n)\n{{\n\tret;\n}}\n" for kernel in kernels_of(name)
        )
        path.write_text(f"//\n.version 8.0\n.target sm_75\n{entries}")
        return path

    monkeypatch.setattr(kernels, "compiler", lambda: None)
    monkeypatch.setattr(kernels, "shipped", shipped)
    return fake


def kernels_of(name: str) -> list[str]:
    """Return the names of a file's kernels, as its source has them."""
    text = (sources() / "launch" / name).read_text()
    return sorted(set(re.findall(r"\b(geodomain_\w+)\(", text)))


def ask() -> None:
    assert np.array_equal(geodomain.contains(MESH, POINTS, backend="cuda"), EXPECTED)


def cached() -> list[Path]:
    """Name what is kept once all that was begun is done."""
    for made in kernels._made.values():
        made.result()
    return sorted(kernels.folder().glob("*.cubin"))


def code(kernel: str, architecture: str = "sm_90") -> bytes:
    """Return what the stand-in makes of a kernel."""
    return f"LINKED {architecture} {kernel}".encode()


def test_what_a_question_launches_is_made_and_nothing_else(ptx) -> None:
    ask()
    assert sorted(ptx.library.linked) == sorted((*BUILD, *ASK))
    assert ptx.images == [code(kernel) for kernel in (*BUILD, *ASK)]
    assert len(cached()) == len(BUILD) + len(ASK) and not ptx.library.open


def segments(mode: str) -> Callable[[], object]:
    def intersect() -> None:
        with SegmentIntersector(MESH, backend="cuda") as surface:
            surface.intersect(Segments(POINTS, POINTS + 30), mode=mode)

    return intersect


AXES = [np.linspace(-50, 50, 40)] * 3
QUESTIONS: dict[str, Callable[[], object]] = {
    "codes": lambda: geodomain.label_codes(POINTS, SOLIDS, backend="cuda"),
    "crossings": lambda: PointLocator(MESH, backend="cuda").count_crossings(POINTS),
    "surface": lambda: PointLocator(MESH, backend="cuda").on_surface(POINTS),
    "lattice": lambda: geodomain.contains_lattice(MESH, *AXES, backend="cuda"),
    "distances": lambda: geodomain.distances(MESH, POINTS, backend="cuda"),
    **{mode: segments(mode) for mode in ("boolean", "count", "nearest", "all")},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_question_has_more_made_than_it_launches(ptx, question: str) -> None:
    QUESTIONS[question]()
    assert sorted(ptx.library.linked) == sorted({name for _, name in ptx.launched})


def test_what_is_begun_together_is_of_one_file() -> None:
    files = [path.name for path in (sources() / "launch").glob("*.cu")]
    homes = {kernel: file for file in files for kernel in kernels_of(file)}
    for some in kernels.TOGETHER:
        assert len({homes[kernel] for kernel in some}) == 1, some


def test_kernels_are_made_at_the_same_time(ptx, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for another one, which would last for ever one after another."""
    both = threading.Barrier(2)
    monkeypatch.setattr(kernels, "thread_count", lambda threads: 4)
    monkeypatch.setattr(kernels, "TOGETHER", (BUILD[:4], BUILD[4:8], (BUILD[8], "none"), ASK[:2]))
    single = {BUILD[8], ASK[2]}
    ptx.library.fails = lambda text: any(f"{name}(" in text for name in single)
    ptx.library.meanwhile = lambda: both.wait(timeout=10)
    ask()
    assert len(cached()) == 10


def test_the_next_process_has_nothing_made(ptx) -> None:
    ask()
    first = list(ptx.images)
    forget()
    ask()
    assert ptx.images[len(first) :] == first and len(ptx.library.linked) == len(first)


@pytest.mark.parametrize("harm", ["cut", "changed", "emptied"])
def test_what_is_damaged_is_made_again(ptx, harm: str) -> None:
    ask()
    path = next(path for path in cached() if code(ASK[0]) in path.read_bytes())
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-5], "changed": b"X" + whole[1:], "emptied": b""}[harm])
    forget()
    ask()
    assert ptx.library.linked[12:] == [ASK[0]] and path.read_bytes() == whole


def test_another_driver_makes_its_own(ptx, monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    monkeypatch.setattr(ptx, "get_driver_version", lambda: 13000)
    forget()
    ask()
    assert len(ptx.library.linked) == 24 == len(cached())


@pytest.mark.skipif(sys.platform == "win32", reason="modes of folders are POSIX's")
def test_code_that_others_could_have_put_there_is_not_run(ptx) -> None:
    ask()
    kernels.folder().chmod(0o777)
    before = [path.stat().st_mtime_ns for path in cached()]
    forget()
    ask()
    assert len(ptx.library.linked) == 24
    assert [path.stat().st_mtime_ns for path in cached()] == before
    assert stat.S_IMODE(kernels.folder().stat().st_mode) == 0o777


def test_two_devices_have_a_kernel_made_once(ptx) -> None:
    ptx.capabilities.append((9, 0))
    for number in (0, 1):
        with device.using(number), device.current():
            device.kernel("grid.cu", ASK[0])
    assert len(cached()) == 3 and sorted(ptx.library.linked) == sorted(ASK)
    assert ptx.images == [code(ASK[0])] * 2


def test_two_devices_of_two_kinds(ptx) -> None:
    ptx.capabilities.append((7, 5))
    for number in (0, 1):
        with device.using(number), device.current():
            device.kernel("grid.cu", ASK[0])
    assert ptx.images == [code(ASK[0]), code(ASK[0], "sm_75")]
    assert len(cached()) == 6


def test_machine_code_that_the_driver_refuses(ptx) -> None:
    """It is not kept, and PyCUDA compiles the kernel as it would without ours."""
    ptx.refuses = lambda image: image == code(ASK[0])
    ask()
    assert len(cached()) == 11
    refused = ptx.images.index(code(ASK[0]))
    assert f".entry {ASK[0]}(".encode() in ptx.images[refused + 1] and len(ptx.images) == 13


def test_what_the_linker_does_not_make_is_loaded_as_ptx(ptx) -> None:
    ptx.library.fails = lambda text: f".entry {ASK[1]}(" in text
    ask()
    assert len(cached()) == 11 and not ptx.library.open
    assert sum(b".entry" in image for image in ptx.images) == 1


def test_without_the_drivers_library_all_is_loaded_as_ptx(ptx, monkeypatch) -> None:
    monkeypatch.setattr(driver, "library", lambda: None)
    ask()
    assert len(ptx.images) == 12 and all(b".entry" in image for image in ptx.images)


def test_where_no_thread_can_be_had_all_is_loaded_as_ptx(ptx, monkeypatch) -> None:
    """As when a process ends, and something asks once more."""

    def start(thread: threading.Thread) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    with monkeypatch.context() as patched, device.current():
        patched.setattr(threading.Thread, "start", start)
        device.kernel("grid.cu", ASK[0])
    assert [b".entry" in image for image in ptx.images] == [True] and not cached()


def test_a_driver_that_takes_neither_says_so_in_one_sentence(ptx) -> None:
    ptx.library.fails = ptx.refuses = lambda what: True
    with pytest.raises(DeviceError, match=r"is for CUDA 12\.2, refuses the kernels") as caught:
        ask()
    assert str(caught.value).count("\n") == 0 and not cached()


def test_memory_that_runs_out_is_said_as_such(ptx, monkeypatch) -> None:
    def refuse(image: bytes) -> None:
        message = "cuModuleLoadDataEx failed: out of memory"
        raise ptx.MemoryError(message)

    monkeypatch.setattr(ptx, "module_from_buffer", refuse)
    with pytest.warns(GeodomainWarning, match="not enough GPU memory for the wireframe's index"):
        ask()
    assert len(cached()) == len(BUILD)  # nothing is wrong with these
