"""PTX that the driver makes into machine code, several kernels at a time, and its cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_cuda import FakeCuda
from fake_gpu import fake
from shapes import star

import geodomain
from geodomain import Mesh
from geodomain.backends.cuda import cubins, linking
from geodomain.backends.kernel_files import sources

__all__ = ["fake"]

MESH = star(6)
POINTS = np.random.default_rng(0).normal(size=(5_000, 3)) * 60
EXPECTED = geodomain.contains(MESH, POINTS, backend="cpu")
SOLIDS = [Mesh(MESH.vertices * 0.5, MESH.triangles), MESH]
BUILD, ASK = linking.TOGETHER[0], linking.TOGETHER[1]


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

    monkeypatch.setattr(cubins, "compiler", lambda: None)
    monkeypatch.setattr(cubins, "shipped", shipped)
    return fake


def kernels_of(name: str) -> list[str]:
    """Return the names of a file's kernels, as its source has them."""
    import re

    text = (sources() / "faces" / name).read_text()
    return sorted(set(re.findall(r"\b(geodomain_\w+)\(", text)))


def ask() -> None:
    assert np.array_equal(geodomain.contains(MESH, POINTS, backend="cuda"), EXPECTED)


def cached() -> list[Path]:
    return sorted(cubins.folder().glob("*.cubin"))


def code(kernel: str, architecture: str = "sm_90") -> bytes:
    """Return what the stand-in makes of a kernel."""
    return f"LINKED {architecture} {kernel}".encode()


def test_what_a_question_launches_is_made_and_nothing_else(ptx) -> None:
    ask()
    assert sorted(ptx.library.linked) == sorted((*BUILD, *ASK))
    assert ptx.images == [code(kernel) for kernel in (*BUILD, *ASK)]
    assert len(cached()) == len(BUILD) + len(ASK) and not ptx.library.open
