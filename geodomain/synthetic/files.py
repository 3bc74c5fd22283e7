"""Write the synthetic deposit as the files that a mining package would export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from geodomain.io.files.atomic import refuse_to_replace
from geodomain.io.files.streams import replaced
from geodomain.io.meshes.writing import write_mesh
from geodomain.synthetic.deposit import Deposit

# Two formats that keep float64, one of them binary, one text.
SUFFIXES = {"dyke": ".ply", "ore_upper": ".ply", "ore_lower": ".ply", "oxide": ".obj"}
TOPOGRAPHY, REGULAR, SUBBLOCKED = "topography.ply", "regular.csv", "subblocked.csv"
COLLAR, SURVEY, ASSAY = "collar.csv", "survey.csv", "assay.csv"
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
    return (*solids, TOPOGRAPHY, REGULAR, SUBBLOCKED, COLLAR, SURVEY, ASSAY, DOMAINS)


def labelled_files(folder: Path) -> dict[Path, Path]:
    """Return where the demo writes each block model of a folder when it has been labelled."""
    return {folder / model: folder / f"labelled_{model}" for model in (REGULAR, SUBBLOCKED)}


def require_free(folder: Path, *, overwrite: bool = False) -> None:
    """Raise FileExistsError if a file of the demo is there, labelled ones included."""
    made = [folder / name for name in file_names()]
    refuse_to_replace([*made, *labelled_files(folder).values()], overwrite=overwrite)


@contextmanager
def all_or_none(folder: Path) -> Iterator[None]:
    """Remove the files of the demo that were made in the block, if that fails."""
    made = [*(folder / name for name in file_names()), *labelled_files(folder).values()]
    new, new_folder = [path for path in made if not path.exists()], not folder.exists()
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
        What to write.
    folder : Path
        Where to; made if it is missing.
    overwrite : bool
        Whether files that are there may be replaced.

    Returns
    -------
    dict of str to list of Path
        The files of each domain's solids, in order of priority.

    Raises
    ------
    FileExistsError
        If one of the files is there and may not be replaced.
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
