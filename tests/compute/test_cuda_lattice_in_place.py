"""Lattices whose labels stay on the GPU, with a stand-in driver."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_gpu import ByDlpack, fake, on_device, read_back, small_buffers
from fake_gpu import machine_used as auto_taken
from shapes import star

import geodomain
from geodomain import DeviceArray, DeviceError, Mesh, PointLocator
from geodomain.compute.cuda import lattices

__all__ = ["fake", "small_buffers"]

MESH = star(6)
LOW, HIGH = MESH.bounds

pytestmark = pytest.mark.usefixtures("small_buffers")


def lattice(*counts: int) -> list[np.ndarray]:
    """Return axes over the mesh; one value is in the middle."""
    return [
        np.linspace(1.1 * LOW[k], 1.1 * HIGH[k], count) if count > 1 else np.zeros(1)
        for k, count in enumerate(counts)
    ]


def at_offset(fake: Any, array: np.ndarray, offset: int) -> Any:
    """Return room for an array at an address of the device that is no multiple of 8."""
    memory = on_device(fake, np.full(array.nbytes + 16, 0x5A, np.uint8))
    start = int(memory.memory) + offset
    told = {"shape": array.shape, "typestr": array.dtype.str, "data": (start, False)}
    return SimpleNamespace(
        __cuda_array_interface__={**memory.__cuda_array_interface__, **told}, all=memory
    )


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("width", [1, 37])
@pytest.mark.parametrize("depth", [1, 63, 64, 65, 100, 333, 1000, 2100])
def test_labels_are_written_in_place(fake, depth: int, width: int, packed: bool) -> None:
    axes = lattice(7, width, depth)
    expected = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cpu")
    assert expected.any() and not expected.all()
    locator = PointLocator(MESH, backend="cuda")
    for offset in (0, 3):
        out = at_offset(fake, expected, offset)
        fake.calls.clear()
        assert locator.contains_lattice(*axes, packed=packed, out=out) is out
        parts = fake.calls.count("geodomain_lattice_toggle")
        assert fake.calls.count("dtoh") == parts  # the counts
        words_in_place = packed and depth % 64 in (0, 63) and offset == 0
        assert parts == 1 if words_in_place else parts > 1 or depth * width < 4000
        assert np.array_equal(read_back(fake, out), expected.ravel())
        beside = np.delete(read_back(fake, out.all), np.s_[offset : offset + expected.nbytes])
        assert (beside == 0x5A).all()


def test_arrays_of_several_kinds(fake) -> None:
    axes = lattice(5, 6, 70)
    for packed in (False, True):
        expected = geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cpu")
        ours = DeviceArray(expected.shape, expected.dtype)
        assert geodomain.contains_lattice(MESH, *axes, packed=packed, out=ours) is ours
        assert np.array_equal(ours.get(), expected)
        assert auto_taken() == ("cuda", "the output is on the GPU")
        theirs = ByDlpack(fake, np.zeros_like(expected))
        geodomain.contains_lattice(MESH, *axes, packed=packed, backend="cuda", out=theirs)
        assert np.array_equal(theirs.view, expected)


def test_the_streams_of_others_are_waited_for(fake) -> None:
    axes = lattice(5, 6, 70)
    out = on_device(fake, np.zeros((5, 6, 70), bool), stream=7)
    geodomain.contains_lattice(MESH, *axes, out=out)
    assert fake.calls.index("wait 7") < fake.calls.index("geodomain_lattice_toggle")


def test_what_an_array_on_the_device_is_not_for(fake) -> None:
    axes, room = lattice(5, 6, 70), np.zeros((5, 6, 70), bool)
    out = on_device(fake, room)
    for axis, values in ((0, axes[0][::-1]), (1, axes[1][[0, 0, 1, 2, 3, 4]])):
        given = [values if k == axis else axes[k] for k in range(3)]
        with pytest.raises(ValueError, match="finite, strictly increasing axes: sort"):
            geodomain.contains_lattice(MESH, *given, out=out)
    with pytest.raises(ValueError, match="'winding' cannot write results on a GPU"):
        geodomain.contains_lattice(MESH, *axes, rule="winding", out=out)
    with pytest.raises(ValueError, match="out is on a GPU, which the CPU cannot read"):
        geodomain.contains_lattice(MESH, *axes, backend="cpu", out=out)
    wrong = [
        on_device(fake, room[1:]),
        on_device(fake, room.view(np.uint8)),
        on_device(fake, room, strides=(1, 5, 30)),
        on_device(fake, room.ravel()),
    ]
    for each in wrong:
        with pytest.raises(ValueError, match=r"out must be .* of bool, shape \(5, 6, 70\), not of"):
            geodomain.contains_lattice(MESH, *axes, out=each)
    assert not read_back(fake, out).any()


def test_strides_of_axes_of_one_block_say_nothing(fake) -> None:
    axes = lattice(1, 6, 70)
    out = on_device(fake, np.zeros((1, 6, 70), bool), strides=(999, 70, 1))
    geodomain.contains_lattice(MESH, *axes, out=out)
    expected = geodomain.contains_lattice(MESH, *axes, backend="cpu")
    assert np.array_equal(read_back(fake, out), expected.ravel())


def test_a_list_that_is_too_short_is_made_longer(fake, monkeypatch) -> None:
    monkeypatch.setattr(lattices, "UNSURE_ROOM", 100)
    axes = lattice(5, 6, 70)
    expected = geodomain.contains_lattice(MESH, *axes, backend="cpu")
    out = DeviceArray(expected.shape, bool)
    fake.unsure = 101
    geodomain.contains_lattice(MESH, *axes, out=out)
    assert np.array_equal(out.get(), expected)
    parts = -(-5 // (600 // (6 * 16)))
    assert fake.calls.count("geodomain_lattice_toggle") == parts + 1


def test_want_of_memory_is_an_error(fake) -> None:
    axes = lattice(5, 6, 70)
    out = on_device(fake, np.zeros((5, 6, 70), bool))
    fake.room = 1000
    for backend in ("auto", "cuda"):
        with pytest.raises(DeviceError, match="not enough GPU memory"):
            geodomain.contains_lattice(MESH, *axes, backend=backend, out=out)
    assert not read_back(fake, out).any()


def test_one_layer_that_is_too_large(fake, monkeypatch) -> None:
    """Less is lent than a layer needs."""
    monkeypatch.setattr(lattices.in_place_pool, "_least", 8)
    axes = lattice(2, 60, 70)
    out = DeviceArray((2, 60, 70), bool)
    real = fake.mem_alloc

    def scant(size: int) -> Any:
        if 8 < size < 12 * lattices.UNSURE_ROOM and size == lattices._AHEAD + 8 * 2 * 60:
            raise fake.MemoryError
        return real(size)

    monkeypatch.setattr(fake, "mem_alloc", scant)
    with pytest.raises(DeviceError, match="one layer of the lattice"):
        geodomain.contains_lattice(MESH, *axes, out=out)


def test_nothing_to_label(fake) -> None:
    out = on_device(fake, np.zeros((0, 6, 70), bool), data=(0, False))
    assert geodomain.contains_lattice(MESH, [], *lattice(5, 6, 70)[1:], out=out) is out
    full = on_device(fake, np.ones((5, 6, 70), bool))
    nothing = Mesh(np.empty((0, 3)), np.empty((0, 3), np.int32))
    geodomain.contains_lattice(nothing, *lattice(5, 6, 70), out=full)
    assert not read_back(fake, full).any()
