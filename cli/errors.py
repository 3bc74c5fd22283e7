"""How a command ends when something is wrong: one line on stderr and a documented exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import click

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
    except BrokenPipeError:
        _leave_pipe()
    except OSError as error:
        _fail(_say(error), INPUT_OUTPUT)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was written", INTERRUPTED)


def _fail(message: str, code: int) -> NoReturn:
    """End with one red line."""
    click.secho(f"error: {' '.join(message.split())}", fg="red", err=True)
    raise SystemExit(code)


def _say(error: OSError) -> str:
    """Say which file has what, and by which option it may be overwritten."""
    if isinstance(error, FileExistsError):
        return f"{error} with --overwrite"
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _leave_pipe() -> NoReturn:
    """End without a word, and keep Python from flushing into the closed pipe at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(0)
