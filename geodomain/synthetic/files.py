"""Write the synthetic deposit and the terrain for segment tests to files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from geodomain.files.outputs import refuse_to_replace
from geodomain.files.streams import replaced
from geodomain.formats.wireframes import write_mesh
from geodomain.progress import Progress, show_progress
from geodomain.query.raw_files import FLOATS, written_together
from geodomain.query.segments import SegmentIntersector
from geodomain.synthetic.deposit import Deposit
from geodomain.synthetic.scenes import cell_size, segments_across, undulating_terrain

# Two formats that keep float64, one of them binary, one text.
SUFFIXES = {"dyke": ".ply", "ore_upper": ".ply", "ore_lower": ".ply", "oxide": ".obj"}
TOPOGRAPHY, REGULAR, SUBBLOCKED = "topography.ply", "regular.csv", "subblocked.csv"
COLLAR, SURVEY, ASSAY = "collar.csv", "survey.csv", "assay.csv"
DOMAINS = "domains.toml"
RECORD, REPORT = "run.json", "report.html"

# The domains for `geodomain label --domains`: every kind except a stack.
DOMAIN_LIST = """\
# A block gets the label of the first domain that contains it. The files are in this folder.
background = "WASTE"
background_code = 9

[[domain]]
name = "AIR"
kind = "above"
mesh = "topography.ply"
code = 0

[[domain]]
name = "DYKE"
mesh = "dyke.ply"
code = 1

[[domain]]
name = "RICH ORE"
mesh = ["ore_upper.ply", "ore_lower.ply"]
only_if = { au = { ">=" = 3.0 } }
code = 2

[[domain]]
name = "ORE"
mesh = ["ore_upper.ply", "ore_lower.ply"]
code = 3

[[domain]]
name = "OXIDE"
mesh = "oxide.obj"
code = 4
"""


def file_names() -> tuple[str, ...]:
    """Return the names of all files of a deposit, wireframes first and domains last."""
    solids = (name + suffix for name, suffix in SUFFIXES.items())
    return (*solids, TOPOGRAPHY, REGULAR, SUBBLOCKED, COLLAR, SURVEY, ASSAY, DOMAINS)


def labelled_files(folder: Path) -> dict[Path, Path]:
    """Return, for each block model in a folder, the path of its labelled copy."""
    return {folder / model: folder / f"labelled_{model}" for model in (REGULAR, SUBBLOCKED)}


def demo_files(folder: Path) -> list[Path]:
    """Return all files of the demo: the deposit, the labelled models, a record and a report."""
    names = (*file_names(), RECORD, REPORT)
    return [*(folder / name for name in names), *labelled_files(folder).values()]


def require_free(folder: Path, *, overwrite: bool = False) -> None:
    """Raise FileExistsError if a file of the demo exists."""
    refuse_to_replace(demo_files(folder), overwrite=overwrite)


@contextmanager
def all_or_none(folder: Path) -> Iterator[None]:
    """If the `with` block fails, remove the demo's files that it has made."""
    new = [path for path in demo_files(folder) if not path.exists()]
    new_folder = not folder.exists()
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for path in new:
                path.unlink(missing_ok=True)
            if new_folder:
                folder.rmdir()
        raise


