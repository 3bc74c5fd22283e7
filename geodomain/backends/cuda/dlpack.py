"""Arrays on a GPU by DLPack, read through ctypes; no other library is needed."""

from __future__ import annotations

import ctypes
import math

from geodomain.backends.cuda.interface import ArrayInterface, DlpackArray

_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # types of DLPack, as NumPy says them
_NAME, _USED = b"dltensor", b"used_dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; null where contiguous
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (
    ("tensor", _Tensor),
    ("context", ctypes.c_void_p),
    ("deleter", _Deleter),
)

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


class _Owner:
    """Keep a DLPack tensor until it is used no more."""

    def __init__(self, managed: ctypes._Pointer[_Managed]) -> None:
        self._managed = managed

    def __del__(self) -> None:
        """Tell the producer that it is not used any more."""
        if self._managed.contents.deleter:
            self._managed.contents.deleter(self._managed)


def interface(values: DlpackArray, stream: int) -> ArrayInterface:
    """Return where an array's memory is, and what owns it.

    The producer's work is done when ``stream`` is.
    """
    capsule = values.__dlpack__(stream=stream)
    managed = ctypes.cast(_get_pointer(capsule, _NAME), ctypes.POINTER(_Managed))
    _set_name(capsule, _USED)  # from here on the deleter is ours to call
    owner, tensor = _Owner(managed), managed.contents.tensor
    if tensor.lanes != 1 or tensor.kind not in _KINDS:
        message = "points must be real numbers"
        raise TypeError(message)
    size = tensor.bits // 8
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    return ArrayInterface(
        address=(tensor.data or 0) + tensor.byte_offset,
        read_only=False,
        shape=shape,
        strides=_strides(tensor, shape, size),
        typestr=f"{'|' if size == 1 else '<'}{_KINDS[tensor.kind]}{size}",
        stream=-1,
        owner=owner,
    )


def _strides(tensor: _Tensor, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    if tensor.strides:
        return tuple(tensor.strides[axis] * size for axis in range(tensor.ndim))
    return tuple(size * math.prod(shape[axis + 1 :]) for axis in range(tensor.ndim))
