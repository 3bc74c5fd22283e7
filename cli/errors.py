"""Errors as one line on stderr and a documented exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import click

from geodomain.cli.missing import mend_missing
from geodomain.cli.spelling import as_options
from geodomain.errors import DeviceError, GeodomainError

BAD_INPUT, INPUT_OUTPUT, DEVICE, INTERRUPTED = 3, 4, 5, 130


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn what the user can mend into an exit code; leave bugs their traceback.

    A closed pipe ends quietly and well: whoever reads the output has had enough of it.
    """
    try:
        yield
    except DeviceError as error:
        _fail(str(error), DEVICE)
    except GeodomainError as error:
        _fail(str(error), BAD_INPUT)
    except ModuleNotFoundError as error:
        mend = mend_missing(error)
        if mend is None:
            raise
        _fail(mend, BAD_INPUT)
    except ImportError as error:  # an extension for which there is no room
        if not any(said in str(error).lower() for said in ("failed to map", "allocate memory")):
            raise
        _fail("not enough memory", INPUT_OUTPUT)
    except BrokenPipeError:
        _leave_pipe()
    except OSError as error:
        _fail(_say(error), INPUT_OUTPUT)
    except MemoryError:
        _fail("not enough memory", INPUT_OUTPUT)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        _fail("the system allows no more threads: use fewer with --threads", INPUT_OUTPUT)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)


def _fail(message: str, code: int) -> NoReturn:
    """End with one red line."""
    print_error(message)
    raise SystemExit(code)


def print_error(message: str) -> None:
    """Print one red line, with options for the library's keywords."""
    click.secho(f"error: {as_options(' '.join(message.split()))}", fg="red", err=True)


def _say(error: OSError) -> str:
    """Return the file and the reason."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _leave_pipe() -> NoReturn:
    """Exit silently, and keep Python from flushing into the closed pipe."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(0)
