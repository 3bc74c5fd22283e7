"""The program `geodomain`: what must be set before anything else is imported."""

from __future__ import annotations

import importlib
import os
import signal

TYPE_CHECKING = False  # what takes time is imported once a signal ends the program quietly
if TYPE_CHECKING:
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run() -> None:
    """Run the command line; an interrupt or a termination ends it quietly, with 130 or 143."""
    # OpenBLAS, which NumPy loads, starts a thread for each core, and each of them looks for a
    # product in a loop for 0.1 s before it sleeps. Our products are too small to be shared.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for each in _SIGNALS:
        signal.signal(each, _leave_at_once)
    # Imported here, because an interrupt while it is imported must end quietly, too.
    main = importlib.import_module("geodomain.cli").main

    for each in _SIGNALS:
        signal.signal(each, _leave)
    if "_GEODOMAIN_COMPLETE" in os.environ:  # a shell asks how the line may go on
        importlib.import_module("geodomain.cli.options").offer()
    main(prog_name="geodomain")


def _leave_at_once(number: int, _: FrameType | None) -> None:
    """End before there is anything to tidy up."""
    os._exit(128 + number)


def _leave(number: int, _: FrameType | None) -> None:
    """End after what is open has been tidied up; a second signal ends that as well.

    Click takes a KeyboardInterrupt of its own code for a word of the user's ("Aborted!"), and
    passes SystemExit on.
    """
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    run()
