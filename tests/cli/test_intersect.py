"""The command `geodomain intersect`: raw files as the original's, tables, and what it refuses."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from crossings import adversarial, crossings
from shapes import star

from geodomain import Mesh, SegmentIntersector, intersect, synthetic, write_mesh
from geodomain.cli import main
from geodomain.compute import rows as segment_rows
from geodomain.query import segment_files as hit_files
from geodomain.query.raw_files import open_segments

REACH = 400.0
RAW = ("vertices_f32", "triangles_i32", "rayFrom_f32", "rayTo_f32")
HITS = ("intersectTriangle_i32", "barycentricT_f32", "barycentricU_f32", "barycentricV_f32")


@pytest.fixture(scope="module")
def ground() -> Mesh:
    return synthetic.undulating_terrain(800)


@pytest.fixture(scope="module")
def segments(ground: Mesh) -> tuple[np.ndarray, np.ndarray]:
    (chunk,) = synthetic.segments_across(ground, 500, reach=REACH, perturb=True)
    starts, ends = chunk.starts.copy(), chunk.ends.copy()
    starts[::7, 2], ends[::7, 2] = 40.0, 41.0  # level, from one side to the other
    ends[::7, :2] = (3000.0, 2500.0) - starts[::7, :2]
    return starts, ends


@pytest.fixture
def raw(tmp_path: Path, ground: Mesh, segments) -> list[str]:
    """Write the four files, and return their paths."""
    arrays = (ground.vertices, ground.triangles, *segments)
    return [save(tmp_path / name, values) for name, values in zip(RAW, arrays, strict=True)]


def save(path: Path, values) -> str:
    np.asarray(values).astype("<i4" if path.name.endswith("i32") else "<f4").tofile(path)
    return str(path)


def single(segments) -> list[np.ndarray]:
    """Return the segments as float32 files hold them."""
    return [each.astype(np.float32).astype(float) for each in segments]


@pytest.fixture
def table(tmp_path: Path, ground: Mesh, segments) -> list[str]:
    """Write a mesh and a table of segments, one of which has a gap, and return their paths."""
    write_mesh(ground, tmp_path / "ground.ply")
    lines = ["hole,x1,y1,z1,x2,y2,z2", *rows(segments), "LAST,1,2,,4,5,6"]
    (tmp_path / "holes.csv").write_text("\n".join(lines) + "\n")
    return [str(tmp_path / "ground.ply"), str(tmp_path / "holes.csv")]


def rows(segments) -> list[str]:
    pairs = np.hstack(segments).tolist()
    return [",".join([f"H{row}", *map(repr, pair)]) for row, pair in enumerate(pairs)]


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["intersect", *arguments], input=stdin)


def done(*arguments: str, **options) -> Result:
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result


def ints(path: Path) -> np.ndarray:
    return np.fromfile(path, dtype="<i4")


def floats(path: Path) -> np.ndarray:
    return np.fromfile(path, dtype="<f4")


def read(path: Path, **options) -> dict[str, np.ndarray]:
    with path.open(newline="") as file:
        found = list(csv.DictReader(file, **options))
    return {name: np.array([float(row[name]) for row in found]) for name in found[0]}


def test_boolean_is_what_the_original_writes(raw, ground: Mesh, segments, tmp_path: Path) -> None:
    done(*raw, "-o", str(tmp_path / "out"))
    crosses = intersect(ground, *single(segments))
    assert (ints(tmp_path / "out" / "results_i32") == crosses).all()
    assert 0 < crosses.sum() < len(crosses)


def test_intercept_count(raw, ground: Mesh, segments, tmp_path: Path) -> None:
    done(*raw, "--mode", "intercept_count", "-o", str(tmp_path / "out"))
    counts = intersect(ground, *single(segments), mode="count")
    assert (ints(tmp_path / "out" / "results_i32") == counts).all()
    assert counts.max() > 2


def test_barycentric(raw, ground: Mesh, segments, tmp_path: Path) -> None:
    done(*raw, "--mode", "barycentric", "-o", str(tmp_path))
    hits = intersect(ground, *single(segments), mode="nearest")
    triangle, t, u, v = (
        (ints if name.endswith("i32") else floats)(tmp_path / name) for name in HITS
    )
    missed = np.ones(len(segments[0]), dtype=bool)
    missed[hits.segment] = False
    assert (triangle[missed] == -1).all()
    assert (t[missed] == 2.5e8).all()
    assert (u[missed] == 0).all()
    assert (v[missed] == 0).all()
    assert (triangle[~missed] == hits.triangle).all()
    for written, found in ((t, hits.t), (u, hits.u), (v, hits.v)):
        assert (written[~missed] == found.astype(np.float32)).all()


def test_double_precision_is_read_as_it_is(ground: Mesh, tmp_path: Path) -> None:
    # The start is so near the ground that float32 would take it elsewhere.
    middle = ground.vertices[ground.triangles[7]].mean(axis=0)
    starts, ends = (middle + np.array([0, 0, up]) for up in (1e-9, 50.0))
    paths = []
    for name, values in zip(
        RAW, (ground.vertices, ground.triangles, [starts], [ends]), strict=True
    ):
        paths.append(str(tmp_path / name.replace("f32", "f64")))
        np.asarray(values).astype("<i4" if "i32" in name else "<f8").tofile(paths[-1])
    done(*paths, "-o", str(tmp_path))
    assert ints(tmp_path / "results_i32") == intersect(ground, [starts], [ends])


@pytest.mark.full
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_mine_coordinates_are_taken_as_the_files_hold_them(kind: str, tmp_path: Path) -> None:
    """A float32 file has half metres at northing 7,480,000; from there on nothing is rounded."""
    code = {"float32": "<f4", "float64": "<f8"}[kind]
    ore, place = star(2, radius=(40.0, 30.0, 20.0)), np.array([414_000.1, 7_480_000.7, 152.3])
    vertices = (ore.vertices + place).astype(code)
    mesh = Mesh(vertices.astype(float), ore.triangles)
    segments = [each.astype(code) for each in adversarial(mesh, 40, np.random.default_rng(6))]
    paths = [str(tmp_path / name.replace("f32", f"f{8 * int(code[-1])}")) for name in RAW]
    for path, values in zip(paths, (vertices, ore.triangles, *segments), strict=True):
        values.astype("<i4" if path.endswith("i32") else code).tofile(path)
    done(*paths, "--mode", "intercept_count", "-o", str(tmp_path))
    expected = [len(crossings(mesh, *pair)) for pair in zip(*segments, strict=True)]
    assert ints(tmp_path / "results_i32").tolist() == expected
    assert 0 in expected and 2 in expected


@pytest.mark.parametrize("mode", ["boolean", "barycentric", "intercept_count"])
def test_chunks_change_nothing(raw, ground: Mesh, tmp_path: Path, mode: str) -> None:
    rays = open_segments(Path(raw[2]), Path(raw[3]))
    for chunk in (7, 10_000):
        with SegmentIntersector(ground) as intersector:
            hit_files.intersect_files(
                intersector, rays, tmp_path / str(chunk), mode=mode, chunk=chunk
            )
    for name in hit_files.OUTPUTS[mode]:
        assert (tmp_path / "7" / name).read_bytes() == (tmp_path / "10000" / name).read_bytes()


def test_no_rays_and_no_triangles_and_one(raw, tmp_path: Path) -> None:
    empty, one = save(tmp_path / "none_f32", []), save(tmp_path / "one_i32", [0, 1, 300])
    nothing = save(tmp_path / "nothing_i32", [])
    done(*raw[:2], empty, empty, "-o", str(tmp_path / "a"))
    assert (tmp_path / "a" / "results_i32").stat().st_size == 0
    done(raw[0], nothing, *raw[2:], "-o", str(tmp_path / "b"), "--mode", "barycentric")
    assert (ints(tmp_path / "b" / HITS[0]) == -1).all()
    done(raw[0], one, *raw[2:], "-o", str(tmp_path / "c"))
    assert len(ints(tmp_path / "c" / "results_i32")) == 500


def test_a_ray_without_a_number_misses_and_is_counted(raw, segments, tmp_path: Path) -> None:
    starts = segments[0].copy()
    starts[3, 1] = np.nan
    result = done(*raw[:2], save(tmp_path / "from_f32", starts), raw[3], "-o", str(tmp_path))
    assert ints(tmp_path / "results_i32")[3] == 0
    assert "without a coordinate, which cross nothing: 1" in result.stderr


def test_an_infinite_end_is_refused_with_its_row(raw, segments, tmp_path: Path) -> None:
    ends = segments[1].copy()
    ends[123, 2] = np.inf
    result = run(*raw[:3], save(tmp_path / "to_f32", ends), "-o", str(tmp_path))
    assert result.exit_code == 3
    assert "segment 123 goes from" in result.stderr
    assert not (tmp_path / "results_i32").exists()


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({1: b"12345"}, 3, "not a whole number of triangles"),
        ({2: bytes(13)}, 3, "not a whole number of rows"),
        ({2: bytes(24)}, 3, "each segment needs a start and an end"),
        ({1: np.array([0, 1, 9999], "<i4").tobytes()}, 3, "triangle 0 is (0, 1, 9999)"),
        ({0: None}, 4, "No such file"),
        ({3: None}, 4, "No such file"),
    ],
)
def test_bad_files_are_refused(raw, tmp_path: Path, change, code: int, said: str) -> None:
    for place, data in change.items():
        path = Path(raw[place])
        path.unlink() if data is None else path.write_bytes(data)
    result = run(*raw, "-o", str(tmp_path / "out"))
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    assert not (tmp_path / "out").exists()


def test_types_in_doubt_are_refused_and_can_be_said(raw, tmp_path: Path) -> None:
    paths = [str(Path(path).rename(tmp_path / f"plain{place}")) for place, path in enumerate(raw)]
    result = run(*paths, "-o", str(tmp_path))
    assert (result.exit_code, "--ray-type" in result.stderr) == (3, True)
    done(*paths, "-o", str(tmp_path), "--ray-type", "float32", "--vertex-type", "float32")


def test_outputs_that_are_there_are_kept(raw, tmp_path: Path) -> None:
    (tmp_path / "barycentricV_f32").write_text("mine")
    arguments = (*raw, "--mode", "barycentric", "-o", str(tmp_path))
    result = run(*arguments)
    assert result.exit_code == 4
    assert "barycentricV_f32 already exists" in result.stderr
    assert not (tmp_path / "barycentricT_f32").exists()
    done(*arguments, "--overwrite")
    assert (tmp_path / "barycentricV_f32").stat().st_size == 2000


def test_no_output_takes_the_place_of_an_input(raw, table, tmp_path: Path) -> None:
    Path(raw[2]).rename(tmp_path / "results_i32")
    starts = str(tmp_path / "results_i32")
    result = run(
        *raw[:2], starts, raw[3], "-o", str(tmp_path), "--ray-type", "float32", "--overwrite"
    )
    assert (result.exit_code, "is the input" in result.stderr) == (3, True)
    for path in table:
        result = run(*table, "-o", path, "--overwrite")
        assert (result.exit_code, "is the input" in result.stderr) == (3, True)


def test_a_table_of_first_hits(table, ground: Mesh, segments, tmp_path: Path) -> None:
    result = done(*table, "-o", str(tmp_path / "hits.csv"))
    hits = intersect(ground, *segments, mode="nearest")
    found = read(tmp_path / "hits.csv")
    assert list(found) == ["row", "t", "distance", "x", "y", "z", "triangle", "u", "v"]
    assert (found["row"] == hits.segment).all()
    for name in ("t", "distance", "triangle", "u", "v"):
        assert (found[name] == getattr(hits, name)).all()
    assert (np.stack([found[axis] for axis in "xyz"], axis=1) == hits.point).all()
    assert result.stdout == ""
    assert f"{len(hits)} of 501 segments cross a surface of" in result.stderr
    assert "without a coordinate, which cross nothing: 1" in result.stderr


def test_a_table_of_every_hit(table, ground: Mesh, segments, tmp_path: Path) -> None:
    result = done(*table, "-o", str(tmp_path / "hits.csv"), "--mode", "all", "--json")
    hits = intersect(ground, *segments, mode="all")
    found = read(tmp_path / "hits.csv")
    assert (found["row"] == hits.segment).all()
    assert (found["t"] == hits.t).all()
    summary = json.loads(result.stdout)
    assert (summary["crossings"], summary["crossing"]) == (len(hits), len(set(hits.segment)))
    assert (summary["segments"], summary["missing"]) == (501, 1)
    assert summary["backend"] == "cpu"


def test_it_says_where_it_computed(table) -> None:
    said = done(*table, "-o", "-", "--backend", "cpu").stderr
    assert "cpu (asked for)" in said


@pytest.mark.parametrize(
    ("mode", "name"), [("boolean", "crosses"), ("intercept_count", "crossings")]
)
def test_a_row_for_each_segment(table, ground, segments, mode: str, name: str) -> None:
    lines = done(*table, "-o", "-", "--mode", mode, "-q").stdout.splitlines()
    counts = intersect(ground, *segments, mode="count")
    wanted = [*(counts if mode == "intercept_count" else counts > 0), 0]
    assert lines == [f"row,{name}", *(f"{row},{value:d}" for row, value in enumerate(wanted))]


def test_tables_come_from_stdin_and_go_where_they_should(table, tmp_path: Path) -> None:
    text = Path(table[1]).read_bytes()
    plain = done(*table, "-o", "-", "-q").stdout_bytes
    assert done(table[0], "-", "-o", "-", "-q", stdin=text).stdout_bytes == plain
    (tmp_path / "holes.csv.gz").write_bytes(gzip.compress(text))
    done(table[0], str(tmp_path / "holes.csv.gz"), "-o", str(tmp_path / "hits.csv.gz"))
    assert gzip.decompress((tmp_path / "hits.csv.gz").read_bytes()) == plain


def test_answers_are_in_the_dialect_of_the_table(table, segments, tmp_path: Path) -> None:
    text = "\n".join(["x1,y1,z1,x2,y2,z2", *(row.partition(",")[2] for row in rows(segments))])
    (tmp_path / "german.csv").write_text(text.replace(",", ";").replace(".", ","))
    done(table[0], str(tmp_path / "german.csv"), "-o", str(tmp_path / "german_hits.csv"))
    done(*table, "-o", str(tmp_path / "hits.csv"))
    german = (tmp_path / "german_hits.csv").read_text()
    assert german.replace(",", ".").replace(";", ",") == (tmp_path / "hits.csv").read_text()
    said = run(table[0], str(tmp_path / "german.csv"), "-o", "-", "--decimal", ".")
    assert (said.exit_code, "is not a number" in said.stderr) == (3, True)


def test_columns_can_be_named(table, tmp_path: Path) -> None:
    text = Path(table[1]).read_text()
    (tmp_path / "named.csv").write_text(text.replace("x1,y1,z1,x2,y2,z2", "a,b,c,d,e,f"))
    named = (table[0], str(tmp_path / "named.csv"))
    ends = ("--start", "a", "b", "c", "--end", "d", "e", "f")
    assert done(*named, *ends, "-o", "-").stdout == done(*table, "-o", "-").stdout
    result = run(*named, "-o", "-")
    assert (result.exit_code, "--start X Y Z and --end X Y Z" in result.stderr) == (3, True)


def test_a_long_table_counts_its_rows_through(ground, segments, tmp_path: Path) -> None:
    write_mesh(ground, tmp_path / "ground.ply")
    header = "x1,y1,z1,x2,y2,z2,remark\n"
    body = "".join(row.partition(",")[2] + "," + "." * 9000 + "\n" for row in rows(segments))
    (tmp_path / "long.csv").write_text(header + 2 * body)  # several chunks of text
    assert (tmp_path / "long.csv").stat().st_size > 8 << 20
    done(str(tmp_path / "ground.ply"), str(tmp_path / "long.csv"), "-o", str(tmp_path / "hits.csv"))
    once = intersect(ground, *segments, mode="nearest").segment
    assert (read(tmp_path / "hits.csv")["row"] == [*once, *(once + 500)]).all()
    x, y, _ = ground.vertices.mean(axis=0)
    with (tmp_path / "long.csv").open("a") as file:
        file.write(f"{x},{y},-9,{x},{y},1e200,far\n")
    result = run(str(tmp_path / "ground.ply"), str(tmp_path / "long.csv"), "-o", "-", "-q")
    assert result.exit_code == 3
    assert "long.csv, row 1,001: z2 is 1e+200, which is too large" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "no output given"),
        (("-o", "-", "--start", "x1", "y1", "z1"), "must be given together"),
        (("-o", "-", "--ray-type", "float32"), "--ray-type is only for raw files"),
    ],
)
def test_slips_with_a_table(table, options, said: str) -> None:
    result = run(*table, *options)
    assert (result.exit_code, said in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mode", "all"), "--mode all writes a table"),
        (("--missing", "-99"), "--missing is only for a table"),
        (("--decimal", ","), "--decimal is only for a table"),
        (("-o", "-"), "results for raw files go to a folder"),
        (("extra",), "not 5 inputs"),
    ],
)
def test_slips_with_raw_files(raw, options, said: str) -> None:
    result = run(*raw, *options)
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_no_more_threads_are_taken_than_are_given(raw, table, tmp_path: Path, monkeypatch) -> None:
    asked = set()
    pack = segment_rows.pack

    def packed(starts, ends, order, threads: int, out):
        asked.add(threads)
        return pack(starts, ends, order, threads, out)

    monkeypatch.setattr(segment_rows, "pack", packed)
    for inputs in (raw, table):
        done(*inputs, "-o", str(tmp_path / f"out{len(inputs)}"), "--threads", "3")
    assert asked == {3}


def test_tables_are_text(table, tmp_path: Path) -> None:
    for mesh, segments, hits in (
        (*table, tmp_path / "hits.parquet"),
        (table[0], tmp_path / "holes.parquet", tmp_path / "hits.csv"),
    ):
        result = run(mesh, str(segments), "-o", str(hits))
        assert (result.exit_code, "is not a text table" in result.stderr) == (3, True)
        assert not hits.exists()


def test_a_table_of_no_segments(table, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("x1,y1,z1,x2,y2,z2\n")
    assert done(table[0], str(tmp_path / "empty.csv"), "-o", "-", "-q").stdout.startswith("row,t,")


def test_a_bad_row_is_told_and_nothing_is_written(table, tmp_path: Path) -> None:
    with Path(table[1]).open("a") as file:
        file.write("X,1,2,three,4,5,6\n")
    result = run(*table, "-o", str(tmp_path / "hits.csv"))
    assert result.exit_code == 3
    assert "line 503: z1 is 'three'" in result.stderr
    assert not (tmp_path / "hits.csv").exists()
