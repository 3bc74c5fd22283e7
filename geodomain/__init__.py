"""Label geological block models: which blocks lie inside which wireframe, exactly."""

from __future__ import annotations
