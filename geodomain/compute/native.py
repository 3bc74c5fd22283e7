"""Find and load the compiled core, check that it matches the sources, and call it safely."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import operator
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import CoreError

SUFFIX = ".dll" if sys.platform == "win32" else ".so"


def kernel_folders() -> list[Path]:
    """Return the folders named kernels: first of this package, then of installed copies.

    In a checkout, Python imports the package from the checkout, but the compiled cores are where
    pip has put them.
    """
    package = sys.modules[__name__.partition(".")[0]].__path__
    folders = [Path(folder, "kernels") for folder in package]
    folders += [Path(folder, "geodomain", "kernels") for folder in sys.path]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def sources() -> Path | None:
    """Return the folder of the C++ sources beside the Python code, or None if there is none."""
    return next((folder for folder in kernel_folders() if (folder / "launch").is_dir()), None)


def load(name: str) -> ctypes.CDLL:
    """Load a compiled core, such as "core_v3".

    Raises
    ------
    CoreError
        If the core is missing, or was not built from the C++ sources beside the Python code.
    """
    path = next((place for place in _places(name) if place.is_file()), None)
    if path is None:
        places = ", ".join(str(place.parent) for place in _places(name)) or "any folder"
        message = f"the compiled core {name}{SUFFIX} is not in {places}; {_mend()}"
        raise CoreError(message)
    core = ctypes.CDLL(str(path))
    folder = sources()
    if folder is not None and _built_from(core) != core_stamp(folder):
        message = f"{path} was not built from the sources in {folder}; {_mend()}"
        raise CoreError(message)
    return core


def _places(name: str) -> list[Path]:
    return [folder / (name + SUFFIX) for folder in kernel_folders()]


def _mend() -> str:
    """Return the command that installs a compiled core for this version of the package."""
    folder = sources()
    if folder is not None and (folder.parent / "pyproject.toml").is_file():
        return f"run 'pip install .' in {folder.parent}"
    return "run 'pip install --force-reinstall geodomain'"


def _built_from(core: ctypes.CDLL) -> str:
    """Return the stamp (a hash) of the sources from which a core was built; "" for an old core."""
    try:
        stamp = core.geodomain_build_stamp
    except AttributeError:
        return ""
    stamp.restype = ctypes.c_char_p
    text: bytes = stamp()
    return text.decode()


@functools.cache
def core_stamp(folder: Path) -> str:
    """Return the stamp (a hash) of the sources of a core, computed as in CMakeLists.txt."""
    launch = [name for name in _below(folder, ".cpp") if name.startswith("launch/")]
    return stamp(folder, sorted(["CMakeLists.txt", *headers(folder), *launch]))


def headers(folder: Path) -> list[str]:
    """List the headers below a folder, sorted as text, as CMake sorts them.

    Sorted as Path objects, grid/a.h would come before grid.h.
    """
    return sorted(_below(folder, ".h"))


def _below(folder: Path, ending: str) -> list[str]:
    """List the files below a folder whose names have an ending, as relative paths with slashes.

    os.walk is used because it is faster than Path.
    """
    names = []
    for place, _, files in os.walk(folder):
        inside = place[len(str(folder)) :].replace(os.sep, "/").lstrip("/")
        names += [f"{inside}/{file}".lstrip("/") for file in files if file.endswith(ending)]
    return names


def stamp(folder: Path, files: Iterable[str]) -> str:
    """Return a hash of the contents of files: the SHA-256 of their SHA-256 texts."""
    hashes = [hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


# --- How many threads to use.

# More threads do not help, and each takes memory while an index is built.
_MOST_THREADS = 1024


def thread_count(threads: int | None) -> int:
    """Return the number of threads to use: `threads`; if None, the process's number of cores."""
    if threads is None:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:
            return os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        message = f"threads must be a positive integer or None, not {threads!r}"
        raise ValueError(message)
    return min(int(threads), _MOST_THREADS)


# --- The compiled core: the best build for this processor, and calls of its functions by ctypes.

LIBRARIES = {1: "core", 3: "core_v3", 4: "core_v4"}

Addresses: TypeAlias = "ctypes.Array[ctypes.c_void_p]"
Counts: TypeAlias = "ctypes.Array[ctypes.c_int64]"
_Convert: TypeAlias = Callable[[object], object]

_C_TYPES: dict[str, type] = {
    "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16,
    "i": ctypes.c_int32, "I": ctypes.c_uint32, "q": ctypes.c_int64, "Q": ctypes.c_uint64,
    "f": ctypes.c_float, "d": ctypes.c_double, "c": ctypes.c_char, "v": ctypes.c_void_p,
}  # fmt: skip
_POINTERS = (ctypes.c_void_p, ctypes.c_char_p)


class CoreFunction(Protocol):
    """A function of the compiled core. It checks its arguments, and returns an int.

    The int is the function's result or its status.
    """

    def __call__(self, *arguments: object) -> int:
        """Call the function.

        Raises
        ------
        TypeError
            For arguments that the function does not take.
        MemoryError, OSError, RuntimeError
            If the core ran out of memory or threads, or failed.
        """


