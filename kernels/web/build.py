"""Compile core.wasm, the core for pages, with a pinned compiler; its stamp hashes the sources.

    pip install ziglang==0.17.1
    python kernels/web/build.py [FILE]

The result is the same, byte for byte, wherever it is built.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1]
CORE = KERNELS.parent / "geodomain" / "reporting" / "viewer" / "core.wasm"
COMPILER = "0.17.1"
LAUNCH = ("lattice", "grid", "sides", "mesh", "predicates", "volume", "distance")
SOURCES = ("web/memory.cpp", "web/page.cpp", *(f"launch/{name}.cpp" for name in LAUNCH))
# Doubles are rounded once, and nothing is fused or reordered: the flags of CMakeLists.txt. SIMD128
# computes each lane as if alone, and halves the time of distances; relaxed SIMD is never used.
FLAGS = (
    "-target", "wasm32-wasi", "-mexec-model=reactor", "-msimd128", "-std=c++17", "-O3", "-DNDEBUG",
    "-ffp-contract=off", "-fno-fast-math", "-fno-sanitize=all", "-fignore-exceptions", "-s",
    "-Wl,-z,stack-size=1048576",
)  # fmt: skip
# What core.js calls, and a check of the arithmetic.
EXPORTS = (
    "take_memory", "free_memory", "call_begins", "call_ended", "canary",
    "mesh_check", "mesh_closed", "merge_vertices", "mesh_shift", "lattice_contains",
    "grid_create", "grid_free", "grid_contains", "grid_crossings", "grid_on_surface", "grid_sides",
    "first_mask", "mask_of_bytes", "add_amounts",
    "distance_create", "distance_free", "distance_nearest", "projection_signs", "shares_lattice",
)  # fmt: skip


def sources() -> list[str]:
    """List the files that the core is built from, relative to kernels/, sorted."""
    waiting, seen = ["web/build.py", *SOURCES], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            text = (KERNELS / name).read_text(encoding="utf-8")
            waiting += re.findall(r'^#include "(.+)"', text, re.MULTILINE)
    return sorted(seen)


def stamp() -> str:
    """Return the hash of the sources, which core.wasm also contains."""
    # As text, so that a checkout with other line ends has the same hash.
    texts = [(KERNELS / name).read_text(encoding="utf-8") for name in sources()]
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def build(target: Path) -> None:
    """Write the core to a file."""
    zig = [sys.executable, "-m", "ziglang"]
    version = subprocess.run([*zig, "version"], capture_output=True, text=True, check=False)
    if version.stdout.strip() != COMPILER:
        sys.exit(f"the core needs another compiler: run 'pip install ziglang=={COMPILER}'")
    exports = [f"-Wl,--export=geodomain_{name}" for name in EXPORTS]
    command = [*zig, "c++", *FLAGS, *exports, "-Wl,--export=__stack_pointer", "-I."]
    subprocess.run([*command, "-o", str(target.resolve()), *SOURCES], cwd=KERNELS, check=True)
    # A custom section: 0, its size, the size of its name, its name, its contents.
    contents = b"\x05stamp" + stamp().encode()
    with target.open("ab") as core:
        core.write(bytes([0, len(contents)]) + contents)
    target.chmod(0o644)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else CORE)
