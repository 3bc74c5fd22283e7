"""Workbooks as XML, for what openpyxl does not write: odd cells, damage, other programs' habits."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# Styles 3 to 6: formats of the user.
CODES = ("d-mmm", "[h]:mm:ss", "h:mm", '0.00" days"')


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return the XML of relations: by id, kind and target."""
    rows = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE}">{rows}</Relationships>'


def styles() -> str:
    """Return the XML of number formats.

    Style 1 is a date, 2 is General, 3 to 6 are CODES, and 7 is a Chinese date.
    """
    codes = "".join(
        f'<numFmt numFmtId="{164 + n}" formatCode={quoteattr(code)}/>'
        for n, code in enumerate(CODES)
    )
    numbers = [0, 14, 0, *(164 + n for n in range(len(CODES))), 58]
    cells = "".join(f'<xf numFmtId="{number}"/>' for number in numbers)
    return (
        f'<styleSheet xmlns="{MAIN}"><numFmts>{codes}</numFmts><cellStyleXfs><xf numFmtId="14"/>'
        f"</cellStyleXfs><cellXfs>{cells}</cellXfs></styleSheet>"
    )


def sheet(rows: str, after: str = "") -> str:
    """Return the XML of a sheet, given the XML of its rows."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>{after}</worksheet>'


def row(number: int, *cells: str) -> str:
    """Return the XML of a row."""
    return f'<row r="{number}">{"".join(cells)}</row>'


def text(name: str, value: str) -> str:
    """Return the XML of a cell of text."""
    return f'<c r="{name}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def number(name: str, value: object, style: int = 0) -> str:
    """Return the XML of a cell with a number."""
    return f'<c r="{name}" s="{style}"><v>{value}</v></c>'


def write(
    path: Path,
    sheets: Mapping[str, str],
    *,
    shared: str | None = None,
    hidden: tuple[str, ...] = (),
    since_1904: bool = False,
) -> Path:
    """Write a workbook from the XML of its sheets."""
    targets = {f"r{n}": ("worksheet", f"worksheets/s{n}.xml") for n in range(len(sheets))}
    targets |= {"styles": ("styles", "styles.xml")}
    if shared is not None:
        targets |= {"texts": ("sharedStrings", "/xl/sharedStrings.xml")}
    states = ['state="hidden"' if name in hidden else "" for name in sheets]
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{n + 1}" {state} r:id="r{n}"/>'
        for n, (name, state) in enumerate(zip(sheets, states, strict=True))
    )
    kinds = {"/xl/workbook.xml": "sheet.main", "/xl/sharedStrings.xml": "sharedStrings"}
    types = "".join(
        f'<Override PartName="{part}" ContentType="{KINDS}.{kind}+xml"/>'
        for part, kind in kinds.items()
        if shared is not None or kind != "sharedStrings"
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}">{types}</Types>',
        "_rels/.rels": relations({"r": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
        f'<workbookPr date1904="{int(since_1904)}"/><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(targets),
        "xl/styles.xml": styles(),
    }
    if shared is not None:
        parts["xl/sharedStrings.xml"] = f'<sst xmlns="{MAIN}">{shared}</sst>'
    parts |= {f"xl/worksheets/s{n}.xml": each for n, each in enumerate(sheets.values())}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return path
