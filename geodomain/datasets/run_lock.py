"""One run at a time writes an output: a lock that is created, or that proves to be left behind."""

from __future__ import annotations

import errno
import json
import os
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from geodomain.datasets.states import STATE_FOLDER
from geodomain.datasets.stores import Store
from geodomain.errors import warn

_LOCK = f"{STATE_FOLDER}/lock.json"


@contextmanager
def locked(output: Store, *, take_over: bool) -> Iterator[str]:
    """Hold the lock of an output for the block.

    A lock is broken by proof alone, never by age: where its process ran on this machine and has
    ended, or where the caller says so.

    Parameters
    ----------
    output : Store
        The folder that is written.
    take_over : bool
        Take the lock from another run, which then finds that out before its next part.

    Yields
    ------
    str
        The name of this run, unlike that of any other.

    Raises
    ------
    OSError
        If another run holds the lock.
    """
    run = uuid.uuid4().hex
    lock = json.dumps({"run": run, **_this_process()}, indent=2).encode() + b"\n"
    if not output.create(_LOCK, lock):
        holder = _holder(output)
        if not (take_over or _has_ended(holder)):
            raise OSError(errno.EBUSY, _refusal(holder), str(output))
        output.write(_LOCK, lock)
    try:
        yield run
    finally:
        _release(output, run)


def _release(output: Store, run: str) -> None:
    """Remove the lock, unless it is another run's by now."""
    try:
        if _holder(output).get("run") == run:
            output.remove(_LOCK)
    except OSError as error:
        warn(f"the lock {output}/{_LOCK} could not be removed ({error}): remove it")


def _refusal(holder: Mapping[str, object]) -> str:
    """Say which run holds the lock."""
    who = "another run is writing it"
    if holder:
        place = f"process {holder.get('pid')} on {holder.get('host')}"
        who = f"{who}, {place}, since {holder.get('began')}"
    return f"{who}: wait for its end. If that run works no more, go on with take_over=True"


def _holder(output: Store) -> Mapping[str, object]:
    """Read the lock; empty where there is none by now, or it cannot be understood."""
    try:
        found: object = json.loads(output.read(_LOCK))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _this_process() -> dict[str, object]:
    """Describe this process so that others can tell whether it is still there."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
        "started": _started(os.getpid()),
    }


def _machine() -> str:
    """Name this boot of this machine and its table of processes; empty where neither is told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the boot; empty for one that has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The name of the program, in brackets, may hold anything.
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def _has_ended(holder: Mapping[str, object]) -> bool:
    """Tell whether the process of a lock is known to be no more: on this machine, by the system."""
    pid, machine = holder.get("pid"), _machine()
    if not machine or holder.get("machine") != machine or not isinstance(pid, int):
        return False
    return _started(pid) != holder.get("started")
