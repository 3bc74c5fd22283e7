"""The driver, which of its devices are used, and the one that a thread works on; no context."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator

from geodomain.backends.cuda.pycuda_types import Driver
from geodomain.errors import DeviceError


@functools.cache
def driver() -> Driver:
    """Return PyCUDA's driver module, initialised; DeviceError says what is missing."""
    try:
        import pycuda.driver

        cuda: Driver = pycuda.driver
    except Exception as error:  # a folder that is gone, another NumPy's binary interface, ...
        message = (
            f"no CUDA backend here: {error}; install PyCUDA (geodomain[cuda]) and an NVIDIA driver "
            "('geodomain devices' says what is missing), or use backend='cpu'"
        )
        raise DeviceError(message) from error
    process()
    try:
        cuda.init()
        count = cuda.Device.count()
    except cuda.Error as error:
        message = f"the CUDA driver does not start: {error}{left_visible()}; use backend='cpu'"
        raise DeviceError(message) from error
    if count == 0:
        message = f"there is no CUDA device{left_visible()}; use backend='cpu'"
        raise DeviceError(message)
    return cuda


def left_visible() -> str:
    """Name what may hide the devices, if it is set."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "" if shown is None else f" (CUDA_VISIBLE_DEVICES is {shown!r})"


@functools.cache
def process() -> int:
    """Return the process that started the driver."""
    return os.getpid()


class _Work(threading.local):
    """The device that a thread works on, where it is not the first one."""

    number: int | None = None


_work = _Work()
chosen: list[tuple[int, ...]] = []  # by `geodomain.use_devices`; one at most


@functools.cache
def numbers() -> tuple[int, ...]:
    """Return which of the visible devices are used from here on.

    Those that were chosen, or those of GEODOMAIN_DEVICE, as "0,1", or all.
    """
    count = driver().Device.count()
    wish = os.environ.get("GEODOMAIN_DEVICE")
    if chosen or not wish:
        return chosen[0] if chosen else tuple(range(count))
    words = [word.strip() for word in wish.split(",")]
    found = [int(word) for word in words if word.isdecimal() and int(word) < count]
    if len(found) < len(words) or len(set(found)) < len(found):
        several = ", or several of them with commas," if count > 1 else ""
        message = (
            f"GEODOMAIN_DEVICE is {wish!r}; it can be {span(count)} here{several or ','} as in "
            "'geodomain devices', or use backend='cpu'"
        )
        raise DeviceError(message)
    return tuple(found)


def number() -> int:
    """Return the device that this thread works on: the first of those used, or `using`'s."""
    here = _work.number
    return numbers()[0] if here is None else here


@contextlib.contextmanager
def using(device: int) -> Iterator[None]:
    """Let this thread work on a device."""
    before, _work.number = _work.number, device
    try:
        yield
    finally:
        _work.number = before


def span(count: int) -> str:
    """Say what a number of so many devices can be."""
    return f"0 to {count - 1}"
