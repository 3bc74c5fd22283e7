"""Join the sub-blocks of a model in a file into fewer blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Unpack

from geodomain.errors import collect_warnings, warn
from geodomain.inputs.paths import PathGiven, model_path
from geodomain.io.blocks.model import Destination, open_model
from geodomain.io.blocks.rewriting.task import Rewriting
from geodomain.io.header.keywords import TableKeywords, table_options
from geodomain.progress import Progress, show_progress
from geodomain.subblocks.amounts import NegativeAmounts, unshared_warnings
from geodomain.subblocks.asked import (
    IN_MEMORY,
    amount_columns,
    parent_column,
    require_output,
    rewritable,
)
from geodomain.subblocks.joining import Joining
from geodomain.subblocks.summary import MergeSummary


def merge_file(
    model: PathGiven,
    output: PathGiven,
    *,
    parent: str = "parent",
    extensive: str | Sequence[str] = (),
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> MergeSummary:
    r"""Join sub-blocks of a model in a file into fewer, and write them.

    Neighbours of one parent that agree in every column but their coordinates and sizes become one
    block, with the row of the first of them. Joined blocks fill what their parts filled, exactly;
    there are never more of them in a parent than runs joined along its best axis, and the same
    input gives the same blocks. With ``frame`` coordinates are those of the world and rounded:
    faces agree within 1/200 of the smaller size, volumes still add up, and coordinates of joined
    blocks are rounded to 6 decimals in text.

    Parameters
    ----------
    model : path
        Text, Parquet or .vtu, with block sizes. The blocks of a parent follow each other.
    output : path
        The file to write, of the model's kind.
    parent : str
        The column of numbers that says which blocks belong together.
    extensive : str or sequence of str
        Columns of amounts, which are added up.
    overwrite, threads, progress, **table
        As for `label_file`.

    Returns
    -------
    MergeSummary
        ``print`` it.

    Raises
    ------
    TableError, OSError
        As `label_file`, for a model without sizes, and where the blocks of a parent do not follow
        each other; nothing is left behind.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "X,Y,Z,DX,DY,DZ,T,parent\n2.5,5,5,5,10,10,6.5,0\n7.5,5,5,5,10,10,6.5,0\n"
    >>> _ = (folder / "sub.csv").write_text(rows)
    >>> print(geodomain.merge_file(folder / "sub.csv", folder / "a.csv", extensive="T").after)
    1
    >>> (folder / "a.csv").read_text().split()[1]
    '5.0,5,5,10,10,10,13.0,0'
    """
    began = time.perf_counter()
    options, source = table_options(**table), model_path(model, IN_MEMORY)
    target = os.fspath(output)
    require_output(source, target, overwrite=overwrite)
    with (
        collect_warnings() as warned,
        show_progress(progress, "joining") as told,
        open_model(source, options) as opened,
    ):
        file = rewritable(opened)
        together = parent_column(opened, parent)
        work = Joining(
            opened.name,
            together,
            opened.columns[together],
            space=file.space,
            threads=threads,
        )
        amounts = amount_columns(opened, extensive)
        negative = NegativeAmounts([opened.columns[field] for field in amounts])

        def before_commit() -> None:
            work.require_runs()
            joined = work.after < work.before
            for sentence in (
                *(unshared_warnings(opened.columns, amounts, joined=True) if joined else ()),
                *negative.warnings(),
            ):
                warn(sentence)

        file.rewrite(
            Rewriting(
                negative.counted(work.rewrite),
                Destination(target, overwrite),
                amounts=amounts,
                together=together,
                threads=threads,
                progress=told,
                before_commit=before_commit,
            )
        )
    return MergeSummary(
        parents=work.parents,
        before=work.before,
        after=work.after,
        seconds=time.perf_counter() - began,
        output=target,
        warnings=tuple(warned),
    )
