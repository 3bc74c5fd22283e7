"""Each public call looks at its rule, its mesh and its points once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType

import numpy as np
import pytest
from shapes import cube

import geodomain
from geodomain.arrays import as_columns
from geodomain.mesh.fitness import require_fit
from geodomain.query.locator import check_rule

CHECKS = {check.__code__: check.__name__ for check in (as_columns, require_fit, check_rule)}
POINTS = np.random.default_rng(3).uniform(-1, 2, (5000, 3))  # more than a lattice is looked for in
AXIS = np.linspace(-1, 2, 9)


def checks_of(call: Callable[[], object]) -> Counter[str]:
    """Count the checks that run during a call."""
    counts: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        if event == "call" and code in CHECKS:
            counts[CHECKS[code]] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return counts


@pytest.mark.parametrize("rule", ["parity", "winding"])
def test_points_against_a_mesh(rule) -> None:
    counts = checks_of(lambda: geodomain.contains(cube(), POINTS, rule=rule, backend="cpu"))
    assert counts == {"check_rule": 1, "require_fit": 1, "as_columns": 1}


@pytest.mark.parametrize("rule", ["parity", "winding"])
def test_a_lattice_against_a_mesh(rule) -> None:
    counts = checks_of(
        lambda: geodomain.contains_lattice(cube(), AXIS, AXIS, AXIS, rule=rule, backend="cpu")
    )
    assert counts["check_rule"] == counts["require_fit"] == 1


def test_signed_distances() -> None:
    counts = checks_of(lambda: geodomain.distances(cube(), POINTS, signed=True, backend="cpu"))
    assert counts == {"require_fit": 1, "as_columns": 1}


def test_a_labelled_file(tmp_path) -> None:
    model = tmp_path / "blocks.csv"
    np.savetxt(model, POINTS, delimiter=",", header="x,y,z", comments="")
    counts = checks_of(
        lambda: geodomain.label_file(model, {"ORE": cube()}, None, rule="winding", backend="cpu")
    )
    assert counts == {"require_fit": 1}  # the settings look at the rule


def test_a_rule_that_does_not_exist_is_refused_before_a_file_is_read(tmp_path) -> None:
    model = tmp_path / "blocks.csv"
    model.write_text("x,y,z\n0,0,zero\n")
    with pytest.raises(ValueError, match="rule is 'odd'"):
        geodomain.label_file(model, {"ORE": cube()}, None, rule="odd")
