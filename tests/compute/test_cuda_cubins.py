"""Compiled kernels: the cache, the compiler, what the wheel brings, and what is damaged."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fake_gpu import fake, forget
from shapes import cube

import geodomain
from geodomain.compute import inventory
from geodomain.compute.cuda import kernels as cubins

__all__ = ["fake"]


def ask() -> None:
    """Ask what needs one kernel file, lattice.cu."""
    found = geodomain.contains_lattice(cube(), [0.5], [0.5], [0.5, 1.5], backend="cuda")
    assert found.tolist() == [[[True, False]]]


def cached() -> list[Path]:
    return sorted(cubins.folder().glob("*.cubin"))


def test_what_a_cubin_is_made_from_is_one_text() -> None:
    text = cubins.source("grid.cu")
    assert '#include "' not in text and "#pragma once" not in text
    assert text.count("struct Slabs {") == 1
    with pytest.raises(FileNotFoundError, match=r"none\.cu is missing; reinstall"):
        cubins.source("none.cu")


def test_everything_that_makes_a_difference_is_in_the_name(monkeypatch) -> None:
    names = {cubins.key("a", "sm_90", "nvcc 1"), cubins.key("b", "sm_90", "nvcc 1")}
    names |= {cubins.key("a", "sm_75", "nvcc 1"), cubins.key("a", "sm_90", "nvcc 2")}
    monkeypatch.setattr(cubins, "FLAGS", ("-O0",))
    names.add(cubins.key("a", "sm_90", "nvcc 1"))
    for variable in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"):  # which nvcc reads by itself
        monkeypatch.setenv(variable, "-use_fast_math")
        names.add(cubins.key("a", "sm_90", "nvcc 1"))
    assert len(names) == 7


def test_a_warm_start_compiles_nothing(fake) -> None:
    ask()
    assert len(fake.compiled) == 1 and len(cached()) == 1
    forget()
    ask()
    assert len(fake.compiled) == 1
    assert fake.images[0] == fake.images[1]


def test_a_warm_start_runs_no_process(fake, monkeypatch, tmp_path: Path) -> None:
    """With the compiler as it is found on the PATH, by its path, size and time alone."""
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("#!/bin/sh\nexit 1\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cubins, "compiler", COMPILER)
    ask()

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(arguments)

    for name in ("Popen", "run", "check_output"):
        monkeypatch.setattr(subprocess, name, refuse)
    monkeypatch.setattr(os, "posix_spawn", refuse, raising=False)
    forget()
    ask()
    assert len(fake.compiled) == 1
    nvcc.write_text("#!/bin/sh\nexit 2 # another one\n")
    forget()
    ask()
    assert len(fake.compiled) == 2


COMPILER = cubins.compiler


def test_threads_that_begin_at_once_compile_once(fake, monkeypatch) -> None:
    compiler, begin = sys.modules["pycuda.compiler"], threading.Barrier(4)
    compile = compiler.compile

    def slowly(*arguments: object, **options: object) -> bytes:
        time.sleep(0.05)
        return compile(*arguments, **options)

    def begin_together() -> None:
        begin.wait()
        ask()

    monkeypatch.setattr(compiler, "compile", slowly)
    threads = [threading.Thread(target=begin_together) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fake.compiled) == 1


def test_the_cache_is_the_users_own(fake) -> None:
    ask()
    assert stat.S_IMODE(cubins.folder().stat().st_mode) == 0o700
    assert not list(cubins.folder().glob(".making-*"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes of folders are POSIX's")
def test_code_that_others_could_have_put_there_is_not_run(fake) -> None:
    ask()
    cubins.folder().chmod(0o777)
    forget()
    ask()
    assert len(fake.compiled) == 2 and len(cached()) == 1


@pytest.mark.parametrize("harm", ["cut", "changed", "emptied"])
def test_a_damaged_cubin_is_made_again(fake, harm: str) -> None:
    ask()
    (path,) = cached()
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-5], "changed": b"X" + whole[1:], "emptied": b""}[harm])
    forget()
    ask()
    assert len(fake.compiled) == 2 and fake.images[-1] == b"CUBIN sm_90 2"
    forget()
    ask()
    assert len(fake.compiled) == 2


def test_a_cubin_that_the_driver_refuses_is_made_again_once(fake) -> None:
    ask()
    fake.refuses = lambda image: image == b"CUBIN sm_90 1"
    forget()
    ask()
    assert len(fake.compiled) == 2
    forget()
    ask()
    assert len(fake.compiled) == 2


def test_kernels_are_not_to_blame_for_a_dead_context(fake) -> None:
    """As where another thread's kernel has ended it: the cache stays as it is."""
    ask()
    kept = cached()
    forget()

    def die(image: bytes) -> bool:
        fake.crash = fake.LaunchError("cuLaunchKernel failed: unspecified launch failure")
        return True

    fake.refuses = die
    with pytest.raises(geodomain.DeviceError, match="and only a new process can use it again"):
        ask()
    fake.crash = None
    assert cached() == kept and len(fake.compiled) == 1 and len(fake.images) == 2


