"""The commands `intersect`, `synthesize` and `bench`: line segments across a surface."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.options import Decorator, together
from geodomain.errors import counted

if TYPE_CHECKING:
    from geodomain.synthetic.files import SceneFiles


def scene_options(rays: str) -> Decorator:
    """Make the options of a test surface and its segments; `rays` is the default of --rays."""
    return together(
        click.option(
            "--triangles",
            type=options.terrain_triangles,
            default="29260",
            show_default=True,
            metavar="N",
            help="Approximate number of triangles. The surface is a grid of nearly square cells, "
            "with two triangles each.",
        ),
        click.option(
            "--rays",
            type=options.count,
            default=rays,
            show_default=True,
            metavar="N",
            help="Number of segments; half of them cross the surface.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of the random numbers.",
        ),
    )


# --- The command `geodomain intersect`: where segments cross a surface, as files or as a table.

_INPUTS = "{MESH SEGMENTS.csv | VERTICES TRIANGLES FROM TO}"

_OF_TABLES = ("start", "end", "delimiter", "decimal", "missing")
_FLOATS = click.Choice(["float32", "float64"])

_EXAMPLE = """\b
Examples:
  geodomain intersect topography.ply holes.csv --start XC YC ZC --end XE YE ZE -o hits.csv
  geodomain intersect vertices_f32 triangles_i32 rayFrom_f32 rayTo_f32 --mode barycentric -o found
