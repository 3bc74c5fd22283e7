"""What is taken of a kernel file's PTX: one kernel and what it calls."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
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
