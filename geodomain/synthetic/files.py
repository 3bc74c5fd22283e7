"""Writes the synthetic deposit as the files a mining package would export; reads nothing."""

from __future__ import annotations

from pathlib import Path

from geodomain.meshfiles import write_mesh
from geodomain.synthetic.deposit import Deposit

# Two formats that keep float64, one of them binary, one text.
SUFFIXES = {"dyke": ".ply", "ore_upper": ".ply", "ore_lower": ".ply", "oxide": ".obj"}
TOPOGRAPHY, REGULAR, SUBBLOCKED = "topography.ply", "regular.csv", "subblocked.csv"
DOMAINS = "domains.toml"

# What `geodomain label --domains` makes of the deposit: all kinds of domain but a stack.
DOMAIN_LIST = """\
# The first domain that has a block wins; files are beside this one.
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
    """Return the names of all the files of a deposit, wireframes first, the domains last."""
    solids = (name + suffix for name, suffix in SUFFIXES.items())
    return (*solids, TOPOGRAPHY, REGULAR, SUBBLOCKED, DOMAINS)


def write_deposit(deposit: Deposit, folder: Path) -> dict[str, list[Path]]:
    """Write wireframes, block models and domains into a folder, replacing what has their names.

    Parameters
    ----------
    deposit : Deposit
        What to write.
    folder : Path
        Where to; made if it is missing.

    Returns
    -------
    dict of str to list of Path
        The files of each domain's solids, in order of priority.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, mesh in deposit.solids.items():
        write_mesh(mesh, folder / (name + SUFFIXES[name]))
    write_mesh(deposit.topography, folder / TOPOGRAPHY)
    for table, name in ((deposit.regular, REGULAR), (deposit.subblocked, SUBBLOCKED)):
        with (folder / name).open("wb") as file:
            file.writelines(table.csv())
    (folder / DOMAINS).write_text(DOMAIN_LIST, encoding="utf-8")
    return {
        domain: [folder / (mesh.name + SUFFIXES[mesh.name]) for mesh in meshes]
        for domain, meshes in deposit.domains.items()
    }
