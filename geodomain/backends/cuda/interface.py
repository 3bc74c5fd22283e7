"""Where an array on a GPU is, as the CUDA array interface and DLPack say it."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypedDict


class ArrayInterface(NamedTuple):
    """An array's memory, and what owns it.

    Attributes
    ----------
    address : int
    read_only : bool
    shape : tuple of int
    strides : tuple of int, optional
        In bytes; None where the elements follow each other, the last axis fastest.
    typestr : str
        The type, as NumPy writes it.
    stream : int, optional
        Whose work comes first; None where there is nothing to wait for, -1 for all of it.
    owner : object
        What keeps the memory.
    """

    address: int
    read_only: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    typestr: str
    stream: int | None
    owner: object


class CudaInterface(TypedDict, total=False):
    """What ``__cuda_array_interface__`` holds."""

    shape: tuple[int, ...]
    typestr: str
    data: tuple[int, bool]
    strides: tuple[int, ...] | None
    stream: int | None
    mask: object
    version: int


class DlpackArray(Protocol):
    """An array that gives its memory by DLPack."""

    def __dlpack__(self, *, stream: int) -> object:
        """Return a capsule."""
        ...
