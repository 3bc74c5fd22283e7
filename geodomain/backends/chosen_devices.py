"""The GPUs that a process uses, chosen in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodomain.backends.cuda import device
from geodomain.backends.cuda import devices as visible


def use_devices(devices: Sequence[int]) -> None:
    """Let this process use some GPUs, in place of all that CUDA_VISIBLE_DEVICES leaves.

    To be called before anything else uses a GPU. The first one gets what is too small to be
    shared. Without a call, the environment variable GEODOMAIN_DEVICE decides, such as ``0,1``.

    Parameters
    ----------
    devices : sequence of int
        Their numbers, as `geodomain devices` lists them.

    Raises
    ------
    ValueError
        For a number that no GPU has, for one twice, or where other GPUs are in use already.
    DeviceError
        If there is no GPU that can be used.

    Examples
    --------
    >>> import geodomain
    >>> try:
    ...     geodomain.use_devices([0])
    ... except geodomain.DeviceError:  # on a machine without a GPU
    ...     pass
    """
    count, asked = device.driver().Device.count(), list(devices)
    whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in asked)
    if not asked or not whole or len(set(asked)) < len(asked) or not set(asked) <= {*range(count)}:
        message = (
            f"devices is {devices!r}; it can hold {visible.span(count)} here, each once, as in "
            "'geodomain devices'"
        )
        raise ValueError(message)
    wanted = tuple(map(int, asked))
    if any(device.context.kept.values()) and wanted != device.numbers():
        message = (
            f"devices is {devices!r}, and other GPUs ({_listed(device.numbers())}) are in use: "
            "choose before the first call that uses a GPU"
        )
        raise ValueError(message)
    visible.chosen[:] = [wanted]
    device.numbers.cache_clear()


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