class Core:
    """The functions of one build of the core; each is wrapped when it is first called."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._loaded = loaded
        self._types: dict[str, str] = {}
        self._statuses: dict[int, str] = {}
        for line in self.text("functions").splitlines():
            name, _, types = line.partition(" ")
            if name == "status":
                meaning, _, number = types.partition(" ")
                self._statuses[int(number)] = meaning
            else:
                self._types[name.removeprefix("geodomain_")] = types

    @property
    def signatures(self) -> dict[str, tuple[str, ...]]:
        """The types of each function's result and arguments, in the letters of `c_function.h`."""
        return {name: tuple(types.split(" ")) for name, types in self._types.items()}

    def __getattr__(self, name: str) -> CoreFunction:
        """Wrap the function with this name, and store it as an attribute."""
        types = self._types.get(name)
        if types is None:
            message = f"the compiled core has no function {name!r}"
            raise AttributeError(message)
        function = _function(getattr(self._loaded, f"geodomain_{name}"), name, types, self._check)
        setattr(self, name, function)
        return function

    def text(self, name: str) -> str:
        """Return the text that a core function without arguments returns."""
        function = getattr(self._loaded, f"geodomain_{name}")
        function.restype = ctypes.c_char_p
        text: bytes = function()
        return text.decode()

    def _check(self, status: int) -> int:
        """Raise the error that a status stands for; return the status if it is no error."""
        meaning = self._statuses.get(status)
        if meaning is None:
            return status
        if meaning == "kOutOfMemory":
            message = "the compiled core ran out of memory"
            raise MemoryError(message)
        if meaning == "kTooLarge":
            message = "the data are too large: no memory is large enough for one of their arrays"
            raise MemoryError(message)
        if meaning == "kNoThread":
            message = "the system cannot start more threads"
            raise OSError(message)
        message = "the compiled core failed"
        raise RuntimeError(message)


@functools.cache
def core(at: int | None = None) -> Core:
    """Return the core for x86-64 level `at` or, if it is not installed, for the next lower level.

    By default, return the best core for this processor.
    """
    return Core(load(LIBRARIES[level() if at is None else _best(at)]))


def levels() -> list[int]:
    """Return the levels (1, 3, 4) of the installed cores that this processor can run."""
    highest = load(LIBRARIES[1]).geodomain_cpu_level()
    built = (at for at, name in LIBRARIES.items() if any(path.is_file() for path in _places(name)))
    return [at for at in built if at <= highest]


def level() -> int:
    """Return the x86-64 level of the core to use; GEODOMAIN_CPU_LEVEL (1, 3 or 4) lowers it."""
    wish = os.environ.get("GEODOMAIN_CPU_LEVEL", "")
    if wish and wish not in {"1", "3", "4"}:
        message = f"GEODOMAIN_CPU_LEVEL is {wish!r}; it can be 1, 3 or 4"
        raise ValueError(message)
    return _best(int(wish) if wish else max(LIBRARIES))


def _best(highest: int) -> int:
    """Return the highest available x86-64 level that is at most `highest`."""
    return max(at for at in levels() if at <= highest)


def addresses(arrays: Sequence[NDArray[np.generic] | None]) -> Addresses:
    """Return the addresses of arrays, and null for None; the caller must keep the arrays alive."""
    pointers = [None if array is None else array.ctypes.data for array in arrays]
    return (ctypes.c_void_p * len(pointers))(*pointers)


def counts(numbers: Sequence[int]) -> Counts:
    """Return integers as a C array of int64."""
    return (ctypes.c_int64 * len(numbers))(*numbers)


def column_pointers(
    points: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], row: int = 0
) -> tuple[Addresses, Counts]:
    """Return a tuple: the addresses of x, y and z in a row, and the three strides.

    A stride is the number of bytes from one row to the next.
    """
    steps = [column.strides[0] for column in points]
    places = [column.ctypes.data + row * step for column, step in zip(points, steps, strict=True)]
    return (ctypes.c_void_p * 3)(*places), (ctypes.c_int64 * 3)(*steps)


def _function(
    loaded: ctypes._NamedFuncPointer, name: str, types: str, check: Callable[[int], int]
) -> CoreFunction:
    """Return a Python function that checks the arguments and then calls a C function."""
    result, *kinds = types.split(" ")
    converters = [_converter(kind) for kind in kinds]
    expected = len(converters)
    loaded.argtypes = [_c_type(kind) for kind in kinds]
    loaded.restype = _result_type(result)

    def call(*arguments: object) -> int:
        if len(arguments) != expected:
            message = f"{name} takes {expected} arguments, not {len(arguments)}"
            raise TypeError(message)
        try:
            values = [convert(value) for convert, value in zip(converters, arguments, strict=True)]
        except TypeError as error:
            raise TypeError(_which(name, converters, arguments)) from error
        answer: int = loaded(*values)
        return check(answer) if result == "!" and answer else answer

    return call


def _which(name: str, converters: Sequence[_Convert], arguments: Sequence[object]) -> str:
    """Return the message about the first wrong argument of a call."""
    for number, (convert, value) in enumerate(zip(converters, arguments, strict=True), 1):
        try:
            convert(value)
        except TypeError as error:
            return f"argument {number} of {name} {error}"
    return f"arguments of {name}"


