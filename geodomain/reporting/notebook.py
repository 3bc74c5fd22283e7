"""A labelled block model in a notebook: the page of a report as a widget."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from geodomain.domains.sources import DomainsGiven
from geodomain.drillholes.drillholes import Drillholes
from geodomain.inputs import model_path
from geodomain.progress import Progress
from geodomain.reporting.grades import GradesAsked
from geodomain.reporting.page import MadePage
from geodomain.reporting.record import RecordGiven
from geodomain.reporting.report_file import IN_MEMORY, gather_content
from geodomain.reporting.sections import SectionGiven
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    import anywidget

# The frame has no origin of its own: what is in it reaches nothing of the notebook's.
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
    model: str | os.PathLike[str],
    *,
    domains: DomainsGiven | None = None,
    record: RecordGiven | None = None,
    sections: SectionGiven | Sequence[SectionGiven] = (),
    column: str = "domain",
    background: str | Iterable[str] = (),
    holes: Drillholes | None = None,
    grade: str | Sequence[str] = (),
    height: int = 800,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> anywidget.AnyWidget:
    r"""Show a labelled block model in a notebook, to be turned, cut and read.

    The widget is the page of `report_file` in a frame of its own: the view in three dimensions with
    its cutting plane and slider, sections, tables. It needs the extra `notebook`. Where widgets are
    not shown, such as in a notebook on a web site, one of the sections is there as a picture.

    Parameters
    ----------
    model : path
        A block model that has a column of labels, as for `report_file`.
    domains, record, sections, column, background, holes, grade
        As for `report_file`.
    height : int
        Of the widget, in pixels.
    progress : bool or callable
        As for `label_file`.
    **table
        What the file does not say, or not clearly; as for `label_file`.

    Returns
    -------
    anywidget.AnyWidget
        The last line of a cell shows it. Its traits are ``page`` (HTML), ``title`` and ``height``.

    Raises
    ------
    ModuleNotFoundError
        Without the extra `notebook`.
    TableError, TypeError, ValueError
        As for `report_file`.
    """
    make = _widget_type()
    source = model_path(model, IN_MEMORY)
    content, asked = gather_content(
        source,
        None,
        domains=domains,
        record=record,
        compare=None,
        sections=sections,
        column=column,
        background=background,
        holes=holes,
        grades=GradesAsked((grade,) if isinstance(grade, str) else tuple(grade), None),
        progress=progress,
        table=table,
    )
    title = f"{Path(source).name} by domain"
    return make(content.html(asked, title, None), title, height)


@cache
def _widget_type() -> Callable[[MadePage, str, int], anywidget.AnyWidget]:
    """Return the class of the widget, which only exists where anywidget does."""
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
            """Return a section as a picture, for where widgets are not shown."""
            return f"<figure>{self._picture}<figcaption>{escape(self.title)}</figcaption></figure>"

    return ModelView
