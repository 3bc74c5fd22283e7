"""PTX by NVRTC: what `kernels/ptx.py` makes in the build of a wheel, where NVRTC is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "kernels"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_without_nvrtc_it_says_so(tmp_path: Path) -> None:
    """With the standard library alone, as in a build."""
    output = tmp_path / "sides.ptx"
    done = run("-I", "-S", KERNELS / "ptx.py", output, KERNELS / "launch" / "sides.cu")
    assert done.returncode == 1 and not output.exists()
    assert done.stderr == "NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12\n"


@pytest.fixture
def nvrtc() -> None:
    """Skip where the package is not there."""
    try:
        there = find_spec("nvidia.cuda_nvrtc") is not None
    except ModuleNotFoundError:
        there = False
    if not there:
        pytest.skip("no nvidia-cuda-nvrtc-cu12")


def entries(text: str) -> set[str]:
    return {line.split()[2].partition("(")[0] for line in text.splitlines() if ".entry" in line}


@pytest.mark.parametrize("name", ["predicates", "sides", "bvh_build"])
def test_ptx_for_drivers_of_three_years(nvrtc: None, name: str, tmp_path: Path) -> None:
    source, output = KERNELS / "launch" / f"{name}.cu", tmp_path / f"{name}.ptx"
    done = run(KERNELS / "ptx.py", output, source)
    assert done.returncode == 0, done.stderr
    text = output.read_text()
    assert ".target sm_75" in text and "\n.version 8." in text
    assert entries(text) and all(entry in source.read_text() for entry in entries(text))
    # Without .rn the driver may contract a product and a sum, and change the signs.
    words = set(text.split())
    assert not words & {"mul.f64", "add.f64", "sub.f64", "mul.f32", "add.f32", "sub.f32"}


def test_a_mistake_in_a_kernel_is_shown(nvrtc: None, tmp_path: Path) -> None:
    (tmp_path / "wrong.cu").write_text('extern "C" __global__ void f() { g(); }\n')
    done = run(KERNELS / "ptx.py", tmp_path / "wrong.ptx", tmp_path / "wrong.cu")
    assert done.returncode == 1 and not (tmp_path / "wrong.ptx").exists()
    assert 'wrong.cu(1): error: identifier "g" is undefined' in done.stderr
