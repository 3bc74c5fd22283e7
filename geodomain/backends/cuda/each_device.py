"""What is remembered for each device by itself; no driver needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class OfEachDevice(Generic[Given, Result]):
    """A function that is called once for each device and each value; errors are not kept.

    Parameters
    ----------
    function : callable
        Its arguments can be hashed.
    number : callable
        Returns the device that the calling thread works on.

    Attributes
    ----------
    kept : dict
        What was returned on each device, by the arguments.
    """

    def __init__(self, function: Callable[Given, Result], number: Callable[[], int]) -> None:
        self._function, self._number = function, number
        self.__doc__ = function.__doc__
        self.kept: dict[int, dict[tuple[object, ...], Result]] = {}

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Return what the function returned on this device; of two threads the first one's."""
        kept, key = self.kept.setdefault(self._number(), {}), (*args, *kwargs.items())
        if key not in kept:
            kept.setdefault(key, self._function(*args, **kwargs))
        return kept[key]

    def cache_clear(self) -> None:
        """Forget all of it."""
        self.kept.clear()
