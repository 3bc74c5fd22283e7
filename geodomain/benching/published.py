"""What the paper reports, to stand beside what this machine does; nothing is measured here.

R. Leung, "GPU implementation of a ray-surface intersection algorithm in CUDA", arXiv 2209.02878
(2022): Tables 1 to 3, and the memory of its version 2.1.
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

SOURCE = "R. Leung, arXiv 2209.02878 (2022)"
HEADING = "published, Titan X"
MACHINES = "GeForce GTX Titan X; libraries on a Core i7-8665U"
TRIANGLES, SEGMENTS = 29_284, 10_000_000
MIB = 1 << 20  # what the paper calls MB


class Published(NamedTuple):
    """One row: seconds for all segments, NaN if not reported, and millions of pairs a second."""

    seconds: float
    mega_tests_per_second: float


# Tables 1 and 3, by the names of our contenders: versions 1, 2.0, 2.1 and 2.2 of the program are
# the last four. Of Table 1's preliminary times the paper repeats all in Table 3.
RUNS = {
    "PyVista ray_trace": Published(384.5, 761.5),
    "VTK OBBTree": Published(92.3, 3_171.3),
    "PyVista multi_ray_trace": Published(60.6, 4_832.5),
    "geodomain brute (cuda)": Published(23.729, 12_340.5),
    "geodomain bvh, 1 block (cuda)": Published(5.022, 58_978.1),
    "geodomain bvh, 16 blocks (cuda)": Published(0.463, 632_071.5),
    "geodomain bvh, 16 blocks, sorted (cuda)": Published(0.228, 1_284_357.7),
}
# What Table 1 cites from elsewhere.
CITED = {
    "Jimenez et al. 2014, GTX 560 Ti": Published(nan, 2_742.0),
    "the same, scaled to a Titan X": Published(nan, 9_651.9),
}
# Table 2, in seconds: differences of what it gives cumulatively. Codes include the centroids,
# the tree the clearing of its nodes; the sort was the host's.
BUILD = {
    "boxes of segments": 4.32e-3,
    "codes": (7.75 - 4.32) * 1e-3,
    "sort": (24.23 - 7.75) * 1e-3,
    "tree": (24.94 - 24.23) * 1e-3,
}
# Bytes: both ends of the segments, the answers, and what is left of 267.8 MiB.
MEMORY = {
    "segments": round(2 * 114.4 * MIB),
    "answers, boolean": round(38.1 * MIB),
    "all else": round((267.8 - 2 * 114.4 - 38.1) * MIB),
}
NOTES = f"""\
Published: {SOURCE}; {SEGMENTS:,} segments, {TRIANGLES:,} triangles;
{MACHINES}. About the same work here: ten million rays.
Brute force is its version 1, a hierarchy asked by 1 block 2.0, by 16 blocks 2.1, and with
sorted segments 2.2; its codes were sorted on the host. Its copies took 46.7 ms to the GPU and
3.3 ms back. Its 267.8 MB are of 2^20 bytes; MB in these tables are of 10^6."""


def as_dict() -> dict[str, object]:
    """Return everything for JSON, None where there is no number."""
    runs = {
        name: {
            "seconds": None if each.seconds != each.seconds else each.seconds,
            "tests_per_second": each.mega_tests_per_second * 1e6,
        }
        for name, each in (RUNS | CITED).items()
    }
    return {
        "source": SOURCE,
        "machine": MACHINES,
        "triangles": TRIANGLES,
        "rays": SEGMENTS,
        "runs": runs,
        "build_seconds": BUILD,
        "memory_bytes": MEMORY,
    }
