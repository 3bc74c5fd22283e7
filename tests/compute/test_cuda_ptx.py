"""PTX of kernels: one kernel and what it calls, and PTX that NVRTC makes for a wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest
from fake_gpu import fake
from shapes import cube

import geodomain
from geodomain.compute import inventory
from geodomain.compute.cuda import kernels as cubins
from geodomain.compute.cuda.kernels import only

__all__ = ["fake"]

# As compilers lay it out: what is declared first, kernels, and functions that call one another.
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n\n\t// .globl\tfirst\n"
DECLARED = {
    name: f".func  (.param .b64 func_retval0) {name}\n(\n\t.param .b64 {name}_param_0\n)\n;\n"
    for name in ("deep", "other", "near")
}
GLOBAL = ".global .align 4 .u32 kThreads = 128;\n"


def kernel(name: str, *calls: str) -> str:
    body = "".join(
        f"\t{{ // callseq 0, 0\n\tcall.uni (r), {c}, (p);\n\t}} // callseq 0\n" for c in calls
    )
    return f"\n.visible .entry {name}(\n\t.param .u64 {name}_param_0\n)\n{{\n{body}\tret;\n\n}}\n"


def function(name: str, *calls: str) -> str:
    header = f".func  (.param .b64 func_retval0) {name}(\n\t.param .b64 {name}_param_0\n)\n"
    return header + kernel(name, *calls).partition(")\n")[2]


PARTS = {
    "first": kernel("first", "near"),
    "first_full": kernel("first_full", "other"),
    "last": "\t// .globl\tlast" + kernel("last"),
    "near": function("near", "deep"),
    "other": function("other"),
    "deep": function("deep"),
}
TEXT = HEAD + "".join(DECLARED.values()) + GLOBAL + "".join(PARTS.values())


def definitions(text: str) -> list[str]:
    """Name what has a body, found apart from how the code under test does."""
    bodies = re.sub(r"^\.func[^{}]*?;\n", "", text, flags=re.MULTILINE)
    return re.findall(r"^\.(?:visible \.entry |func  \(.*?\) )(\w+)", bodies, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("first", {"first", "near", "deep"}),
        ("first_full", {"first_full", "other"}),
        ("last", {"last"}),
    ],
)
def test_a_kernel_and_what_it_calls(name: str, needed: set[str]) -> None:
    assert definitions(TEXT) == list(PARTS)
    found = only(TEXT, name)
    assert found.startswith(HEAD) and GLOBAL in found
    assert definitions(found) == [one for one in PARTS if one in needed]
    for one, text in DECLARED.items():
        assert (text in found) == (one in needed)
    for one in needed:
        assert PARTS[one] in found


def test_what_is_not_understood_stays_whole() -> None:
    assert only(TEXT, "none") == TEXT
    for text in ("", HEAD, ".entry first\n{\n}\n", "what\n{\nis\n}\nthis"):
        assert only(text, "first") == text


def test_threads_that_begin_at_once_have_a_kernel_compiled_once(
    fake, monkeypatch, tmp_path
) -> None:
    ptx = tmp_path / "lattice.ptx"
    ptx.write_text(HEAD)
    monkeypatch.setattr(cubins, "compiler", lambda: None)
    monkeypatch.setattr(cubins, "shipped", lambda name: ptx)
    begin = threading.Barrier(4)

    def ask() -> None:
        begin.wait()
        geodomain.contains_lattice(cube(), [0.5], [0.5], [0.5, 1.5], backend="cuda")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fake.images) == len({name for _, name in fake.launched}) > 1


def shipped() -> list[Path]:
    made = [cubins.shipped(name) for name in inventory._kernel_files()]
    return [path for path in made if path is not None]


def test_kernels_of_the_wheel_are_taken_apart() -> None:
    """Each is there once, all that is called is defined, and nothing is lost."""
    if not shipped():
        pytest.skip("no PTX in this build")
    for path in shipped():
        text = path.read_text()
        kernels = re.findall(r"\.entry (\w+)", text)
        for name in kernels:
            found = only(text, name)
            assert re.findall(r"\.entry (\w+)", found) == [name]
            called = set(re.findall(r"call\.uni[^;]*?(_Z\w+)", found))
            assert called <= set(definitions(found)) and found.count("\n{\n") < text.count(
                "\n{\n"
            ) + (len(kernels) == 1)
        seen = {one for name in kernels for one in definitions(only(text, name))}
        assert seen == set(definitions(text))


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas")
def test_the_assembler_takes_a_part(tmp_path: Path) -> None:
    files = {path.name: path for path in shipped()}
    if "grid.ptx" not in files:
        pytest.skip("no PTX in this build")
    source = tmp_path / "part.ptx"
    for name in ("geodomain_look_up", "geodomain_count_full"):
        source.write_text(only(files["grid.ptx"].read_text(), name))
        made = tmp_path / f"{name}.cubin"
        command = ["ptxas", "-arch=sm_90", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0 and made.stat().st_size > 1000, done.stderr


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
