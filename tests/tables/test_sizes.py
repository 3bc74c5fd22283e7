"""Block sizes as numbers, and centroids that lie where corners are."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from late import pandas
from wireframes import box

import geodomain
from geodomain.cli import main
from geodomain.errors import GeodomainWarning, TableError
from geodomain.formats.wireframes import write_mesh
from geodomain.tables.layout import read_layout
from geodomain.tables.options import TableOptions

BLOCKS = "X,Y,Z\n" + "".join(f"{x},{y},5\n" for x in (5, 15, 25) for y in (5, 15, 25))


@pytest.fixture
def blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_mesh(box((0, 0, 0), (20, 20, 10)), tmp_path / "ore.ply")
    (tmp_path / "b.csv").write_text(BLOCKS)
    return tmp_path / "b.csv"


def test_a_number_is_the_size_of_every_block(blocks: Path) -> None:
    given = ["label", "b.csv", "--solid", "ORE=ore.ply", "-o", "out.csv", "--json"]
    result = CliRunner().invoke(main, [*given, "--dx", "10", "--dy", "10", "--dz", "10"])
    assert result.exit_code == 0, result.output
    found = geodomain.label_file(blocks, {"ORE": "ore.ply"}, None, dx=10, dy=10, dz=10.0)
    assert found.domains[0].volume == 4000 and found.background.volume == 5000
    assert Path("out.csv").read_text().count("ORE") == 4
    inspected = geodomain.inspect_file(blocks, dx=10, dy=10, dz=10)
    assert inspected.volume == 9000 and inspected.sizes == ("10", "10", "10")


def test_corners_of_blocks_of_one_size_are_turned_into_centroids(blocks: Path) -> None:
    asked = {"dx": 10, "dy": 10, "dz": 10, "position": "corner"}
    assert geodomain.inspect_file(blocks, **asked).centroids[0] == [10, 10, 10]


def test_parquet_takes_numbers_too(blocks: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas.read_csv(blocks).to_parquet("b.parquet")
    assert geodomain.inspect_file("b.parquet", dx=10, dy=10, dz=10).volume == 9000


@pytest.mark.parametrize(
    "sizes", [{"dx": 10}, {"dx": 10, "dy": 10, "dz": 0}, {"dx": 10, "dy": 10, "dz": "Z"}]
)
def test_half_a_size_is_refused(blocks: Path, sizes: dict[str, object]) -> None:
    with pytest.raises(TableError, match="three numbers above 0, such as dx='10'"):
        geodomain.inspect_file(blocks, **sizes)


def test_a_column_whose_name_is_a_number_comes_first() -> None:
    layout = read_layout(b"X,Y,Z,5,6,7\n1,1,1,2,2,2\n", TableOptions(dx="5", dy="6", dz="7"))
    assert layout.sizes == (3, 4, 5) and layout.frame.fixed is None


DATAMINE = "XC,YC,ZC,XINC,YINC,ZINC,XMORIG,YMORIG,ZMORIG\n"


def corners(*rows: tuple[float, ...]) -> bytes:
    return (DATAMINE + "".join(f"{','.join(map(str, row))},100,200,50\n" for row in rows)).encode()


def test_centroids_on_the_lattice_of_corners_are_said() -> None:
    head = corners((100, 200, 50, 10, 10, 5), (110, 200, 55, 10, 10, 5), (115, 205, 55, 5, 5, 5))
    with pytest.warns(GeodomainWarning, match="ZC look like block corners.*position='corner'"):
        read_layout(head)
    read_layout(head, TableOptions(position="corner"))
    read_layout(head, TableOptions(position="centroid"))


def test_centroids_of_blocks_and_sub_blocks_are_not() -> None:
    read_layout(corners((105, 205, 52.5, 10, 10, 5), (112.5, 202.5, 52.5, 5, 5, 5)))
    # Along one axis a lattice may begin elsewhere.
    read_layout(corners((100, 205, 52.5, 10, 10, 5), (110, 205, 52.5, 10, 10, 5)))
