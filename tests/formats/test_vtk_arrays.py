"""Arrays of strings as VTK holds them: every value is the text that its place stands for."""

from __future__ import annotations

import numpy as np
import pytest

from geodomain.formats.vtk import category_array

TEXTS = ["ORE", "HALÓ", "a b"]


@pytest.mark.parametrize("count", [0, 1, 2, 17, 400])
@pytest.mark.parametrize("run", [1, 2, 7, 300])
def test_values_are_the_texts_of_their_places(count: int, run: int) -> None:
    random = np.random.default_rng(count + run)
    places = np.repeat(random.integers(-1, len(TEXTS), count), run)[:count].astype(np.int32)
    array = category_array("domain", TEXTS, places)
    assert array.GetName() == "domain"
    values = [array.GetValue(row) for row in range(array.GetNumberOfValues())]
    assert values == [TEXTS[place] if place >= 0 else "" for place in places]


def test_longer_runs_come_later_and_are_copied_whole() -> None:
    lengths = [1, 5, 2, 64, 3, 129, 1]
    places = np.concatenate([np.full(n, row % 2, np.int32) for row, n in enumerate(lengths)])
    array = category_array("domain", TEXTS, places)
    assert [array.GetValue(row) for row in range(sum(lengths))] == [TEXTS[p] for p in places]


def test_nothing_but_missing() -> None:
    array = category_array("domain", [], np.full(9, -1, np.int32))
    assert {array.GetValue(row) for row in range(9)} == {""}
