"""Calls of the compiled core: a call that its C++ function does not take never reaches it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from geodomain.compute.native import Core, core

SIGNATURES = core().signatures
BITS = {"b": 8, "h": 16, "i": 32, "q": 64}


def good(kind: str) -> object:
    """Return an argument that a kind takes."""
    if kind[0] not in "<>":
        return b"," if kind == "c" else 1
    there = kind[1:].removesuffix("?")
    if there == "P":
        return (ctypes.c_void_p * 3)()
    if there == "v":
        return ctypes.c_void_p(64)
    if there[0] == "#":
        return np.zeros(2, np.dtype((np.void, int(there[1:]))))
    return np.zeros(4, "u1" if there == "c" else there)


def bad(kind: str) -> list[object]:
    """Return arguments that a kind does not take."""
    if kind == "c":
        return [b"", b"ab", "a", 1, None]
    if kind in "fd":
        return ["1", None, np.zeros(1)]
    if kind[0] not in "<>":
        bits = BITS[kind.lower()]
        high = 2**bits if kind.isupper() else 2 ** (bits - 1)
        return [high, 2**70, -high - 1, 1.0, "1", None]
    array, there = good(kind), kind[1:].removesuffix("?")
    wrong: list[object] = [object(), 64, "text"]
    if not kind.endswith("?"):
        wrong.append(None)
    if isinstance(array, np.ndarray):
        read_only = array.copy()
        read_only.flags.writeable = False
        other = np.zeros(4, "f8" if there != "d" else "f4")
        wrong += [other, np.concatenate([array, array])[::2], array.tolist()]
        wrong += [read_only] if kind[0] == ">" else []
    if there == "v":
        wrong += [ctypes.c_void_p(), np.zeros((4, 4))[:, 1]]
    return wrong


def test_every_function_is_described() -> None:
    # One that is not would be called without its checks, were it not refused.
    assert len(SIGNATURES) > 120
    assert all(len(kinds) >= 1 for kinds in SIGNATURES.values())


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_wrong_number_of_arguments_is_refused(name: str) -> None:
    arguments = [good(kind) for kind in SIGNATURES[name][1:]]
    for wrong in (arguments[:-1], [*arguments, 0]):
        if len(wrong) != len(arguments):
            with pytest.raises(TypeError, match=f"{name} takes {len(arguments)} arguments"):
                getattr(core(), name)(*wrong)


@pytest.mark.parametrize("name", SIGNATURES)
def test_an_argument_that_does_not_fit_is_refused(name: str) -> None:
    kinds = SIGNATURES[name][1:]
    for place, kind in enumerate(kinds):
        arguments = [good(each) for each in kinds]
        for wrong in bad(kind):
            arguments[place] = wrong
            with pytest.raises(TypeError, match=f"argument {place + 1} of {name} "):
                getattr(core(), name)(*arguments)


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no function 'grid_destroy'"):
        core().grid_destroy()


def test_statuses_are_told_apart() -> None:
    # Too much for the machine, and too much for any machine, are memory; nothing else is.
    rows, merged = np.zeros((0, 3)), np.zeros(0, np.int32)
    assert core().merge_vertices(rows, 0, merged) == 0
    with pytest.raises(MemoryError, match="no memory is large enough"):
        core().clip_ears(np.zeros((0, 3)), 2**62, np.zeros(3), np.zeros((0, 3), np.int32))


def test_a_core_is_kept() -> None:
    assert core() is core()
    assert isinstance(core(), Core)
    assert core().grid_contains is core().grid_contains
