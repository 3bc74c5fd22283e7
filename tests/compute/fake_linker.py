"""The driver's linker, which makes machine code of PTX; a part of the stand-in driver."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from typing import Any

from fake_cuda import FakeCuda

INVALID_CONTEXT, INVALID_PTX = 201, 218


class FakeLinker:
    """Each call takes what ctypes would pass on, and what is asked out of turn is an error."""

    def __init__(self, fake: FakeCuda) -> None:
        self.fake = fake
        self.linked: list[str] = []  # the kernels of each text, in the order they were asked for
        self.fails: Callable[[str], bool] = lambda text: False
        self.meanwhile: Callable[[], object] = lambda: None  # while one is made
        self.open: dict[int, tuple[str, ctypes.Array[Any]]] = {}
        self.turn = threading.Lock()

    def cuCtxGetCurrent(self, context: Any) -> int:
        current = self.fake.current
        context._obj.value = None if current is None else current + 1
        return 0

    def cuCtxPushCurrent_v2(self, context: Any) -> int:
        self.fake.stack.append(context.value - 1)
        return 0

    def cuCtxPopCurrent_v2(self, context: Any) -> int:
        context._obj.value = self.fake.stack.pop() + 1
        return 0

    def cuLinkCreate_v2(self, count: Any, options: Any, values: Any, state: Any) -> int:
        assert (count.value, options, values) == (0, None, None)
        if not self.fake.stack:
            return INVALID_CONTEXT
        with self.turn:
            state._obj.value = max(self.open, default=0) + 1
            self.open[state._obj.value] = "", (ctypes.c_char * 0)()
        return 0

    def cuLinkAddData_v2(
        self, state: Any, kind: int, data: bytes, size: Any, name: bytes, *options: Any
    ) -> int:
        assert kind == 1 and size.value == len(data) + 1 and name
        assert (options[0].value, *options[1:]) == (0, None, None)
        text = data.decode()
        kernels = " ".join(re.findall(r"\.entry (\w+)", text))
        self.linked.append(kernels)
        if self.fails(text):
            return INVALID_PTX
        major, minor = self.fake.capabilities[self.fake.current]
        code = f"LINKED sm_{major}{minor} {kernels}".encode()
        self.open[state.value] = text, ctypes.create_string_buffer(code, len(code))
        return 0

    def cuLinkComplete(self, state: Any, cubin: Any, size: Any) -> int:
        self.meanwhile()
        _, code = self.open[state.value]
        cubin._obj.value, size._obj.value = ctypes.addressof(code), len(code)
        return 0

    def cuLinkDestroy(self, state: Any) -> int:
        _, code = self.open.pop(state.value)
        ctypes.memset(code, 0xA5, len(code))  # who reads it later reads rubbish
        return 0
