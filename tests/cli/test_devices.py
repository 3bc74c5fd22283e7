"""The command `geodomain devices`, and what `geodomain label` says of where it labelled."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fake_gpu import eager, fake, forget
from wireframes import cube

import geodomain
from geodomain.cli import main
from geodomain.compute.cuda import kernels

__all__ = ["eager", "fake"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_machine_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("geodomain.compute.inventory")
    text = run("devices")
    told = json.loads(run("devices", "--json").stdout)
    assert text.exit_code == 0 and told["cpu_threads"] >= 1
    if not told["gpus"]:
        assert "--backend auto uses the CPU: " in text.stdout
        assert told["backend"] == "cpu" and told["reason"] in text.stdout


def test_several_gpus_and_the_one_that_is_used(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.capabilities.append((7, 5))
    monkeypatch.setenv("GEODOMAIN_DEVICE", "1")
    result = run("devices")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "--backend auto uses the GPU if it is faster: GPU 1, Imaginary GPU 1"
    assert "Imaginary GPU 0, sm_90, 8.0 GiB: not used; GEODOMAIN_DEVICE=0 would" in result.stdout
    assert "Imaginary GPU 1, sm_75, 8.0 GiB: used" in result.stdout
    assert "driver  for CUDA 12.2" in result.stdout and "PyCUDA  2026.1" in result.stdout
    # To look starts no context and compiles nothing.
    assert set(fake.calls) == {"init"} and not fake.compiled


def test_several_gpus_are_all_used(fake) -> None:
    fake.capabilities.append((7, 5))
    lines = run("devices").stdout.splitlines()
    both = "GPU 0, Imaginary GPU 0; GPU 1, Imaginary GPU 1"
    assert lines[0] == f"--backend auto uses the GPU if it is faster: {both}"
    told = json.loads(run("devices", "--json").stdout)
    assert [gpu["used"] for gpu in told["gpus"]] == [True, True]


def test_a_command_uses_the_gpus_that_it_is_told(fake, table, monkeypatch) -> None:
    fake.capabilities.append((9, 0))
    monkeypatch.setenv("GEODOMAIN_DEVICE", "0")
    assert run(*table, "--backend", "cuda", "--devices", "1").exit_code == 0
    assert {number for number, _ in fake.launched} == {1}
    assert os.environ["GEODOMAIN_DEVICE"] == "1"  # of workers, too


@pytest.mark.parametrize("wish", ["2", "0,2", "1,1", "-1", "x", "", "0;1"])
def test_devices_that_are_not_there_are_refused(wish: str, fake, table, monkeypatch) -> None:
    fake.capabilities.append((9, 0))
    monkeypatch.setenv("GEODOMAIN_DEVICE", "0")
    result = run(*table, "--devices", wish)
    assert result.exit_code == 2 and "Invalid value for '--devices'" in result.stderr
    monkeypatch.setenv("GEODOMAIN_DEVICE", wish or ",")
    forget()
    result = run(*table, "--backend", "cuda")
    assert result.exit_code == 5 and "must be a number from 0 to 1, or several" in result.stderr


def test_devices_are_chosen_before_one_is_used(fake) -> None:
    fake.capabilities.append((9, 0))
    geodomain.use_devices([1, 0])
    geodomain.contains(geodomain.Mesh(*_cube()), [[1, 1, 1]], backend="cuda")
    assert {number for number, _ in fake.launched} == {1}
    geodomain.use_devices([1, 0])
    with pytest.raises(ValueError, match=r"already uses other GPUs \(1, 0\): set devices before"):
        geodomain.use_devices([0])
    for wrong in ([], [0, 0], [2], [True], [0.5], ["0"]):
        with pytest.raises(ValueError, match="it may list the numbers 0 to 1, each once"):
            geodomain.use_devices(wrong)


def test_where_the_kernels_come_from(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "grid.cu from nvcc" in run("devices").stdout
    geodomain.contains(geodomain.Mesh(*_cube()), [[1, 1, 1]], backend="cuda")
    assert "grid.cu from cache" in run("devices").stdout
    monkeypatch.setattr(kernels, "compiler", lambda: None)
    monkeypatch.setattr(kernels, "shipped", lambda name: Path(__file__))
    assert "lattice.cu from PTX" in run("devices").stdout
    monkeypatch.setattr(kernels, "shipped", lambda name: None)
    told = json.loads(run("devices", "--json").stdout)
    for file in ("lattice.cu", "segments.cu", "winding.cu"):
        assert told["gpus"][0]["kernels"][file] == "nowhere"
    assert told["backend"] == "cpu" and "no kernels for sm_90, and there is no" in told["reason"]


@pytest.mark.parametrize("wish", ["01", ""])
def test_numbers_as_they_may_be_written(fake, monkeypatch: pytest.MonkeyPatch, wish: str) -> None:
    fake.capabilities.append((7, 5))
    monkeypatch.setenv("GEODOMAIN_DEVICE", wish)
    told = json.loads(run("devices", "--json").stdout)
    assert [gpu["used"] for gpu in told["gpus"]] == [wish == "", True]


def test_a_number_that_no_gpu_has(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODOMAIN_DEVICE", "7")
    result = run("devices")
    assert result.exit_code == 0 and "GEODOMAIN_DEVICE is '7'" in result.stdout


def test_a_gpu_that_does_not_answer(fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: object) -> int:
        msg = "cuDeviceTotalMem failed: unknown error"
        raise fake.RuntimeError(msg)

    monkeypatch.setattr(fake.Device, "total_memory", lost)
    result = run("devices")
    assert result.exit_code == 0
    assert "uses the CPU: a GPU does not answer: cuDeviceTotalMem" in result.stdout


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """Write a table and a wireframe, and return the arguments that label the one by the other."""
    geodomain.write_mesh(cube(), tmp_path / "ore.ply")
    blocks = tmp_path / "blocks.csv"
    blocks.write_text("x,y,z\n" + "".join(f"{k},{k},{k}\n" for k in range(20)))
    return ["label", str(blocks), "--solid", str(tmp_path / "ore.ply"), "--dry-run", "--json"]


def test_label_says_where_and_why(fake, table: list[str]) -> None:
    for backend, machine, why in (
        ("auto", "cpu", "too little work for the GPU: 20 at once"),
        ("cpu", "cpu", "asked for"),
        ("cuda", "cuda", "asked for"),
    ):
        told = json.loads(run(*table, "--backend", backend).stdout)
        assert (told["backend"], told["backend_reason"]) == (machine, why)
        assert told["domains"][0]["blocks"] > 0


def test_label_on_the_gpu_by_itself(fake, eager, table: list[str]) -> None:
    told = json.loads(run(*table).stdout)
    assert told["backend"] == "cuda" and told["backend_reason"].startswith("enough work")


def test_a_gpu_that_was_asked_for_and_is_not_there_is_exit_code_5(fake, table) -> None:
    fake.capabilities.clear()
    for options in (["--backend", "cuda"], ["--devices", "0"]):
        result = run(*table, *options)
        assert result.exit_code == 5 and "there is no CUDA device" in result.stderr
    assert run(*table).exit_code == 0


def test_a_fall_back_is_told_among_the_warnings(fake, eager, table: list[str]) -> None:
    error = fake.LaunchError("cuLaunchKernel failed: unspecified launch failure")
    fake.fail_launch_for_good["geodomain_look_up"] = error
    told = json.loads(run(*table).stdout)
    fake.crash = None
    assert told["backend"] == "cpu" and "unspecified launch failure" in told["backend_reason"]
    assert any("the CPU takes over" in warning for warning in told["warnings"])


def test_no_file_is_left_by_a_gpu_that_stops(fake, table: list[str], tmp_path: Path) -> None:
    error = fake.LaunchError("cuLaunchKernel failed: an illegal memory access was encountered")
    fake.fail_launch_for_good["geodomain_look_up"] = error
    before = set(tmp_path.iterdir())
    out = ["-o", str(tmp_path / "out.csv"), "--backend", "cuda"]
    result = run(*[word for word in table if word not in ("--dry-run", "--json")], *out)
    fake.crash = None
    assert result.exit_code == 5 and "only a new process can use it again" in result.stderr
    assert set(tmp_path.iterdir()) - before <= {kernels.folder()}


def _cube() -> tuple:
    mesh = cube()
    return mesh.vertices, mesh.triangles
