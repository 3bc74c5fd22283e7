"""Write the undulating terrain, segments across it, and their exact answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from geodomain.progress import Progress, show_progress
from geodomain.segments.intersector import SegmentIntersector
from geodomain.segments.raw.number_type import FLOATS
from geodomain.segments.raw.writing import written_together
from geodomain.synthetic.across import segments_across
from geodomain.synthetic.undulation import cell_size, undulating_terrain

TRIANGLES, PARAMETERS = "triangles_i32", "parameters.json"
CROSSES, CROSSINGS = "truth_boolean_i32", "truth_count_i32"

# The longest segment, in cells of the grid.
_REACH = 4


def longest_segment(triangles: int) -> float:
    """Return the longest that a segment of the scene can be, in metres."""
    return _REACH * cell_size(triangles)


def file_names(float_type: str = "float32") -> tuple[str, str, str, str]:
    """Return the names of the four files that `geodomain intersect` takes, in its order."""
    end = "f32" if float_type == "float32" else "f64"
    return f"vertices_{end}", TRIANGLES, f"rayFrom_{end}", f"rayTo_{end}"


class SceneFiles(TypedDict):
    """What was asked for and made, as parameters.json says it."""

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
    """Write a terrain and segments across it as raw files, and the truth about them.

    Truth is the exact count of crossings by `geodomain.SegmentIntersector` of the numbers
    in the files, so a segment that meets another fold of the terrain is counted right.

    Parameters
    ----------
    folder : Path
        Where to; made if it is missing.
    triangles, rays : int
        How many, the triangles about.
    seed : int
        Of everything random: the same files again.
    perturb : bool
        Let segments pass beside the centroids; see `segments_across`.
    float_type : {"float32", "float64"}
        Of vertices and segments. Both hold the same numbers.
    overwrite : bool
        Whether files that are there may be replaced.
    threads : int, optional
        For the truth.
    progress : bool or callable
        True shows the share that is done on stderr; a function is called with the segments done
        and all of them.

    Returns
    -------
    dict
        What parameters.json says: what was asked for, and what was made.

    Raises
    ------
    FileExistsError
        If a file is there and may not be replaced.
    ValueError
        For a number of triangles that cannot be made.
    """
    mesh = undulating_terrain(triangles, seed=seed)
    reach = longest_segment(triangles)
    names, code = file_names(float_type), FLOATS[float_type]
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
