"""Of the steps to a GPU that works, the first that is missing is named, with how to take it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_gpu import fake, forget

from geodomain.cli import main
from geodomain.compute.cuda import driver, kernels

__all__ = ["fake"]


def said() -> str:
    """Return the first line of `geodomain devices`, less what all of them begin with."""
    forget()
    result = CliRunner().invoke(main, ["devices"])
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    assert first.startswith("--backend auto uses the CPU: ")
    return first.removeprefix("--backend auto uses the CPU: ")


def test_no_driver(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyCUDA has it then: its import fails for want of the driver's library."""
    monkeypatch.setattr(driver, "library", lambda: None)
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    assert said().startswith("the NVIDIA driver is not installed, or this machine has no")


def test_a_driver_that_does_not_start(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.library.status = 999
    assert said() == (
        "the NVIDIA driver does not start: CUDA_ERROR_UNKNOWN; 'nvidia-smi' may show the reason"
    )


@pytest.mark.parametrize("status", [0, 100])
def test_a_driver_without_a_gpu(fake, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    fake.library.status = status
    fake.capabilities.clear()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert said() == "the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES is '')"


def test_no_pycuda(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's version is known without it."""
    for name in [name for name in sys.modules if name.split(".")[0] == "pycuda"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    assert said().startswith("PyCUDA is not installed: install it as the page 'Install'")
    text = CliRunner().invoke(main, ["devices"]).stdout
    assert "driver  for CUDA 12.2" in text and "PyCUDA  not installed" in text


def test_a_pycuda_that_does_not_load(fake, monkeypatch, tmp_path: Path) -> None:
    """As where it was built beside a toolkit that is gone."""
    (tmp_path / "pycuda").mkdir()
    (tmp_path / "pycuda" / "__init__.py").write_text("")
    (tmp_path / "pycuda" / "driver.py").write_text("raise ImportError('no libcurand.so.10')")
    for name in [name for name in sys.modules if name.split(".")[0] == "pycuda"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert said().startswith("PyCUDA does not load (no libcurand.so.10): install it")


def test_no_kernels(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "compiler", lambda: None)
    monkeypatch.setattr(kernels, "shipped", lambda name: None)
    assert said().startswith("this installation has no kernels for sm_90, and there is no nvcc")


def test_kernels_that_are_newer_than_the_driver(fake, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "grid.ptx").write_text("//\n.version 9.0\n.target sm_75\n")
    monkeypatch.setattr(kernels, "compiler", lambda: None)
    monkeypatch.setattr(kernels, "shipped", lambda name: tmp_path / "grid.ptx")
    monkeypatch.setattr(kernels, "kernel_folders", lambda: [tmp_path])
    monkeypatch.setattr(kernels, "source", lambda name: name)
    assert said() == (
        "the NVIDIA driver is for CUDA 12.2, but the kernels of this installation need a driver "
        "for CUDA 13.0: update the driver, or install a CUDA toolkit of the driver's version"
    )
    (tmp_path / "grid.ptx").write_text("//\n.version 8.0\n.target sm_75\n")
    forget()
    first = CliRunner().invoke(main, ["devices"]).stdout.splitlines()[0]
    assert first.startswith("--backend auto uses the GPU if it is faster")
