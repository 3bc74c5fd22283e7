"""Label a block model in a file; its other columns stay unchanged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

from geodomain.domains.order import LabelBy, Proportions
from geodomain.domains.sources import DomainsGiven
from geodomain.errors import collect_warnings
from geodomain.inputs.paths import PathGiven, model_path
from geodomain.io.blocks.model import (
    Destination,
    file_of,
    open_model,
    require_page_name,
    require_record_name,
    require_same_kind,
)
from geodomain.io.files.places import refuse_inputs, require_places, same_place
from geodomain.io.files.standard import STANDARD
from geodomain.io.header.keywords import TableKeywords, table_options
from geodomain.labelling.prepared import LabelKeywords, ShareKeywords, prepare, refuse_slips
from geodomain.labelling.run_record import RunRecord
from geodomain.labelling.summarise import summarise
from geodomain.labelling.summary import Summary
from geodomain.labelling.table import label_table
from geodomain.progress import Progress, show_progress
from geodomain.query.locator import Rule

_IN_MEMORY = (
    "use label_blocks for a table in memory, label_grid for a grid, label_points for points"
)


def label_file(
    model: PathGiven,
    domains: DomainsGiven,
    output: PathGiven | None,
    *,
    overwrite: bool = False,
    column: str = "domain",
    replace: bool = False,
    codes: bool = False,
    flags: bool = False,
    uncertain: bool = False,
    background: str | None = None,
    unassigned: str | None = None,
    leaky: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    allow_disjoint: bool = False,
    count_on_wall: bool = False,
    samples: bool = False,
    proportions: Proportions | None = None,
    percent: bool | None = None,
    by: LabelBy | None = None,
    lines: int | None = None,
    record: PathGiven | RunRecord | None = None,
    backend: str = "auto",
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Summary:
    r"""Label a block model in a file by the domains that its blocks are in, and write the result.

    The output has the model's format and one column more: text keeps every other byte, a VTK data
    set gets one more array of its cells, OMF of the same version one more attribute, a Datamine
    table one more field, and GSLIB codes. A GOCAD Voxet becomes what the output's extension says:
    .csv, .parquet, .vti, .vtu or .omf. The output is written completely or not at all.

    Parameters
    ----------
    model : path
        Text (.csv, .csv.gz, ..), Parquet, VTK, OMF, Datamine, GSLIB or a GOCAD Voxet, by its
        content; "-" is text on stdin. ``FILE:NAME`` is one model of a file that holds several.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        The domains; the first that contains a block labels it. A mapping has a mesh or a path for
        each name, or a list of them for a union: ``{"ORE": "ore.stl"}``. A path names a TOML
        file: see `read_domains`.
    output : path or None
        The file to write; "-" is stdout. None labels and reports without writing. With
        ``overwrite``, the model itself is changed in place.
    overwrite : bool
        Whether an existing output or record may be replaced.
    column : str
        Name of the new column.
    replace : bool
        Rewrite the existing column in its place.
    codes : bool
        Write the codes of domains, not their names.
    flags : bool
        Add a column in_<name> of 0 and 1 for each domain.
    uncertain : bool
        Add a column of 0 and 1: 1 where rounding may have decided the winding number of an open
        mesh.
    background, unassigned : str, optional
        Labels of blocks outside every domain, and of blocks without coordinates or beyond a
        surface; by default those of `domains`.
    leaky : str, optional
        With ``allow_open``: the label of blocks above or below a hole, where an open mesh gives no
        answer; by default ``unassigned``.
    rule : {"parity", "winding"}
        Which blocks are inside: those with an odd number of walls above, or those with a winding
        number other than 0.
    allow_open : bool
        Label with meshes that are not closed.
    weld : float, optional
        Join vertices of a mesh that are at most this far apart, in the unit of the coordinates.
    allow_disjoint : bool
        Label even if no domain meets the blocks.
    count_on_wall : bool
        Count the blocks exactly on a wireframe.
    samples : bool
        The rows are samples or composites, as for `geodomain flag`: they fill no model that solids
        could leave or fit badly.
    proportions : {"itself", "priority"}, optional
        Add a column prop_<name> for each domain: the share of each block in it, 0 to 1, by itself
        or by the order and the rules of the domains; empty where it is not known. Blocks need
        sizes. Shares are those of volumes, as of `geodomain.proportions`; blocks that more than
        three wireframes enter, or one that crosses itself, are cut along vertical lines.
    percent : bool, optional
        Add columns pct_<name> instead, 0 to 100.
    by : {"centroid", "majority"}, optional
        What labels a block: its centroid, or the largest share by the order and the rules; of
        shares within 1e-9 of the largest the first domain in the order wins, and any domain over
        none. By default that of `domains`, "centroid" if it says nothing, as for the others.
    lines : int, optional
        The root of the number of vertical lines in a block, 2 to 256. [default: 16]
    record : path, optional
        Where to write a record of the run as JSON: command, inputs with their hashes, results.
    backend : {"auto", "cpu", "cuda"}
        Where to compute; every backend gives the same labels.
    threads : int, optional
        Number of threads; by default all cores.
    progress : bool or callable
        True shows progress on stderr. A function is called with the amount done and the total,
        or None for an unknown total.
    **table
        How to read the file where its header is not enough: ``x``, ``y``, ``z``, ``dx``, ``dy``,
        ``dz``, names of columns; ``missing``, the mark of a missing coordinate, such as ``-99``
        or ``[-99, "NA"]``; ``position``, "centroid" or "corner"; ``rotation``, such as "z=30",
        with ``origin`` and ``local_origin``, three numbers each, where coordinates are local;
        ``frame``, such as "z=30", where they are those of the world and boxes are turned;
        ``delimiter``, ``decimal`` and ``encoding`` of text; ``gslib_grid`` of a GSLIB file,
        "NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ", with the first cell's centre; ``points_are_middles``
        where the coordinates beside FROM and TO are the same for a whole hole, and right.

    Returns
    -------
    Summary
        Counts, volumes, overlaps and warnings; ``print`` it.

    Raises
    ------
    FileExistsError
        If the output or the record is there already; see ``overwrite``.
    OSError
        If a file cannot be read or written.
    MeshError, DomainError, TableError, PointError
        For bad data, with the file, the place and the remedy. Nothing is left behind.
    DeviceError
        If the backend cannot be used.
    ValueError
        For options that contradict each other.
    TypeError
        For a model that is no path: a table in memory is for `label_blocks`.

    Warns
    -----
    GeodomainWarning
        For each warning of the summary, before the output is put in place: a filter that turns
        warnings into errors leaves no output.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "blocks.csv").write_text("X,Y,Z,AU\n1,1,1,2.5\n9,9,9,0.1\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.label_file(folder / "blocks.csv", {"ORE": ore}, folder / "labelled.csv")
    <Summary of 2 rows: ORE 1, background 1, unassigned 0>
    >>> (folder / "labelled.csv").read_text().split()
    ['X,Y,Z,AU,domain', '1,1,1,2.5,ORE', '9,9,9,0.1,']
    """
    run = (
        record if isinstance(record, RunRecord) else RunRecord("label_file", dict(locals()), record)
    )
    keywords: LabelKeywords = {
        "column": column, "replace": replace, "codes": codes, "flags": flags,
        "uncertain": uncertain, "background": background, "unassigned": unassigned,
        "leaky": leaky, "rule": rule, "allow_open": allow_open, "weld": weld,
        "count_on_wall": count_on_wall, "backend": backend, "threads": threads,
    }  # fmt: skip
    shares: ShareKeywords = {
        "proportions": proportions, "percent": percent, "by": by, "lines": lines,
    }  # fmt: skip
    refuse_slips(keywords, shares, samples=samples)
    options, source = table_options(**table), model_path(model, _IN_MEMORY)
    target = None if output is None else os.fspath(output)
    if target == source != STANDARD:  # FILE:NAME in place is the file
        target = str(file_of(source))
    outputs = _require_outputs(source, target, run, overwrite=overwrite)
    with collect_warnings() as warned, show_progress(progress, "labelling") as report:
        ready = prepare(domains, keywords, shares, samples=samples)
        refuse_inputs(outputs, ready.source.files)
        run.inputs.extend(ready.source.files)
        with open_model(source, options, digest=run.source) as opened:
            tally = label_table(
                opened,
                _destination(source, target, run, overwrite=overwrite),
                ready.labeller,
                ready.plan,
                allow_disjoint=allow_disjoint,
                samples=samples,
                threads=threads,
                progress=report,
            )
    summary = summarise(
        ready.labeller,
        tally,
        ready.plan.labels,
        seconds=run.seconds,
        columns=ready.columns,
        output=target,
        welds=ready.source.welds,
        warnings=warned,
        earlier=ready.source.notes,
        samples=samples,
        shares=ready.plan.shares,
    )
    run.write(str(file_of(source)), summary, overwrite=overwrite)
    return summary


def _require_outputs(
    source: str, target: str | None, run: RunRecord, *, overwrite: bool
) -> list[Path]:
    """Return the files to write, the record included; refuse places that cannot be used."""
    written = [] if target is None or target == STANDARD else [Path(target)]
    if target is not None:
        require_same_kind(source, target)
    beside = [path for path in (run.path, run.page) if path is not None]
    refuse_inputs(beside, [] if source == STANDARD else [file_of(source)])
    written += beside
    require_places(written, overwrite=overwrite)
    if run.path is not None:
        require_record_name(str(run.path))
    if run.page is not None:
        require_page_name(str(run.page))
    return written


def _destination(
    source: str, target: str | None, run: RunRecord, *, overwrite: bool
) -> Destination | None:
    """Return where to write, in place too; None for a dry run."""
    if target is None:
        return None
    streamed = STANDARD in (source, target)
    in_place = overwrite and not streamed and same_place(file_of(source), target)
    return Destination(target, overwrite, in_place, run.target)
