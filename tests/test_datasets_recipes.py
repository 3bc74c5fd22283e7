"""The recipes for other libraries on the page about datasets run, where these are installed."""

from __future__ import annotations

import re
from pathlib import Path

import pandas
import pytest
from datasets_of_blocks import folder

__all__ = ["folder"]
PAGE = Path(__file__).parents[1] / "docs" / "how_to" / "datasets.md"


def test_the_recipe_for_duckdb(folder: Path) -> None:
    pytest.importorskip("duckdb")
    blocks = pandas.DataFrame({"ZC": [107.5, 352.5], "AU": [1.0, 3.0]})
    Path("demo").mkdir()
    blocks.to_csv("demo/regular.csv", index=False)
    blocks.assign(bench=100, domain="ORE").to_parquet("labelled", partition_cols=["bench"])
    (recipe,) = re.findall(r"^```text\n(import duckdb\n.*?)^```$", PAGE.read_text(), re.S | re.M)
    printed: list[object] = []
    exec(recipe, {"print": printed.append})
    assert printed[0].fetchall() == [(100, "ORE", 2, 2.0)]
    assert sorted(path.name for path in Path("parts").iterdir()) == ["bench=100", "bench=300"]
