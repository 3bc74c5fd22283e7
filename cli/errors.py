"""Errors as one line on stderr and a documented exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Literal, NoReturn

import click

from geodomain.cli.missing import mend_missing
from geodomain.cli.spelling import as_options
from geodomain.errors import DeviceError, GeodomainError, visible

# Keys of a context: whether JSON goes to stdout, to stderr or nowhere, and whether it is there.
WANTED, WRITTEN = "geodomain.json wanted", "geodomain.json written"
# What an error is called in JSON, by exit code.
_KINDS = {2: "usage", 3: "bad input", 4: "input or output", 5: "device", 130: "interrupted"}
BAD_INPUT, INPUT_OUTPUT, DEVICE, INTERRUPTED = 3, 4, 5, 130


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn what the user can mend into an exit code; leave bugs their traceback.

    A closed pipe ends quietly and well: whoever reads the output has had enough of it. Where an
    error cannot be printed, on a full disk, the exit code alone tells it.
    """
    try:
        yield
    except click.UsageError as error:
        vars(error)["message"] = visible(error.message, lines=True)  # click calls it final
        with suppress(OSError):
            error.show()
        with suppress(OSError):
            _write_json(error.format_message(), error.exit_code)
        raise SystemExit(error.exit_code) from None
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
        _fail(said_of(error), INPUT_OUTPUT)
    except MemoryError:
        _fail("not enough memory", INPUT_OUTPUT)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        _fail("the system allows no more threads: use fewer with --threads", INPUT_OUTPUT)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)


def _fail(message: str, code: int) -> NoReturn:
    """End with one red line, and with JSON where JSON was asked for."""
    with suppress(OSError):
        print_error(message)
    with suppress(OSError):
        _write_json(message, code)
    raise SystemExit(code)


def print_error(message: str) -> None:
    """Print one red line, with options for the library's keywords."""
    said = visible(as_options(" ".join(message.split())))
    click.secho(f"error: {said}", fg="red", err=True)


def wants_json(args: Sequence[str]) -> Literal["stdout", "stderr", ""]:
    """Return where a command with these arguments writes JSON: beside data on stdout, to stderr."""
    if "--json" not in args:
        return ""
    data = any(pair in (("-o", "-"), ("--output", "-")) for pair in pairwise(args))
    return "stderr" if data or {"-o-", "--output=-"} & set(args) else "stdout"


def _write_json(message: str, code: int) -> None:
    """Write an error as JSON where the result would be, unless the result is there already."""
    context = click.get_current_context(silent=True)
    where = context.meta.get(WANTED) if context else ""
    if context is None or not where or context.meta.get(WRITTEN):
        return
    said = as_options(" ".join(message.split()))
    error = {"kind": _KINDS.get(code, "bug"), "message": said, "exit_code": code}
    click.echo(json.dumps({"error": error}, indent=2), err=where == "stderr")


def said_of(error: Exception) -> str:
    """Return what an error says; of files, the file and the reason."""
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _leave_pipe() -> NoReturn:
    """Exit silently, and keep Python from flushing into the closed pipe."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(0)