"""


@click.command(
    short_help="Find where line segments cross a surface.",
    epilog=_EXAMPLE,
    context_settings=options.CONTEXT,
)
@click.argument("inputs", nargs=-1, type=click.Path(path_type=Path), metavar=_INPUTS, required=True)
@click.option(
    "--mode",
    type=click.Choice(["boolean", "barycentric", "intercept_count", "all"]),
    help="What to report: whether a segment crosses, its first crossing, the number of crossings, "
    "or every crossing (tables only). [default: boolean for raw files, barycentric for a table]",
)
@options.output_option(
    "OUT", "Folder for the results [default: .], or table to write; - is stdout."
)
@click.option(
    "--vertex-type", type=_FLOATS, help="Number type of VERTICES, if it cannot be detected."
)
@click.option(
    "--ray-type", type=_FLOATS, help="Number type of FROM and TO, if it cannot be detected."
)
@click.option(
    "--start", nargs=3, metavar="X Y Z", help="Columns of the segments' starts in SEGMENTS.csv."
)
@click.option("--end", nargs=3, metavar="X Y Z", help="Columns of the segments' ends.")
@options.text_options
@options.machine_options
@options.overwrite_option
@options.report_options
def intersect(inputs: tuple[Path, ...], as_json: bool, quiet: bool, **keywords: Any) -> None:
    """Find where segments cross a surface, exactly.

    MESH is any wireframe, open or closed. SEGMENTS.csv has six columns for the ends, such as x1,
    y1, z1, x2, y2, z2; - is stdin. In this form OUT is a table. Its columns are the row of the
    segment, t (0 at the start of the segment, 1 at its end), the distance from the start, the
    point, the triangle, and the barycentric coordinates u, v. Rows and triangles count from 0.

    The other form takes four raw little-endian files: VERTICES, FROM and TO in float32 or float64,
    TRIANGLES in int32. In this form OUT is a folder. With --mode boolean it gets results_i32, 1 or
    0 for each segment; with --mode intercept_count the same file has the number of crossings. With
    --mode barycentric it gets four files instead: intersectTriangle_i32 (-1 for a miss), and
    barycentricT_f32, barycentricU_f32 and barycentricV_f32 (2.5e8, 0, 0 for a miss).

    A segment that touches the surface is treated as moved up by an infinitely small step. If that
    does not decide, it is also moved east, and if that does not decide either, north. So a hole
    collared on the ground crosses the ground if it goes down, but not if it goes up. A segment in
    the plane of a triangle does not cross the triangle.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.query.segment_files import intersect_file

    surface, segments = _inputs(inputs, keywords)
    keywords["output"] = keywords["output"] or "."
    to_stdout = keywords["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        summary = intersect_file(surface, segments, **keywords, progress=console.on_terminal)
    if as_json:
        print_json(summary.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(summary, err=True)


def _inputs(inputs: tuple[Path, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
    """Return the surface and the segments: either a mesh and a table, or two pairs of raw files."""
    if len(inputs) == 2:
        _refuse(keywords, ("vertex_type", "ray_type"), "raw files, and SEGMENTS.csv is a table")
        if keywords["output"] is None:
            _misuse("no output given: use -o OUT.csv, or -o - for stdout")
        if bool(keywords["start"]) != bool(keywords["end"]):
            _misuse("--start and --end must be given together")
        return inputs[0], str(inputs[1])
    if len(inputs) != 4:
        count = counted(len(inputs), "input")
        _misuse(f"give MESH SEGMENTS.csv, or VERTICES TRIANGLES FROM TO, not {count}")
    _refuse(keywords, _OF_TABLES, "a table, and FROM and TO are raw files")
    if keywords["mode"] == "all":
        _misuse("--mode all writes a table, not raw files: give MESH SEGMENTS.csv")
    if keywords["output"] == "-":
        _misuse("results for raw files go to a folder: -o - is only for a table")
    return inputs[:2], inputs[2:]


def _refuse(keywords: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    """Raise a usage error if an option in `names` is used.

    The options belong to the form of input that is not used; `why` names that form in the message.
    """
    for name in names:
        if keywords[name]:
            _misuse(f"--{name.replace('_', '-')} is only for {why}")


def _misuse(message: str) -> NoReturn:
    """Raise a usage error, which gives exit code 2."""
    raise click.UsageError(message)


# --- The command `geodomain synthesize`: make a test surface, segments, and the true crossings.

_SYNTHESIZE_EXAMPLE = """\b
Example:
  geodomain synthesize scene --rays 1e6
  geodomain intersect scene/vertices_f32 scene/triangles_i32 scene/rayFrom_f32 scene/rayTo_f32 \\
      -o found
"""


@click.command(
    short_help="Make a test surface and line segments across it.",
    epilog=_SYNTHESIZE_EXAMPLE,
    context_settings=options.CONTEXT,
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@scene_options(rays="1e7")
@click.option(
    "--perturb",
    is_flag=True,
    help="Aim segments at points near the centroids of triangles, not at the centroids.",
)
@click.option("--float64", is_flag=True, help="Write vertices and segments in double precision.")
@options.threads_option
@options.overwrite_option
@options.report_options
def synthesize(folder: Path, float64: bool, as_json: bool, quiet: bool, **keywords: Any) -> None:
    """Write a test surface and segments across it to DIR, as raw little-endian files.

    The surface is an undulating terrain, 3000 x 2500 m; the segments follow the normals of its
    triangles, as in R. Leung, arXiv 2209.02878. The same options give the same files.
    For each segment, truth_boolean_i32 says whether it crosses the surface, and truth_count_i32 how
    many times, by exact arithmetic. parameters.json has the options and the counts.
    """
    from geodomain.synthetic.files import write_scene

    kind = "float64" if float64 else "float32"
    made = write_scene(folder, float_type=kind, progress=Console(quiet).on_terminal, **keywords)
    if as_json:
        print_json(made)
    elif not quiet:
        print_text(_summary(folder, made), err=True)


def _summary(folder: Path, made: SceneFiles) -> str:
    """Return a text with the counts of a scene, and with the files that were written."""
    share = made["crossing"] / made["rays"]
    return (
        f"{counted(made['triangles'], 'triangle')} and {counted(made['rays'], 'segment')}, of "
        "which "
        f"{made['crossing']:,} ({share:.1%}) cross, in {folder}:\n  "
        + "\n  ".join((*made["files"], *made["truth"], "parameters.json"))
    )


# --- The command `geodomain bench`: compare ways to intersect segments.

_BENCH_EXAMPLE = """\b
Example:
  geodomain bench --rays 1e6 --chart bench.png
"""


@click.command(
    short_help="Compare ways to intersect segments on this machine.",
    epilog=_BENCH_EXAMPLE,
    context_settings=options.CONTEXT,
)
@scene_options(rays="1e6")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Number of repetitions; the fastest counts.",
)
@options.threads_option
@options.chart_option("PNG", "Draw a chart of the rates to this file.")
@click.option(
    "--tree",
    type=(click.IntRange(min=0), options.Picture((".png",), "pyvista")),
    metavar="LEVEL PNG",
    help="Draw the bounding boxes of one level of the search tree of the surface to a file. Level "
    "0 has the largest boxes.",
)
@options.overwrite_option
@options.report_options
def bench(as_json: bool, quiet: bool, **keywords: Any) -> None:
    """Measure how fast geodomain and other libraries find segments that cross a surface.

    The command repeats the tables of R. Leung, arXiv 2209.02878, on this machine. It uses the scene
    of `geodomain synthesize`. All libraries get the same segments in one run, and every result is
    compared with exact arithmetic. The column "published, Titan X" has the figures of the paper. A
    slow library gets only the first segments, as many as it can compute in about two seconds. The
    report lists the libraries that are not installed (pip install 'geodomain[bench]').
    """
    from geodomain.benching.report import LevelError
    from geodomain.benching.running import compare

    with Console(quiet).steps() as step:
        try:
            report = compare(**keywords, step=step)
        except LevelError as error:
            raise click.BadParameter(str(error), param_hint="--tree") from None
    if as_json:
        print_json(report.as_dict())
    elif not quiet:
        print_text(report)
