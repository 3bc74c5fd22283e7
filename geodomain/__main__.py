"""The program `geodomain`: set up signals and threads before other imports."""

from __future__ import annotations

import importlib
import os
import signal
import sys

from geodomain import __version__

TYPE_CHECKING = False  # slow imports come after the signal handlers
if TYPE_CHECKING:
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run() -> None:
    """Run the command line; SIGINT and SIGTERM end it without a traceback.

    The exit code is then 130 for SIGINT and 143 for SIGTERM.
    """
    # OpenBLAS, which NumPy loads, starts a thread for each core, and each thread waits for work in
    # a loop for 0.1 s before it sleeps. Our products are too small for several threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for each in _SIGNALS:
        signal.signal(each, _leave_at_once)
    if sys.argv[1:] in (["--version"], ["-V"]) and _printed_version():
        return
    # Imported here, so that an interrupt during the import gives no traceback either.
    main = importlib.import_module("geodomain.cli").main

    for each in _SIGNALS:
        signal.signal(each, _leave)
    if "_GEODOMAIN_COMPLETE" in os.environ:  # the shell asks for completions
        importlib.import_module("geodomain.cli.options").offer()
    main(prog_name="geodomain")


def _printed_version() -> bool:
    """Print the version without importing click; return False if stdout cannot be written to."""
    try:
        sys.stdout.write(f"geodomain, version {__version__}\n")
        sys.stdout.flush()
    except OSError:  # the command line prints the reason
        return False
    return True


def _leave_at_once(number: int, _: FrameType | None) -> None:
    """End the program at once with exit code 128 + `number`, the number of the signal.

    This is safe only while the commands are imported, because nothing needs clean-up yet.
    """
    os._exit(128 + number)


def _leave(number: int, _: FrameType | None) -> None:
    """End the program after cleaning up open files; a second signal ends it at once.

    SystemExit is raised, because click replaces a KeyboardInterrupt by "Aborted!".
    """
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    run()
