"""Draw sections through a labelled block model in a file, as a picture in another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Unpack

from geodomain.domains.order import Domains
from geodomain.domains.sources import DomainsGiven, domains_to_draw
from geodomain.errors import TableError
from geodomain.inputs.paths import model_path
from geodomain.io.files.places import require_places
from geodomain.io.files.standard import STANDARD
from geodomain.io.files.streams import open_target
from geodomain.io.header.dialect import number
from geodomain.io.header.keywords import TableKeywords, table_options
from geodomain.sections.cutting import Section, parse_section
from geodomain.sections.drawing import draw, require_kind
from geodomain.sections.gathering import Cut, gather, wireframes_of

# So many different numbers may be codes of domains; more are grades or densities.
_MOST_NUMBERS = 100
SectionGiven = Section | str | tuple[str, float]


def plot_sections(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    sections: SectionGiven | Sequence[SectionGiven] = (),
    *,
    domains: DomainsGiven | None = None,
    column: str = "domain",
    background: str | Iterable[str] = (),
    exaggerate: float = 1.0,
    overwrite: bool = False,
    **table: Unpack[TableKeywords],
) -> tuple[Section, ...]:
    r"""Draw sections through a labelled block model, with the traces of wireframes over them.

    Blocks are drawn by domain at their true sizes, all sections to one scale. Sections across x
    look west, those across y north.

    Parameters
    ----------
    model : path
        A block model that has a column of labels: text, Parquet or VTK. It is read twice.
    output : path
        The picture: .png, .svg or .pdf. It appears whole or not at all.
    sections : str, tuple, Section, or several of them
        Where to cut: "z=310", ("z", 310); across x, y and z through the middle of the labelled
        domains by default.
    domains : optional
        As for `label_file`: their wireframes are drawn, closed or open, and their background is
        ground.
    column : str
        The column of labels.
    background : str or several
        Labels that are drawn as ground.
    exaggerate : float
        How many times longer z is drawn than x and y.
    overwrite : bool
        Whether a picture that is there may be replaced.
    **table
        What the file does not say, or not clearly; as for `label_file`.

    Returns
    -------
    tuple of Section
        What was drawn.

    Raises
    ------
    FileExistsError
        If the picture is there already; see ``overwrite``.
    TableError
        For another kind of picture, a column of hundreds of numbers, a section that cuts no
        block, a column that is not there, or sizes that are neither there nor to be
        seen from the centroids.
    ValueError
        For what is no section.
    TypeError
        For a model that is no path.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "X,Y,Z,DX,DY,DZ,domain\n5,5,5,10,10,10,ORE\n15,5,5,10,10,10,WASTE\n"
    >>> _ = (folder / "labelled.csv").write_text(rows)
    >>> geodomain.plot_sections(folder / "labelled.csv", folder / "plan.svg", "z=5")
    (Section(axis='z', at=5.0),)
    """
    source = model_path(model, "write the blocks to a file first")
    place = Path(output)
    if source == STANDARD:
        message = "the model is read twice: give a file, not -"
        raise ValueError(message)
    if not exaggerate > 0:
        message = f"exaggerate is {exaggerate}; it must be above 0"
        raise ValueError(message)
    options = table_options(**table)
    require_places([place], overwrite=overwrite)
    kind = require_kind(place)
    listed = Domains() if domains is None else domains_to_draw(domains)
    ground = [*([background] if isinstance(background, str) else background), listed.background]
    ground = [label for label in ground if label]
    cuts = gather(source, options, column, as_sections(sections), background=ground)
    _require_labels(cuts, column, source)
    picture = draw(cuts, wireframes_of(listed), background=ground, kind=kind, exaggerate=exaggerate)
    with open_target(place, overwrite=overwrite) as target:
        target.write(memoryview(picture))
    return tuple(cut.section for cut in cuts)


def _require_labels(cuts: Sequence[Cut], column: str, model: str) -> None:
    """Raise TableError for a column of measured numbers, each of which would be a domain."""
    labels = {label for cut in cuts for label in cut.labels.tolist() if label}
    if len(labels) > _MOST_NUMBERS and all(number(label) is not None for label in labels):
        message = (
            f"{model}: column {column!r} holds {len(labels):,} different numbers in these "
            "sections, and is no column of labels: name one with column="
        )
        raise TableError(message)


def as_sections(given: SectionGiven | Sequence[SectionGiven]) -> list[Section]:
    """Return sections of one or several, however they were given."""
    if isinstance(given, str | Section) or (len(given) == 2 and given[0] in ("x", "y", "z")):
        return [_as_section(given)]
    return [_as_section(one) for one in given]


def _as_section(given: object) -> Section:
    """Return a section of AXIS=COORDINATE, of a pair, or of itself."""
    if isinstance(given, Section):
        return given
    text = "{}={}".format(*given) if isinstance(given, tuple) and len(given) == 2 else str(given)
    try:
        return parse_section(text)
    except ValueError:
        message = f"{text!r} is not AXIS=COORDINATE, such as z=310"
        raise ValueError(message) from None
