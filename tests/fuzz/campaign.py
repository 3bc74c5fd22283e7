"""Run the cases of a fuzzer: each is made from a seed and its number, so a fault can be run again.

A fixed number of cases gives the same answer on every machine; `--seconds` goes on for some time.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

Check = Callable[[Counter[str]], str]


class Case(NamedTuple):
    """One case: its seed and number, and the kind that the user chose, if any."""

    seed: int
    number: int
    kind: str | None

    def __str__(self) -> str:
        """Return the options that run it again, and the seed of its dice."""
        return f"{self.seed} {self.number}"


def campaign(
    about: str | None,
    outcomes: Callable[[Case], Iterable[str]],
    *,
    kinds: Iterable[str] = (),
    at_end: Check | None = None,
) -> int:
    """Run the cases that the command line asks for; return 1 if one of them failed.

    `outcomes` runs a case and returns what to count; an exception is a fault. `at_end` looks at
    the counts, and returns what is wrong with them, or an empty text.
    """
    parser = argparse.ArgumentParser(description=about)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--cases", type=int, default=100, help="so many cases (default: 100)")
    length.add_argument("--seconds", type=float, help="as many cases as this time allows")
    length.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(kinds))
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    faults = cases = 0
    for number in _numbers(options):
        cases += 1
        try:
            counts.update(outcomes(Case(options.seed, number, options.kind)))
        except Exception:
            faults += 1
            again = f"--seed {options.seed} --case {number}"
            sys.stderr.write(f"\n{again}:\n{traceback.format_exc(limit=-4)}")
    wrong = at_end(counts) if at_end else ""
    if wrong:
        faults += 1
        sys.stderr.write(f"{wrong}\n")
    for outcome, count in sorted(counts.items()):
        sys.stdout.write(f"{count:9,}  {outcome}\n")
    sys.stdout.write(f"{cases:9,}  cases, {faults} faults\n")
    return int(faults > 0)


def _numbers(options: argparse.Namespace) -> Iterator[int]:
    """Yield the numbers of the cases that were asked for."""
    if options.case is not None:
        yield options.case
        return
    end = time.monotonic() + options.seconds if options.seconds is not None else None
    number = 0
    while time.monotonic() < end if end is not None else number < options.cases:
        yield number
        number += 1
