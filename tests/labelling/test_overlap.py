"""Why boxes do not meet: exchanged axes, signs, prefixes, datums."""

from __future__ import annotations

import numpy as np
import pytest

from geodomain.labelling.evaluate import explain_apart, explain_better, meet, share_within

MODEL = np.array([[414_000.0, 7_480_000, 150], [414_500, 7_480_400, 400]])
MESH = np.array([[414_100.0, 7_480_100, 200], [414_200, 7_480_200, 300]])


def shifted(x: float = 0, y: float = 0, z: float = 0) -> np.ndarray:
    return MESH + np.array([x, y, z])


APART = {
    "swapped": (MESH[:, [1, 0, 2]], "x and y exchanged"),
    "sign of y": (MESH[::-1] * [1, -1, 1] * 1.0, "sign of y changed"),
    "signs of x and y": (MESH[::-1] * [-1, -1, 1], "sign of x and y changed"),
    "sign of y, around the model": (
        np.array([[413_000.0, -7_490_000, 0], [415_000, -7_470_000, 500]]),
        "sign of y changed",
    ),
    "prefix": (shifted(y=-7_000_000), "with 7,000,000 added to y of the mesh"),
    "two prefixes": (
        shifted(x=-400_000, y=-7_400_000),
        "400,000 added to x and 7,400,000 added to y",
    ),
    "a mine's datum": (shifted(z=5_000), "with 5,000 taken from z of the mesh"),
    "heights in feet": (MESH * [1, 1, 0.54] - [0, 0, 50], "z of the mesh times 3.28084"),
    "heights in metres": (MESH * [1, 1, 5.4] - [0, 0, 400], "z of the mesh times 0.3048"),
    "elevation": (shifted(z=400), "in plan and not in elevation"),
    "elsewhere": (shifted(x=12_345), "12,000 taken from x"),
    "near by": (shifted(x=700), ""),
}


@pytest.mark.parametrize("case", APART.values(), ids=APART.keys())
def test_what_would_bring_them_together(case: tuple[np.ndarray, str]) -> None:
    box, words = case
    box = np.sort(box, axis=0)
    assert not meet(box, MODEL)
    found = explain_apart(box, MODEL)
    assert words in found and bool(words) == bool(found)


def test_shares_of_boxes() -> None:
    assert share_within(MESH, MODEL) == 1
    assert share_within(shifted(x=-150), MODEL) == 0.5
    assert share_within(shifted(x=-500), MODEL) == 0
    flat = MESH.copy()
    flat[1, 2] = flat[0, 2]
    assert share_within(flat, MODEL) == 1


def test_a_mesh_that_fits_better_the_other_way() -> None:
    model = np.array([[0.0, 0, 0], [1000, 100, 50]])
    long = np.array([[0.0, 0, 0], [90, 950, 40]])
    assert "x and y exchanged" in explain_better(long, model)
    assert explain_better(long[:, [1, 0, 2]], model) == ""


def test_the_best_fit_is_said_not_the_first() -> None:
    """Heights in feet: y and z exchanged would meet as well, and hold less of the mesh."""
    model = np.array([[0.0, 0, 87.7], [180, 200, 273.2]])
    mesh = np.array([[-5.0, -5, 25.9], [185, 205, 86.5]])
    assert meet(mesh[:, [0, 2, 1]], model)
    assert explain_apart(mesh, model).startswith("with z of the mesh times 3.28084")
