"""Draw sections through a labelled block model in a file, as a picture in another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from geodomain.domains.order import Domains
from geodomain.domains.sources import DomainsGiven, drawn_source, policy_of
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, warn
from geodomain.inputs.paths import model_path
from geodomain.io.blocks.model import file_of
from geodomain.io.files.places import refuse_inputs, require_places
from geodomain.io.files.standard import STANDARD
from geodomain.io.files.streams import open_target
from geodomain.io.files.unchanged import Unchanged
from geodomain.io.header.keywords import TableKeywords, table_options
from geodomain.progress import Progress, show_progress
from geodomain.sections.asking import SectionGiven, as_sections, is_run
from geodomain.sections.colours import usual_ground
from geodomain.sections.cutting import Section
from geodomain.sections.drawing import draw, require_kind
from geodomain.sections.frame import faces_warnings
from geodomain.sections.gathering import Cut, gather, wireframes_of
from geodomain.sections.labels import require_labels
from geodomain.sections.look import Look, Ramp, near_holes, ramp_of, require_cmap
from geodomain.sections.near_holes import lines_near
from geodomain.sections.samples import samples_near


def plot_sections(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    sections: SectionGiven | Sequence[SectionGiven] = (),
    *,
    domains: DomainsGiven | None = None,
    column: str = "domain",
    background: str | Iterable[str] = (),
    exaggerate: float = 1.0,
    title: str | None = None,
    unit: str = "",
    colour_by: str | None = None,
    cmap: str = "viridis",
    holes: Drillholes | None = None,
    within: float | None = None,
    samples: TableLike | None = None,
    grade: str | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **table: Unpack[TableKeywords],
) -> tuple[Section, ...]:
    r"""Draw sections through a labelled block model, with the traces of wireframes over them.

    Blocks are drawn by domain, or by grade, at their true sizes, all sections to one scale, with a
    scale bar and the places of the others. Sections across x look west, those across y north.

    Parameters
    ----------
    model : path
        A block model that has a column of labels, of any kind of file. It is read twice where
        sections are not named.
    output : path
        The picture: .png, .svg or .pdf. It appears whole or not at all.
    sections : str, tuple, Section, or several of them
        Where to cut: "z=310", ("z", 310), or a run "y=7480200,7480300,50" of start, stop and
        step, whose sections are the pages of a PDF, and panels of other pictures; across x, y and
        z through the middle of the labelled domains by default. On faces of blocks those above,
        to the north or to the east are drawn.
    domains : optional
        As for `label_file`: their wireframes are drawn, closed or open, in the colours that they
        name, and their background is ground.
    column : str
        The column of labels.
    background : str or several
        Labels that are drawn as ground, in a colour that no domain has; WASTE where neither this
        nor `domains` names one.
    exaggerate : float
        How many times longer z is drawn than x and y.
    title : str, optional
        Above the sections of each page.
    unit : str
        Of the coordinates, for axes and scale bars.
    colour_by : str, optional
        A column of numbers, such as a grade, that colours the blocks: from its lowest value to
        that which 98% of the blocks drawn do not exceed.
    cmap : str
        Colours for it: one of matplotlib's colour maps.
    holes : Drillholes, optional
        Drillholes to project onto the sections that they are near.
    within : float, optional
        How near, on either side; needed with ``holes``.
    samples : path, DataFrame or pyarrow.Table, optional
        Samples of the holes (hole, FROM, TO, grades), drawn along them in the colours of `cmap`.
        Those without a value are not drawn; negative ones count as `holes` reads them, with a
        warning.
    grade : str, optional
        Their column; needed with ``samples``. Blocks that ``colour_by`` colours by a column of
        this name have the same ramp.
    overwrite : bool
        Whether a picture that is there may be replaced.
    progress : callable or bool, optional
        Called with what is done and its total, of each pass and of the pages; True shows one line
        on stderr.
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
        block, a column that is not there or has no number, or sizes that are neither there nor
        to be seen from the centroids.
    ValueError
        For what is no section, no colour map, holes without a distance, and samples without
        holes or a grade.
    TypeError
        For a model that is no path.
    ImportError
        If matplotlib is not installed.

    Warns
    -----
    GeodomainWarning
        For a section on faces of blocks, and holes that are near none.

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
    look = Look(exaggerate=exaggerate, title=title or "", unit=unit)
    table["below_detection"] = table.get("below_detection") or policy_of(domains)
    near = near_holes(holes, within, samples, grade, table["below_detection"])
    require_cmap(cmap)
    options, asked = table_options(**table), as_sections(sections)
    kind = require_kind(place)
    tables = [samples] if isinstance(samples, str | os.PathLike) else []
    read = [file_of(source), *map(Path, tables), *(() if holes is None else holes.files)]
    refuse_inputs([place], read)
    require_places([place], overwrite=overwrite)
    listed, files = drawn_source(domains)
    refuse_inputs([place], files)
    if holes is not None:
        holes.tell(listed)
    given = [*([background] if isinstance(background, str) else background), listed.background]
    ground = [label for label in given if label]
    with Unchanged(file_of(source)), show_progress(progress, "reading") as told:
        cuts = gather(
            source, options, column, asked, background=ground, grade=colour_by, progress=told
        )
    cuts = _named(cuts, listed)
    names = {label for cut in cuts for label in cut.labels.tolist()}
    require_labels(names, column, source, " in these sections")
    ground = ground or usual_ground(names, [target.name for target in listed.targets])
    look = replace(
        look,
        colours=listed.colours,
        near=near,
        ramp=None if colour_by is None else _ramp(cuts, colour_by, cmap, source),
        paged=kind == "pdf" and is_run(sections),
    )
    look = _with_samples(look, cuts, cmap)
    for sentence in faces_warnings([cut.section for cut in cuts if cut.is_on_faces]):
        warn(sentence)
    if look.near and not any(
        lines_near(c.section, look.near.holes, look.near.within) for c in cuts
    ):
        warn(f"no drillhole comes within {look.near.within:.10g} of a section")
    with show_progress(progress, "drawing") as told:
        drawn = draw(
            cuts, wireframes_of(listed), background=ground, kind=kind, look=look, progress=told
        )
    with open_target(place, overwrite=overwrite) as target:
        target.write(memoryview(drawn))
    return tuple(cut.section for cut in cuts)


