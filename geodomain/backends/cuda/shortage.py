"""What the CPU does because the device has too little memory, and the warning about it."""

from __future__ import annotations

from geodomain.errors import warn


def cpu_instead(what: str) -> str:
    """Warn that the CPU computes something for want of device memory; return the reason."""
    want = f"not enough GPU memory for {what}"
    message = f"{want}: computed on the CPU, with the same results"
    warn(message)
    return want