def test_a_cache_that_cannot_be_written_costs_a_compilation(fake, monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GEODOMAIN_CACHE", str(tmp_path / "file" / "cache"))
    ask()
    forget()
    ask()
    assert len(fake.compiled) == 2


def test_writers_at_the_same_time(fake) -> None:
    path = cubins.folder() / cubins.key("text", "sm_90", "nvcc")
    binaries = [bytes([k]) * 100_000 for k in range(16)]
    threads = [threading.Thread(target=cubins._store, args=(path, b)) for b in binaries]
    for thread in threads:
        thread.start()
    seen = {cubins.read(path) for _ in range(200)} - {None}
    for thread in threads:
        thread.join()
    assert seen <= set(binaries) and cubins.read(path) in binaries
    assert [entry.name for entry in cubins.folder().iterdir()] == [path.name]


def test_without_nvcc_a_cubin_made_earlier_serves(fake, monkeypatch) -> None:
    ask()
    monkeypatch.setattr(cubins, "compiler", lambda: None)
    forget()
    ask()
    assert len(fake.compiled) == 1 and fake.images[-1] == fake.images[0]


def test_without_nvcc_the_wheels_ptx_serves(fake, monkeypatch, tmp_path: Path) -> None:
    ptx = tmp_path / "grid.ptx"
    ptx.write_text(".version 8.0\n.target sm_75\n")
    monkeypatch.setattr(cubins, "compiler", lambda: None)
    monkeypatch.setattr(cubins, "shipped", lambda name: ptx)
    ask()
    kernels = {name for _, name in fake.launched}
    assert fake.images == [ptx.read_bytes()] * len(kernels) and not fake.compiled and not cached()


def test_ptx_serves_where_nvcc_fails_or_is_too_new(fake, monkeypatch, tmp_path: Path) -> None:
    ptx = tmp_path / "grid.ptx"
    ptx.write_text(".version 8.0\n")
    monkeypatch.setattr(cubins, "shipped", lambda name: ptx)
    fake.refuses = lambda image: image.startswith(b"CUBIN")
    ask()
    assert fake.images[-1] == ptx.read_bytes() and not cached()


@pytest.mark.skipif(
    not os.environ.get("GEODOMAIN_NVRTC")
    and (shutil.which("nvcc") is None or not os.environ.get("GEODOMAIN_PTX")),
    reason="a build without PTX: neither GEODOMAIN_NVRTC nor, with nvcc, GEODOMAIN_PTX",
)
def test_the_wheel_has_ptx_of_every_kernel_file_where_it_could_be_made() -> None:
    names = inventory._kernel_files()
    assert "grid.cu" in names and len(names) > 12
    for name in names:
        path = cubins.shipped(name)
        assert path is not None, name
        text = path.read_text()
        assert ".target sm_75" in text
        if os.environ.get("GEODOMAIN_NVRTC"):  # for drivers from 525 on; on ARM from 545 on
            assert re.search(r"^\.version 8\.[03]$", text, re.MULTILINE), name
        # Without .rn the driver may contract a product and a sum, and change the signs.
        words = set(text.split())
        assert not words & {"mul.f64", "add.f64", "sub.f64", "mul.f32", "add.f32", "sub.f32"}


def test_ptx_of_other_sources_is_not_used(monkeypatch, tmp_path: Path) -> None:
    for name in ("grid/a.h", "grid.h", "launch/k.cu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "k.ptx").write_text("ptx")
    monkeypatch.setattr(cubins, "kernel_folders", lambda: [tmp_path])
    assert cubins.shipped("k.cu") is None
    (tmp_path / "k.ptx.sha256").write_text(cubins._made_from("k.cu"))
    assert cubins.shipped("k.cu") == tmp_path / "k.ptx"
    (tmp_path / "grid/a.h").write_text("changed")
    assert cubins.shipped("k.cu") is None


def test_folders_by_system(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GEODOMAIN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cubins.folder() == tmp_path / "geodomain"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cubins.folder() == tmp_path / "local" / "geodomain"


@pytest.mark.parametrize(
    ("system", "variable", "usual"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("darwin", "XDG_CACHE_HOME", "Library/Caches"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_folders_where_no_variable_names_one(
    monkeypatch, tmp_path: Path, system: str, variable: str, usual: str
) -> None:
    """An empty or relative one would be a folder of wherever the process happens to be."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GEODOMAIN_CACHE", "")
    monkeypatch.setattr(sys, "platform", system)
    for value in ("", "cache"):
        monkeypatch.setenv(variable, value)
        assert cubins.folder() == tmp_path / usual / "geodomain"
    monkeypatch.delenv(variable)
    assert cubins.folder() == tmp_path / usual / "geodomain"


def test_a_user_without_a_home(fake, monkeypatch, tmp_path: Path) -> None:
    def homeless() -> Path:
        msg = "Could not determine home directory."
        raise RuntimeError(msg)

    monkeypatch.delenv("GEODOMAIN_CACHE")
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cubins.folder() == tmp_path / "geodomain"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ask()
    assert cubins.folder().parent == tmp_path and cubins.is_private(cubins.folder())
    assert len(cached()) == 1


def test_an_image_says_where_it_is_from(fake) -> None:
    origins = [i.origin for i in cubins.images("lattice.cu", "sm_90", lambda text: b"made")]
    assert origins[0] == "nvcc"
    ask()
    origins = [i.origin for i in cubins.images("lattice.cu", "sm_90", lambda text: b"made")]
    assert origins[:2] == ["cache", "nvcc"]
    assert np.all([origin in ("cache", "nvcc", "PTX") for origin in origins])
