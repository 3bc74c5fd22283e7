"""Streams of other libraries, whose work on the caller's arrays comes first."""

from __future__ import annotations

from geodomain.backends.cuda import device, libcuda
from geodomain.backends.data import Points, Room


def wait_for(*arrays: Points | Room) -> None:
    """Wait until the work that the arrays come from is done; a context is current."""
    named = [getattr(array, "stream", None) for array in arrays]
    streams = {stream for stream in named if stream is not None}
    if streams and not all(stream > 0 and libcuda.wait_for_stream(stream) for stream in streams):
        device.driver().Context.synchronize()