def write_deposit(
    deposit: Deposit, folder: Path, *, overwrite: bool = False
) -> dict[str, list[Path]]:
    """Write wireframes, block models, drillholes and domains into a folder.

    Parameters
    ----------
    deposit : Deposit
        The deposit.
    folder : Path
        The folder; created if it is missing.
    overwrite : bool
        Whether to replace existing files.

    Returns
    -------
    dict of str to list of Path
        For each domain, in order of priority, the files of its solids.

    Raises
    ------
    FileExistsError
        If a file exists and ``overwrite`` is false.
    OSError
        If a file cannot be written.
    """
    refuse_to_replace([folder / name for name in file_names()], overwrite=overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    for name, mesh in deposit.solids.items():
        write_mesh(mesh, folder / (name + SUFFIXES[name]), overwrite=overwrite)
    write_mesh(deposit.topography, folder / TOPOGRAPHY, overwrite=overwrite)
    for table, name in ((deposit.regular, REGULAR), (deposit.subblocked, SUBBLOCKED)):
        with replaced(folder / name, overwrite=overwrite) as file:
            file.writelines(table.csv())
    holes = deposit.drilling
    texts = {
        COLLAR: holes.collar_csv(),
        SURVEY: holes.survey_csv(),
        ASSAY: holes.assay_csv(),
        DOMAINS: DOMAIN_LIST.encode(),
    }
    for name, text in texts.items():
        with replaced(folder / name, overwrite=overwrite) as file:
            file.write(text)
    return {
        domain: [folder / (mesh.name + SUFFIXES[mesh.name]) for mesh in meshes]
        for domain, meshes in deposit.domains.items()
    }


# --- Write the undulating terrain, segments across it, and their exact answers.

TRIANGLES, PARAMETERS = "triangles_i32", "parameters.json"
CROSSES, CROSSINGS = "truth_boolean_i32", "truth_count_i32"

# Length of the longest segment, in cells of the grid.
_REACH = 4


def longest_segment(triangles: int) -> float:
    """Return the greatest length of a segment of the terrain scene, in metres."""
    return _REACH * cell_size(triangles)


def segment_file_names(float_type: str = "float32") -> tuple[str, str, str, str]:
    """Return the names of the four files that `geodomain intersect` takes, in this order."""
    end = "f32" if float_type == "float32" else "f64"
    return f"vertices_{end}", TRIANGLES, f"rayFrom_{end}", f"rayTo_{end}"


class SceneFiles(TypedDict):
    """The contents of parameters.json: settings of the scene, counts, and names of files."""

    triangles: int
    vertices: int
    rays: int
    through: int
    crossing: int
    crossings: int
    seed: int
    perturb: bool
    float_type: str
    longest_ray: float
    files: tuple[str, ...]
    truth: tuple[str, ...]


def write_scene(
    folder: Path,
    *,
    triangles: int = 29_260,
    rays: int = 10_000_000,
    seed: int = 0,
    perturb: bool = False,
    float_type: str = "float32",
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
) -> SceneFiles:
    """Write a terrain, segments across it and their exact crossings as raw files.

    `geodomain.SegmentIntersector` counts crossings exactly from the numbers in the files. The count
    of a segment includes all its crossings, not only a crossing with the triangle it is aimed at.

    Parameters
    ----------
    folder : Path
        The folder; created if it is missing.
    triangles, rays : int
        Approximate number of triangles, and number of segments.
    seed : int
        Seed of all random numbers; the same seed gives the same files.
    perturb : bool
        Move segments away from the centroids of triangles; see `segments_across`.
    float_type : {"float32", "float64"}
        Type of vertices and segments. Both types hold the same numbers.
    overwrite : bool
        Whether to replace existing files.
    threads : int, optional
        Threads for counting crossings.
    progress : bool or callable
        True shows progress on stderr; a function is called with the segments done and the total.

    Returns
    -------
    dict
        The contents of parameters.json: settings of the scene, counts, and names of files.

    Raises
    ------
    FileExistsError
        If a file exists and ``overwrite`` is false.
    ValueError
        If the number of triangles is not possible.
    """
    mesh = undulating_terrain(triangles, seed=seed)
    reach = longest_segment(triangles)
    names, code = segment_file_names(float_type), FLOATS[float_type]
    codes = dict.fromkeys(names, code) | dict.fromkeys((TRIANGLES, CROSSES, CROSSINGS), "<i4")
    made: Counter[str] = Counter(through=0, crossing=0, crossings=0)
    with (
        written_together(folder, codes | {PARAMETERS: "u1"}, overwrite=overwrite) as files,
        SegmentIntersector(mesh, backend="cpu", threads=threads) as intersector,
        show_progress(progress, "synthesizing") as report,
    ):
        files[names[0]].append(mesh.vertices)
        files[TRIANGLES].append(mesh.triangles)
        for chunk in segments_across(mesh, rays, reach=reach, seed=seed, perturb=perturb):
            counts = intersector.intersect((chunk.starts, chunk.ends), mode="count")
            values: tuple[ArrayLike, ...] = (chunk.starts, chunk.ends, counts > 0, counts)
            for name, each in zip((*names[2:], CROSSES, CROSSINGS), values, strict=True):
                files[name].append(each)
            made.update(
                rays=len(chunk),
                through=int(chunk.through.sum()),
                crossing=int(np.count_nonzero(counts)),
                crossings=int(counts.sum()),
            )
            if report is not None:
                report(made["rays"], rays)
        parameters: SceneFiles = {
            "triangles": len(mesh.triangles),
            "vertices": len(mesh.vertices),
            "rays": made["rays"],
            "through": made["through"],
            "crossing": made["crossing"],
            "crossings": made["crossings"],
            "seed": seed,
            "perturb": perturb,
            "float_type": float_type,
            "longest_ray": reach,
            "files": names,
            "truth": (CROSSES, CROSSINGS),
        }
        text = json.dumps(parameters, indent=2) + "\n"
        files[PARAMETERS].append(np.frombuffer(text.encode(), dtype=np.uint8))
    return parameters