def _c_type(kind: str) -> type:
    """Return the ctypes type of an argument; a pointer is passed as an address."""
    return ctypes.c_void_p if kind[0] in "<>" else _C_TYPES[kind]


def _result_type(kind: str) -> type | None:
    """Return the ctypes type of a function's result."""
    return ctypes.c_int if kind == "!" else _C_TYPES.get(kind)


def _converter(kind: str) -> _Convert:
    """Return the function that checks an argument of a C++ type and converts it for ctypes."""
    if kind[0] not in "<>":
        return _number(kind)
    there, nullable = kind[1:].removesuffix("?"), kind.endswith("?")
    written = kind[0] == ">"
    convert: _Convert
    if there == "P":
        convert = _pointers
    elif there == "v":
        convert = functools.partial(_memory, written=written)
    elif there[0] == "#":
        convert = functools.partial(_structures, size=int(there[1:]), written=written)
    else:
        convert = _elements(there, written=written)
    return (lambda value: None if value is None else convert(value)) if nullable else convert


def _number(kind: str) -> _Convert:
    """Return the function that checks and converts a number or character."""
    if kind == "c":
        return _character
    if kind in "fd":
        return _real
    bits = 8 * ctypes.sizeof(_C_TYPES[kind])
    low, high = (0, 2**bits - 1) if kind.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def convert(value: object) -> int:
        if type(value) is not int and not isinstance(value, SupportsIndex):
            message = f"must be an integer, not {type(value).__name__}"
            raise TypeError(message)
        number = operator.index(value)
        if not low <= number <= high:
            message = f"is {number}, which an integer of {bits} bits cannot hold"
            raise TypeError(message)
        return number

    return convert


def _real(value: object) -> float:
    if isinstance(value, float | int | np.floating | np.integer):
        return float(value)
    message = f"must be a number, not {type(value).__name__}"
    raise TypeError(message)


def _character(value: object) -> bytes:
    if isinstance(value, bytes) and len(value) == 1:
        return value
    message = f"must be one byte, not {value!r}"
    raise TypeError(message)


def _elements(letter: str, *, written: bool) -> _Convert:
    """Return the function that checks a NumPy or ctypes array and returns the array's address."""
    c_type = _C_TYPES[letter]
    dtypes = [np.dtype("S1"), np.dtype("B")] if letter == "c" else [np.dtype(letter)]
    if letter == "B":
        dtypes.append(np.dtype(np.bool_))
    usual = dtypes[0]

    def convert(value: object) -> object:
        if isinstance(value, np.ndarray):
            if value.dtype is not usual and value.dtype not in dtypes:
                message = f"must be an array of {usual}, not {value.dtype}"
                raise TypeError(message)
            return _address(value, written=written)
        if isinstance(value, ctypes.Array) and value._type_ is c_type:
            return ctypes.addressof(value)
        if type(value) is c_type and isinstance(value, ctypes._SimpleCData):
            return ctypes.addressof(value)
        if letter == "c" and not written and isinstance(value, bytes):
            return value
        message = f"must be an array of {usual}, not {type(value).__name__}"
        raise TypeError(message)

    return convert


def _structures(value: object, *, size: int, written: bool) -> int:
    """Return the address of an array of structures of `size` bytes each.

    The array holds NumPy records of `size` bytes, or rows of numbers that take `size` bytes.
    """
    if not isinstance(value, np.ndarray):
        message = f"must be an array of structures, not {type(value).__name__}"
        raise TypeError(message)
    row = value.dtype.itemsize
    if value.dtype.kind != "V" and value.ndim:
        row *= value.shape[-1]
    if row != size:
        message = f"must be an array of structures of {size} bytes, not of {row} bytes"
        raise TypeError(message)
    return _address(value, written=written)


def _memory(value: object, *, written: bool) -> int:
    """Return the address of an array of any type, or the address that a handle holds."""
    if isinstance(value, np.ndarray):
        return _address(value, written=written)
    if isinstance(value, ctypes.c_void_p) and value.value:
        return value.value
    message = f"must be an array or a handle that is not null, not {value!r}"
    raise TypeError(message)


def _pointers(value: object) -> int:
    """Return the address of a ctypes pointer, or of a ctypes array of pointers."""
    if isinstance(value, ctypes.Array) and value._type_ in _POINTERS:
        return ctypes.addressof(value)
    if isinstance(value, ctypes.c_void_p | ctypes._Pointer):
        return ctypes.addressof(value)
    message = f"must be a ctypes pointer or an array of them, not {type(value).__name__}"
    raise TypeError(message)


def _address(array: NDArray[np.generic], *, written: bool) -> int:
    """Return the address of an array, which must be contiguous and, if `written`, writable."""
    flags = array.flags
    if not flags.c_contiguous:
        message = "must be C-contiguous"
        raise TypeError(message)
    if written and not flags.writeable:
        message = "is read-only"
        raise TypeError(message)
    return array.ctypes.data
