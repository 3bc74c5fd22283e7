"""Show the page of a report as a notebook widget."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol, Unpack, cast

from geodomain.checks.columns import unit_of_length
from geodomain.domains.order import DomainsLike
from geodomain.drillholes.drillholes import Drillholes
from geodomain.progress import Progress
from geodomain.reporting.grades import grade_settings
from geodomain.reporting.page import MadePage
from geodomain.reporting.planes import SectionGiven
from geodomain.reporting.record import RecordGiven
from geodomain.reporting.report_file import gather_content
from geodomain.tables.in_memory import BlockFrame, is_frame, refuse_lazy
from geodomain.tables.settings import TableKeywords
from geodomain.volumes.tonnes import Cutoffs

if TYPE_CHECKING:
    from narwhals.stable.v1.typing import IntoDataFrame

    from geodomain.tables.in_memory import ArrowStream, TableOf

_TABLE = "table in memory"


class ModelWidget(Protocol):
    """An anywidget.AnyWidget that shows a page; it needs the extra `notebook`."""

    page: str
    title: str
    height: int


# The sandboxed frame has no origin, so the page cannot reach the notebook.
_CODE = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = model.get("title");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = "width: 100%; border: 0";
  const size = () => (frame.style.height = `${model.get("height")}px`);
  const show = () => (frame.srcdoc = model.get("page"));
  model.on("change:height", size);
  model.on("change:page", show);
  size();
  show();
  el.appendChild(frame);
}
export default { render };
"""


def view(
    model: str | os.PathLike[str] | TableOf[object] | ArrowStream,
    *,
    domains: DomainsLike | None = None,
    record: RecordGiven | None = None,
    sections: SectionGiven | Sequence[SectionGiven] = (),
    column: str = "domain",
    background: str | Iterable[str] = (),
    holes: Drillholes | None = None,
    density: str | float | None = None,
    density_unit: str | None = None,
    grade: str | Sequence[str] = (),
    cutoff: Cutoffs | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    classification: str | None = None,
    unit: str = "",
    height: int = 800,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> ModelWidget:
    """Show a labelled block model in a notebook.

    The widget shows the page of `report_file` in a frame: the 3D view with a cutting plane,
    sections and tables. The extra `notebook` must be installed. Where widgets do not work, such
    as in a notebook on a web site, a section is shown as a picture.

    Parameters
    ----------
    model : path, DataFrame or pyarrow.Table
        A block model with a label column: a file as for `report_file`, or a table as for
        `label_blocks`.
    domains, record, sections, column, background, holes
        As for `report_file`.
    density, density_unit, grade, cutoff, grade_unit, classification, unit
        As for `report_file`.
    height : int
        Height of the widget, in pixels.
    progress : bool or callable
        As for `label_file`.
    **table
        Options for reading the file, as for `label_file`.

    Returns
    -------
    anywidget.AnyWidget
        The widget; it is shown if it is the last line of a cell. Its traits are ``page`` (HTML),
        ``title`` and ``height``.

    Raises
    ------
    ModuleNotFoundError
        If the extra `notebook` is not installed.
    TableError, TypeError, ValueError
        As for `report_file`.
    """
    make = _widget_type()
    with _file_of(model) as (source, name):
        content, planes = gather_content(
            source,
            None,
            domains=domains,
            record=record,
            compare=None,
            sections=sections,
            column=column,
            background=background,
            holes=holes,
            grades=grade_settings(
                column, grade, density, density_unit, cutoff, grade_unit, classification
            ),
            progress=progress,
            table=table,
        )
        title = f"{Path(name).name} by domain"
        content = replace(content, source=name, unit=unit or unit_of_length(density_unit))
        return make(content.html(planes, title, None), title, height)


@contextmanager
def _file_of(
    model: str | os.PathLike[str] | TableOf[object] | ArrowStream,
) -> Iterator[tuple[str, str]]:
    """Yield a model's path and its name on the page; a table is written to a temporary file."""
    if isinstance(model, str | os.PathLike):
        yield os.fspath(model), os.fspath(model)
        return
    refuse_lazy(model)
    if not is_frame(model):
        message = (
            f"the model must be either the path of a file or a table, not {type(model).__name__}; "
            "give wireframes with domains="
        )
        raise TypeError(message)
    with TemporaryDirectory(prefix="geodomain-") as folder:
        path = Path(folder, f"{_TABLE}.csv")
        BlockFrame(cast("IntoDataFrame", model)).write_csv(path)
        yield str(path), _TABLE


@cache
def _widget_type() -> Callable[[MadePage, str, int], ModelWidget]:
    """Import anywidget, and return a function that makes the widget of a page."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError as error:
        message = "view needs anywidget, which is not installed: pip install 'geodomain[notebook]'"
        raise ModuleNotFoundError(message, name=error.name) from error

    class ModelView(anywidget.AnyWidget):
        """A labelled block model in a notebook."""

        _esm = _CODE
        title = traitlets.Unicode().tag(sync=True)
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(800, min=100).tag(sync=True)

        def __init__(self, made: MadePage, title: str, height: int) -> None:
            super().__init__(title=title, page=made.html, height=height)
            self._picture = made.picture

        def _repr_html_(self) -> str:
            """Return a section as a picture, for viewers that do not show widgets."""
            return f"<figure>{self._picture}<figcaption>{escape(self.title)}</figcaption></figure>"

    return ModelView
