"""Compile a kernel file to PTX by NVRTC, for a build without a toolkit: `python ptx.py OUT IN`.

NVRTC is one library, without the headers of C++: what the kernels take from those stands here.
CMakeLists.txt runs this file in the environment of a build, which has the standard library alone.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

KERNELS = Path(__file__).parent
# As nvcc's in CMakeLists.txt. PTX that NVRTC 12.0 writes suits drivers from 525 on.
OPTIONS = (
    "--gpu-architecture=compute_75",
    "--fmad=false",
    "--std=c++17",
    "-default-device",
    f"--include-path={KERNELS}",
)
_SIZES = {8: "char", 16: "short", 32: "int", 64: "long long" if sys.platform == "win32" else "long"}
_INTEGERS = [("signed", "", *one) for one in _SIZES.items()]
_INTEGERS += [("unsigned", "u", *one) for one in _SIZES.items()]


def _std(names: str) -> str:
    """Put names that NVRTC knows without a header into std."""
    return "namespace std {" + "".join(f" using ::{name};" for name in names.split()) + " }\n"


_HEADERS = {
    "cfloat": "#define FLT_EVAL_METHOD 0\n",
    "cmath": _std("fabs floor fma isinf isnan signbit sqrt")
    + "#define HUGE_VAL __longlong_as_double(0x7ff0000000000000)\n"
    "#define HUGE_VALF __int_as_float(0x7f800000)\n"
    "#define NAN __int_as_float(0x7fc00000)\n",
    "cstddef": "namespace std { using size_t = decltype(sizeof(0)); }\n",
    "cstdint": "".join(f"typedef {s} {name} {u}int{bits}_t;\n" for s, u, bits, name in _INTEGERS)
    + "typedef uint64_t uintptr_t;\n#define UINT32_MAX 0xffffffffu\n"
    + _std(" ".join([*(f"{u}int{bits}_t" for _, u, bits, _ in _INTEGERS), "uintptr_t"])),
    "cstring": _std("memcpy memset"),
}


def find() -> Path | None:
    """Return the library of the package nvidia-cuda-nvrtc-cu12, if this Python has that."""
    # The C library of musl cannot load it.
    if sys.platform == "linux" and platform.libc_ver()[0] != "glibc":
        return None
    for folder in sys.path:
        base = Path(folder, "nvidia", "cuda_nvrtc")
        for place in (base / "lib" / "libnvrtc.so.12", base / "bin" / "nvrtc64_120_0.dll"):
            if place.is_file():
                return place
    return None


class Nvrtc:
    """NVRTC's functions, each of which raises a RuntimeError where it fails."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def ptx(self, path: Path) -> bytes:
        """Compile one kernel file."""
        program, headers = ctypes.c_void_p(), len(_HEADERS)
        texts, names = _strings(_HEADERS.values()), _strings(_HEADERS)
        source, name = path.read_bytes(), path.name.encode()
        self._call("CreateProgram", ctypes.byref(program), source, name, headers, texts, names)
        try:
            self._call("CompileProgram", program, len(OPTIONS), _strings(OPTIONS))
        except RuntimeError as error:
            message = f"{error}\n{self._text('ProgramLog', program).decode()}"
            raise RuntimeError(message) from None
        return self._text("PTX", program)

    def _text(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", program, text)
        return text.value

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, f"nvrtc{name}")(*arguments)
        if status:
            message = f"nvrtc{name} fails with status {status}"
            raise RuntimeError(message)


def _strings(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def main(output: str, source: str) -> None:
    """Compile one file; the exit code and the error output say why not."""
    library = find()
    if library is None:
        sys.exit("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    try:
        text = Nvrtc(library).ptx(Path(source))
    except (OSError, RuntimeError) as error:
        sys.exit(f"{source}: {error}")
    Path(output).write_bytes(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