def _with_samples(look: Look, cuts: Sequence[Cut], cmap: str) -> Look:
    """Add the ramp of samples: that of the blocks too, where these are coloured by that grade."""
    near, ramp = look.near, look.ramp
    if near is None or near.samples is None:
        return look
    shown = [samples_near(cut.section, near.holes, near.within, near.samples)[1] for cut in cuts]
    values, name = np.concatenate(shown), near.samples.name
    if ramp is not None and ramp.name.casefold() == name.casefold():
        blocks = [cut.values for cut in cuts if cut.values is not None]
        both = ramp_of(
            f"{ramp.name}, of blocks and samples", cmap, np.concatenate([*blocks, values])
        )
        return replace(look, ramp=both, near=replace(near, ramp=both))
    return replace(look, near=replace(near, ramp=ramp_of(f"{name}, of samples", cmap, values)))


def _named(cuts: Sequence[Cut], domains: Domains) -> list[Cut]:
    """Return sections with the names of domains in the place of their codes."""
    names = {str(one.code): one.name for one in domains.targets if one.code is not None}
    if domains.background and domains.background_code is not None:
        names[str(domains.background_code)] = domains.background
    known = {label for cut in cuts for label in cut.labels.tolist() if label}
    if not names or not known <= names.keys():
        return list(cuts)
    return [
        replace(cut, labels=np.array([names.get(one, "") for one in cut.labels.tolist()], np.str_))
        for cut in cuts
    ]


def _ramp(cuts: Sequence[Cut], name: str, cmap: str, model: str) -> Ramp:
    """Return the ramp of all sections; raise TableError for a column without a number."""
    found = ramp_of(name, cmap, np.concatenate([c.values for c in cuts if c.values is not None]))
    if found is None:
        message = f"{model}: column {name!r} holds no number in these sections: name a grade"
        raise TableError(message)
    return found
