"""The context of a device, and what ended it."""

from __future__ import annotations

import contextlib
import os
import traceback
from types import TracebackType

from geodomain.backends.cuda import errors as cuda_errors
from geodomain.backends.cuda.pycuda_types import Driver
from geodomain.errors import DeviceError

_FORKED = (
    "this process was forked from one that had used the GPU, and CUDA does not work in it: start "
    "processes by 'spawn' or 'forkserver', or use backend='cpu'"
)


class PrimaryContext:
    """The primary context of a device, which torch and cupy share; a context manager.

    In its `with` it is current, on whatever thread; after that the old one is. What PyCUDA raises
    inside leaves as a DeviceError that says what has happened. It remembers what ended it: from
    then on nothing is asked of the device any more.

    Parameters
    ----------
    cuda : Driver
    number : int
        Of the device.
    process : int
        In which the driver was started; CUDA works in no other, forked from it.

    Raises
    ------
    DeviceError
        If the device gives none.
    """

    def __init__(self, cuda: Driver, number: int, process: int) -> None:
        self._cuda, self._process, self._ended = cuda, process, ""
        self._require_alive()
        try:
            self._context = cuda.Device(number).retain_primary_context()
        except cuda.Error as error:
            message = f"the GPU gives no context: {error}; use backend='cpu'"
            raise DeviceError(message) from error

    @property
    def ended(self) -> str:
        """Return why nothing on the device can be used any more; "" while it can."""
        return self._ended if os.getpid() == self._process else _FORKED

    def __enter__(self) -> Driver:
        """Make the context current, and return PyCUDA's driver."""
        self._require_alive()
        try:
            self._context.push()
        except self._cuda.Error as error:
            raise self._meaning_of(error) from error
        return self._cuda

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the old context back."""
        try:
            if error is not None:
                self._pass_on(error)
        finally:
            # PyCUDA ends the process where its stack of contexts is not empty at the end.
            with contextlib.suppress(self._cuda.Error):
                self._cuda.Context.pop()

    def _pass_on(self, error: BaseException) -> None:
        """Raise what PyCUDA's error means, and drop what the calls that failed had allocated.

        That goes now: PyCUDA leaks what another thread drops while the context is not current.
        """
        if isinstance(error, (self._cuda.Error, DeviceError)):
            traceback.clear_frames(error.__traceback__)
        if isinstance(error, self._cuda.Error):
            raise self._meaning_of(error) from error

    def _require_alive(self) -> None:
        """Raise DeviceError where an earlier error has left nothing on the device to trust."""
        ended = self.ended
        if ended == _FORKED:
            raise cuda_errors.RefusedCall(ended)
        if ended:
            raise DeviceError(ended)

    def _meaning_of(self, error: Exception) -> DeviceError:
        """Return what PyCUDA's error means; the first one that ends the context stays."""
        meaning = cuda_errors.meaning_of(self._cuda, error)
        if isinstance(meaning, cuda_errors.DeadContext):
            self._ended = self._ended or str(meaning)
        return meaning
