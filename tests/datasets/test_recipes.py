"""The recipes for other libraries on the page about datasets run, where these are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from datasets_of_blocks import all_parts, folder
from late import pandas
from wireframes import cube

import geodomain

__all__ = ["folder"]
PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "datasets.md"
TOML = """
background = "WASTE"

[[domain]]
name = "ORE"
mesh = "ore.ply"
only_if = { ROCK = "OX" }
"""
# Of each library: what is installed for it, the first line of its recipe, and what that writes.
RECIPES = {
    "dask": ("dask.dataframe", "import dask", "by_dask"),
    "ray": ("ray", "import ray", "by_ray"),
    "spark": ("pyspark", "from pyspark", "by_spark"),
    "polars": ("polars", "import polars as pl\nimport geodomain\n", "by_polars.parquet"),
    "duckdb": ("duckdb", "import duckdb\nimport pyarrow", "by_duckdb.parquet"),
}


def recipe_of(begin: str) -> str:
    """Return the one block of the page that begins so."""
    blocks = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    (recipe,) = [block for block in blocks if block.startswith(begin)]
    return recipe


@pytest.mark.full
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_labels_every_block(folder: Path, name: str) -> None:
    library, begin, output = RECIPES[name]
    if name == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    pytest.importorskip(library)
    blocks = pandas.concat(all_parts().values()).dropna().reset_index(drop=True)
    Path("demo").mkdir()
    geodomain.write_mesh(cube(), "demo/ore.ply")
    Path("demo/domains.toml").write_text(TOML)
    blocks.assign(bench=blocks["Z"] // 10 * 10).to_parquet("blocks", partition_cols=["bench"])
    # As a file: Ray and Spark take over signals, threads and what is printed.
    main = "if __name__ == '__main__':\n" + "".join(
        f"    {line}\n" if line else "\n" for line in recipe_of(begin).splitlines()
    )
    quiet = "import warnings\nwarnings.simplefilter('ignore')\n"
    Path("recipe.py").write_text(quiet + main)
    told = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "120",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "recipe.py"],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        timeout=280,
    )
    if "timed out during startup" in done.stderr:
        pytest.skip(f"{name} does not start on this machine")
    assert done.returncode == 0, done.stderr[-3000:]
    found = pandas.read_parquet(output).sort_values(["X", "Y", "Z"])
    wanted = blocks.sort_values(["X", "Y", "Z"])
    inside = (wanted[["X", "Y", "Z"]].max(axis=1) < 10) & (wanted["ROCK"] == "OX")
    assert found["domain"].tolist() == ["ORE" if one else "WASTE" for one in inside]
    assert inside.any() and not inside.all() and "bench" in found


@pytest.mark.full
def test_duckdb_writes_and_reads_the_folders(folder: Path) -> None:
    pytest.importorskip("duckdb")
    blocks = pandas.DataFrame({"ZC": [107.5, 352.5], "AU": [1.0, 3.0]})
    Path("demo").mkdir()
    blocks.to_csv("demo/regular.csv", index=False)
    blocks.assign(bench=100, domain="ORE").to_parquet("labelled", partition_cols=["bench"])
    printed: list[object] = []
    exec(recipe_of("import duckdb\n\nduckdb.sql("), {"print": printed.append})
    assert printed[0].fetchall() == [(100, "ORE", 2, 2.0)]
    assert sorted(path.name for path in Path("parts").iterdir()) == ["bench=100", "bench=300"]
