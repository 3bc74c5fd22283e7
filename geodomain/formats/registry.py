"""The list of file formats: how to recognise each format, and which functions read and write it.

To add a format, write its module and one entry in `FORMATS`. An entry names its functions by
module; the module is imported only when a file of the format occurs. Another package can add a
`Format` by an entry point of the group `geodomain.formats`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeVar

from geodomain.errors import BinaryTableError, TableError, warn

if TYPE_CHECKING:
    from geodomain.files.unchanged import Digest
    from geodomain.formats.block_file import BlockFile, Blocks
    from geodomain.mesh.mesh import Mesh
    from geodomain.mesh.polygons import Faces
    from geodomain.tables.options import TableOptions

HEAD = 1 << 16  # bytes used to recognise formats
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GROUP = "geodomain.formats"  # of entry points

Function = TypeVar("Function")
Sign = Callable[["Head"], bool]


class Head:
    """The first bytes of a file, by which its format is recognised.

    Parameters
    ----------
    data : bytes
        The whole file, or its beginning.
    extension : str
        Extension of the file, in lower case, with the dot.
    size : int, optional
        Number of bytes of the whole file; default: the length of `data`.
    """

    def __init__(self, data: bytes, extension: str = "", size: int | None = None) -> None:
        self.data, self.extension = data, extension
        self.size = len(data) if size is None else size

    @cached_property
    def lines(self) -> bytes:
        """The first bytes, with LF line ends and without a byte-order mark."""
        return unify_lines(self.data[:HEAD])

    @cached_property
    def text(self) -> bytes:
        """The same bytes as `lines`, without leading blanks."""
        return self.lines.lstrip()

    @property
    def is_binary(self) -> bool:
        """Whether a zero byte is among the first bytes."""
        return b"\x00" in self.lines


def unify_lines(data: bytes) -> bytes:
    """Return a text with LF line ends, and without a byte-order mark."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


@dataclass(frozen=True)
class Format:
    """A file format.

    A function is given as `"module:name"` (a built-in module begins with a dot) or as a callable.
    "" means that the format does not offer the function.

    Attributes
    ----------
    name : str
        Name used in messages.
    extensions : tuple of str
        Extensions of its files, the usual one first; empty if any extension is allowed.
    sign : callable
        Takes a `Head`, and returns whether the file has this format. If several formats match, the
        first in the list is used.
    sure : callable, optional
        A stricter test than `sign`, for a format whose `sign` may match text tables.
    last : callable, optional
        Recognises damaged files of the format; used if no `sign` matches.
    wireframe : bool
        Whether files of the format hold only wireframes.
    read_meshes : str or callable
        Takes `(data, path)`, the bytes of a file and its path. Returns the `Faces` of a single
        solid, or `(name, Faces)` for each solid. Afterwards, equal vertices of a named solid are
        merged; a single solid is used unchanged.
    read_file : str or callable
        Takes `(path, extension)`; replaces `read_meshes` if a library opens the file.
    read_named : str or callable
        Takes `(path, name)`; replaces `read_meshes` if a library opens the file, and can read one
        solid alone. The name is that of FILE:NAME, or None for all solids.
    write_mesh : str or callable
        Takes `(mesh, file)`, and writes one solid.
    write_solids : str or callable
        Takes `(solids, file)`, and writes several named solids.
    write_pair : str or callable
        Takes `(solids, stem, first, second)`, and writes solids to the two files of `pair`.
    spell : str or callable
        Converts the name of a solid to one that the format can store.
    pair : tuple of str
        Extensions of two files that are written together; the second file is put in place first.
    open_blocks : str or callable
        Takes `(path, options, digest)`. Returns a context manager that yields a `BlockFile`.
    blocks_by : {"content", "extension", "either"}
        How a block model of this format is recognised.
    holds_blocks : str or callable
        Takes a path, and returns whether the file, or its element in FILE:NAME, holds blocks. For
        formats that can store wireframes and blocks.
    contents : str or callable
        Takes a `Path`, and returns a tuple for each element of the file: its name, and whether it
        is a block model. For formats that can store several wireframes and block models.
    write_blocks : str or callable
        Takes `(blocks, path)`, and yields the bytes of a new file.
    keeps_blocks : bool
        Whether a labelled model is written in the same format as the input.
    written : tuple of str
        Extensions allowed for outputs; default: the first of `extensions`.
    """

    name: str
    extensions: tuple[str, ...]
    sign: Sign
    _: KW_ONLY
    sure: Sign | None = None
    last: Sign | None = None
    wireframe: bool = False
    read_meshes: str | Callable[[bytes, Path], Faces | Iterable[tuple[str, Faces]]] = ""
    read_file: str | Callable[[Path, str], Faces] = ""
    read_named: str | Callable[[Path, str | None], Faces | Iterable[tuple[str, Faces]]] = ""
    write_mesh: str | Callable[[Mesh, BinaryIO], None] = ""
    write_solids: str | Callable[[dict[str, Mesh], BinaryIO], None] = ""
    write_pair: str | Callable[[dict[str, Mesh], str, BinaryIO, BinaryIO], None] = ""
    spell: str | Callable[[str], str] = ""
    pair: tuple[str, ...] = ()
    open_blocks: (
        str | Callable[[str, TableOptions, Digest | None], AbstractContextManager[BlockFile]]
    ) = ""
    blocks_by: Literal["content", "extension", "either"] = "content"
    holds_blocks: str | Callable[[str], bool] = ""
    contents: str | Callable[[Path], list[tuple[str, bool]]] = ""
    write_blocks: str | Callable[[Blocks, str], Iterable[bytes]] = ""
    keeps_blocks: bool = True
    written: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The extensions allowed for outputs."""
        return self.written or self.extensions[:1]

    @property
    def reads_meshes(self) -> bool:
        """Whether the format can be read as wireframes."""
        return bool(self.read_meshes or self.read_file or self.read_named)

    @property
    def writes_meshes(self) -> bool:
        """Whether wireframes can be written in the format."""
        return bool(self.write_mesh or self.write_solids or self.write_pair)

    @property
    def kind(self) -> str:
        """The name of the module that opens the format's block models, such as "vtk".

        For a format of another package, the kind is the name of the format.
        """
        opener = self.open_blocks
        return opener.partition(":")[0].lstrip(".") if isinstance(opener, str) else self.name


def loaded(function: str | Function) -> Function:
    """Return a function of a format; a function given by name is imported from its module."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    resolved: Function = getattr(import_module(module, __package__), name)
    return resolved


# --- Signs: functions that recognise a format by the first bytes. Patterns are compiled when used.


def begins(*marks: bytes) -> Sign:
    """Return a test (`Format.sign`) that matches files that begin with one of the `marks`."""
    return lambda head: head.data.startswith(marks)


def matches(pattern: bytes, flags: int = 0) -> Sign:
    """Return a test (`Format.sign`) that matches a pattern at the start of the text.

    Leading blanks are skipped.
    """
    return lambda head: re.match(pattern, head.text, flags) is not None


def archives(*members: bytes) -> Sign:
    """Return a test (`Format.sign`) that matches a ZIP that has one of the given members."""
    return lambda head: head.data.startswith(b"PK\3\4") and any(m in head.data for m in members)


def _never(head: Head) -> bool:
    """Match no file: text tables are chosen only if no other format matches."""
    return False


_VTK_XML = rb"<VTKFile\s(?:[^>]*?\s)?type\s*=\s*[\"'](\w+)[\"']"


def _vtk(kind: bytes) -> Sign:
    """Return a test (`Format.sign`) that matches VTK's XML with the given type of data set."""

    def sign(head: Head) -> bool:
        match = re.search(_VTK_XML, head.text)
        return match is not None and match[1] == kind

    return sign


def _legacy_vtk(head: Head) -> bool:
    return head.text[:14].lower() == b"# vtk datafile"


# Datamine's definition: the number of fields and the first field, in words from the start.
DATAMINE_COUNT, DATAMINE_FIELDS, DATAMINE_WORDS = 25, 28, 512


def datamine_form(data: bytes) -> tuple[int, Literal["<", ">"]] | None:
    """Return bytes per word and byte order if the data may be a Datamine definition page."""
    forms: tuple[tuple[int, Literal["<", ">"], str], ...] = (
        (8, "<", "<d"), (8, ">", ">d"), (4, "<", "<f"), (4, ">", ">f")
    )  # fmt: skip
    for width, order, number in forms:
        if len(data) < width * DATAMINE_WORDS:
            continue
        (count,) = unpack_from(number, data, DATAMINE_COUNT * width)
        kind = data[(DATAMINE_FIELDS + 2) * width :][:4]
        if 1 <= count <= 500 and count == int(count) and kind in (b"A   ", b"N   "):
            return width, order
    return None


def _datamine(head: Head) -> bool:
    """Match a Datamine file; the format's module checks its definition page."""
    if datamine_form(head.data) is None:
        return False
    is_table: Callable[[bytes], bool] = loaded(".datamine:is_table")
    return is_table(head.data)


# The second line of a GSLIB table is the number of columns, optionally followed by a grid.
_GSLIB = rb"[^\n]*\n[ \t]*\d{1,4}(?:[ \t][^\n]*)?\r?\n"


def _gslib(head: Head) -> bool:
    """Match a GSLIB table; the format's module checks the column names and the first row."""
    if not re.match(_GSLIB, head.data):
        return False
    is_table: Callable[[bytes], bool] = loaded(".gslib:is_table")
    return is_table(head.data)


STL_HEADER, STL_FACET = 84, 50  # bytes
_STL_LINE = rb"(?mi)^\s*(facet|endsolid)\b"


def stl_facets(head: bytes) -> int:
    """Return the number of facets that a binary STL's header declares."""
    return int.from_bytes(head[80:84], "little")


def _binary_stl(head: Head) -> bool:
    """Match a binary STL by its file size, because its header may also begin with 'solid'."""
    return head.size >= STL_HEADER and head.size == STL_HEADER + STL_FACET * stl_facets(head.data)


def _damaged_stl(head: Head) -> bool:
    return head.is_binary and head.extension in (".stl", ".stlb")


def _ascii_stl(head: Head) -> bool:
    if head.text[:5].lower() != b"solid" or head.text.split(None, 1)[0].lower() != b"solid":
        return False
    alone = len(head.data) <= HEAD and head.lines.count(b"\n") <= 1
    return not head.is_binary and (alone or re.search(_STL_LINE, head.lines) is not None)


_COMMENT = rb"#[^\n]*"
_OBJ = rb"(?mi)^[ \t]*(?:v[ \t]+[-+.\d]|f[ \t]+-?\d|[fv][ \t]*\\$)"
_OBJ_OTHER = rb"(?mi)^(mtllib|usemtl|vn|vt|o|g|s|l|p)[ \t]+\S"
_SURE_OBJ = matches(
    rb"(?:\s*(?:#|(?:mtllib|usemtl|vn|vt|[ogs])\b)[^\n]*\n)*\s*v(?:[ \t]+[-+.\d]\S*){3}"
)


def _obj(head: Head) -> bool:
    if head.is_binary:
        return False
    content = re.sub(_COMMENT, b"", head.lines)
    if not content.strip() and len(head.data) > HEAD:
        content = re.sub(_COMMENT, b"", unify_lines(head.data))
    return bool(re.search(_OBJ, content) or re.search(_OBJ_OTHER, content))


# --- The formats, in the order in which they are tried.

_SURPAC = (".dtm", ".str")
_WORKBOOK = archives(b"xl/workbook", b"xl/worksheets/")
_GRID_KEYS = rb"(?i:ncols|nrows|[xy]ll(?:corner|center)|cellsize|d[xy])[ \t]+[-+.\d]"
_DXF = rb"AutoCAD Binary DXF\n|(?:999[ \t]*\n[^\n]*\n\s*)*0[ \t]*\n[ \t]*SECTION\b"
_OFF = rb"(?:#[^\n]*\n\s*)*(?:ST)?C?N?4?n?OFF(?=[\s#]|\Z)"
FORMATS = (
    Format("text", (), _never, open_blocks=".text:open_model",
           write_blocks=".text:encoded_blocks", written=(".csv",)),
    Format("Parquet", (".parquet", ".pq"), begins(b"PAR1"),
           open_blocks=".parquet:open_model", blocks_by="either",
           write_blocks=".parquet:encoded_blocks", written=(".parquet", ".pq")),
    Format("Excel", (".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb", ".xls"), _WORKBOOK,
           open_blocks=".excel:open_model", blocks_by="either",
           write_blocks=".excel:encoded_blocks"),
    Format("GSLIB", (), _gslib, open_blocks=".gslib:open_model"),
    Format("GOCAD Voxet", (".vo",),
           matches(rb"(?:#[^\n]*\n\s*)*GOCAD\s+Voxet\b", re.IGNORECASE),
           open_blocks=".gocad:open_model", keeps_blocks=False),
    Format("PLY", (".ply",), matches(rb"ply[ \t]*\n", re.IGNORECASE), wireframe=True,
           read_meshes=".ply:read", write_mesh=".ply:write"),
    Format("OMF 1", (".omf",), begins(b"\x84\x83\x82\x81"), read_meshes=".omf1:read",
           open_blocks=".omf1:open_model", holds_blocks=".omf1:holds_blocks",
           contents=".omf1:contents"),
    Format("TIFF", (".tif", ".tiff"), begins(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
           read_meshes=".raster:read_tiff"),
    Format("glTF", (".glb",), matches(rb"glTF"), wireframe=True, read_meshes=".gltf:read"),
    Format("OMF 2", (".omf",), archives(b"index.json.gz", b"project.json"),
           read_meshes=".omf2:read", write_solids=".omf2:write",
           open_blocks=".omf2:open_model", holds_blocks=".omf2:holds_blocks",
           contents=".omf2:contents",
           write_blocks=".omf2:encoded_blocks"),
    Format("geoh5", (".geoh5",), begins(b"\x89HDF\r\n\x1a\n"),
           last=lambda head: head.extension == ".geoh5", read_named=".geoh5:read",
           write_solids=".geoh5:write", open_blocks=".geoh5:open_model", blocks_by="either",
           holds_blocks=".geoh5:holds_blocks", contents=".geoh5:contents",
           write_blocks=".geoh5:encoded_blocks"),
    Format("3MF", (".3mf",), archives(b"3D/3dmodel.model"), wireframe=True,
           read_meshes=".threemf:read"),
    Format("DXF", (".dxf",), matches(_DXF), wireframe=True,
           read_meshes=".dxf:read", write_solids=".dxf:write"),
    Format("Leapfrog mesh", (".msh",), matches(rb"%%?ARANZ"), wireframe=True,
           read_meshes=".leapfrog:read", write_mesh=".leapfrog:write"),
    Format("LandXML", (".xml", ".landxml"), matches(rb"(?s:<(?:.*?<)?(?:\w+:)?LandXML\b)"),
           wireframe=True, read_meshes=".landxml:read"),
    Format("Surpac triangles", (".dtm",), matches(rb"[^\n]*\.str *,[^\n]*\n", re.IGNORECASE),
           wireframe=True, read_meshes=".surpac:read_triangles",
           write_pair=".surpac:write", pair=_SURPAC),
    # A collar table may resemble a string file.
    Format("Surpac strings", (".str",),
           matches(rb"[^\n,]+,[^\n,]*,[^\n]*\n *0 *,(?: *[-+.\dEe]+ *,){2}"),
           sure=lambda head: head.extension == ".str", read_meshes=".surpac:read_strings",
           write_pair=".surpac:write", pair=_SURPAC),
    Format("ESRI ASCII grid", (".asc", ".grd", ".txt"), matches(_GRID_KEYS),
           read_meshes=".raster:read_ascii"),
    Format("GOCAD", (".ts", ".ml", ".gp", ".vs", ".pl", ".so", ".sg", ".vo"),
           matches(rb"(?:#[^\n]*\n\s*)*GOCAD\s", re.IGNORECASE), read_meshes=".gocad:read",
           write_solids=".gocad:write", spell=".gocad:spelled"),
    Format("Datamine", (".dm",), _datamine, read_meshes=".datamine:read",
           open_blocks=".datamine:open_model", holds_blocks=".datamine:holds_blocks"),
    Format("binary STL", (".stl", ".stlb"), _binary_stl, last=_damaged_stl, wireframe=True,
           read_meshes=".stl:read_binary", write_mesh=".stl:write"),
    Format("ASCII STL", (".stl", ".stla"), _ascii_stl, wireframe=True,
           read_meshes=".stl:read_ascii"),
    Format("VTK", (".vtk",), _legacy_vtk, read_file=".vtk:read", open_blocks=".vtk:open_model",
           blocks_by="extension", holds_blocks=".vtk:holds_blocks"),
    Format("VTP", (".vtp",), _vtk(b"PolyData"), read_file=".vtk:read", write_mesh=".vtk:write"),
    Format("VTU", (".vtu",), _vtk(b"UnstructuredGrid"), read_file=".vtk:read",
           open_blocks=".vtk:open_model", blocks_by="extension",
           write_blocks=".vtk:encoded_blocks"),
    Format("VTI", (".vti",), _vtk(b"ImageData"), read_file=".vtk:read",
           open_blocks=".vtk:open_model", blocks_by="extension",
           write_blocks=".vtk:encoded_blocks"),
    Format("VTR", (".vtr",), _vtk(b"RectilinearGrid"), read_file=".vtk:read",
           open_blocks=".vtk:open_model", blocks_by="extension"),
    Format("VTS", (".vts",), _vtk(b"StructuredGrid"), read_file=".vtk:read",
           open_blocks=".vtk:open_model", blocks_by="extension"),
    Format("VTM", (".vtm", ".vtmb"), _vtk(b"vtkMultiBlockDataSet"),
           read_meshes=".vtk:read_collection"),
    Format("OFF", (".off", ".coff", ".noff"), matches(_OFF, re.IGNORECASE), wireframe=True,
           read_meshes=".off:read", write_mesh=".off:write"),
    Format("OBJ", (".obj",), _obj, sure=_SURE_OBJ, wireframe=True,
           read_meshes=".obj:read", write_mesh=".obj:write"),
)  # fmt: skip
TEXT_TABLES = FORMATS[0]
EXCEL = next(each for each in FORMATS if each.name == "Excel")
GEOH5 = next(each for each in FORMATS if each.name == "geoh5")
# Extensions of text tables; formats of other packages are not tried for these.
TEXT = (".csv", ".tsv", ".txt", ".dat", ".asc", ".gz", "")


@cache
def plugged_in() -> tuple[Format, ...]:
    """Return the formats that other packages add.

    They are loaded only if no built-in format matches, or if all formats are listed, because
    loading takes 0.1 s.

    Warns
    -----
    GeodomainWarning
        If the format of a package cannot be used.
    """
    from importlib.metadata import entry_points

    formats = {each.name: each for each in FORMATS}
    for point in entry_points(group=GROUP):
        try:
            form = point.load()
        except Exception as error:  # of any type, from another package's code
            _leave_out(point.name, f"{point.value} raises {type(error).__name__}: {error}")
            continue
        if not isinstance(form, Format):
            _leave_out(point.name, f"{point.value} is not a geodomain.formats.registry.Format")
        elif form.name in formats:
            _leave_out(point.name, f"a format named {form.name!r} already exists")
        else:
            formats[form.name] = form
    return tuple(formats.values())[len(FORMATS) :]


# --- The format of a file.


def format_of_meshes(head: Head) -> Format | None:
    """Return the format of a file that may hold wireframes, or None if it is unknown."""
    reading = [each for each in FORMATS if each.reads_meshes]
    form = next((each for each in reading if each.sign(head)), None)
    form = form or next((each for each in reading if each.last and each.last(head)), None)
    return form or next((e for e in plugged_in() if e.reads_meshes and _signed(e, head)), None)


def format_of_wireframe(head: Head) -> Format | None:
    """Return the format of a file of wireframes, or None, also for a table that resembles one."""
    form = format_of_meshes(head)
    if form is None or head.extension in form.extensions or form.sure is None or form.sure(head):
        return form
    return None


def format_of_blocks(path: str) -> Format:
    """Return the format of an existing or new file of blocks.

    The content decides. If the content matches no format, the extension decides. If the extension
    belongs to no format, the file is a text table. The path may be FILE:NAME.
    """
    place = split_name(path)[0]
    extension = place.suffix.lower()
    head = head_of(place, extension) if place.is_file() else None
    if head is not None and extension in _NETCDF and _is_netcdf(head):
        message = (
            f"{place.name} is a NetCDF file, which commands do not read: open it with xarray, and "
            "label the dataset in Python with geodomain.label"
        )
        raise TableError(message)
    form = _with_blocks(FORMATS, head, extension)
    if form is None and extension not in TEXT and path != "-":
        form = _with_blocks(plugged_in(), head, extension)
    return form or TEXT_TABLES


# NetCDF 3 has a signature of its own; NetCDF 4 is HDF5.
_NETCDF, _is_netcdf = (".nc", ".nc4", ".cdf"), begins(b"CDF", b"\x89HDF")


def _with_blocks(formats: Iterable[Format], head: Head | None, extension: str) -> Format | None:
    """Return the first block format that matches the content of a file.

    If there is none, return the first block format that has the extension, or None.
    """
    opening = [each for each in formats if each.open_blocks]
    if head is not None:
        by_content = (each for each in opening if each.blocks_by != "extension")
        if form := next((each for each in by_content if _signed(each, head)), None):
            return form
    by_name = (each for each in opening if each.blocks_by != "content")
    return next((each for each in by_name if extension in each.extensions), None)


def _signed(form: Format, head: Head) -> bool:
    """Return whether a file matches a format; False if another package's `sign` raises an error."""
    if form in FORMATS:
        return form.sign(head)
    try:
        return bool(form.sign(head))
    except Exception as error:  # of any type, from another package's code
        _leave_out(form.name, f"its `sign` raises {type(error).__name__}: {error}")
        return False


@cache
def _leave_out(name: str, why: str) -> None:
    """Warn, once for each reason, that a format of another package is not used."""
    warn(f"the format {name!r} of another package is not used ({why}): update that package")


def head_of(place: Path, extension: str) -> Head:
    """Read the first bytes of a file.

    For a ZIP, read the first 4 bytes and the last bytes, which list its members.
    """
    with place.open("rb") as file:
        data, size = file.read(HEAD), os.fstat(file.fileno()).st_size
        if data.startswith(b"PK\3\4"):
            file.seek(max(0, size - HEAD))
            data = data[:4] + file.read(HEAD)
    return Head(data, extension, size)


def is_workbook(path: str) -> bool:
    """Return whether a path, or FILE:SHEET, leads to an Excel workbook."""
    return _leads_to(EXCEL, path)


def is_workspace(path: str) -> bool:
    """Return whether a path, or FILE:NAME, leads to a geoh5 workspace."""
    return _leads_to(GEOH5, path)


def _leads_to(form: Format, path: str) -> bool:
    """Return whether a file has a format, by its extension or its content."""
    place = split_name(path)[0]
    extension = place.suffix.lower()
    if extension in form.extensions:
        return True
    return place.is_file() and form.sign(head_of(place, extension))


def is_workbook_name(path: str | os.PathLike[str]) -> bool:
    """Return whether a table with this name is written as an Excel workbook."""
    return Path(path).suffix.lower() in EXCEL.outputs


def kind_of(path: str) -> str:
    """Return the kind of a file of blocks, such as "text", "parquet" or "vtk"."""
    return format_of_blocks(path).kind


def writer_of_meshes(extension: str) -> Format | None:
    """Return the format that writes wireframes with an extension, or None."""
    return _first(lambda each: each.writes_meshes and extension in each.outputs)


def writer_of_blocks(extension: str) -> Format | None:
    """Return the format that writes block models with an extension, or None."""
    return _first(lambda each: bool(each.write_blocks) and extension in each.outputs)


def _first(wanted: Callable[[Format], bool]) -> Format | None:
    """Return the first format that satisfies a condition: built-in ones first, then plug-ins."""
    own = next(filter(wanted, FORMATS), None)
    return own or next(filter(wanted, plugged_in()), None)


def readable() -> str:
    """Return the names of the readable wireframe formats, separated by commas."""
    return ", ".join(each.name for each in (*FORMATS, *plugged_in()) if each.reads_meshes)


def mesh_outputs() -> tuple[str, ...]:
    """Return the extensions with which wireframes can be written."""
    every = (*FORMATS, *plugged_in())
    return tuple(dict.fromkeys(e for each in every if each.writes_meshes for e in each.outputs))


def block_outputs() -> tuple[str, ...]:
    """Return the usual extension of each format that writes block models."""
    return tuple(each.outputs[0] for each in (*FORMATS, *plugged_in()) if each.write_blocks)


# --- Files given as text tables that have another format.

_A_DOMAIN = "domains={'NAME': 'PATH'}"


@contextmanager
def other_formats_named(head: bytes, name: str) -> Iterator[None]:
    """Name the real format of a file in the error for a table that cannot be read.

    Use this as a context manager around the code that reads the table.

    Raises
    ------
    TableError
    """
    try:
        yield
    except TableError as error:
        start = Head(head[:HEAD], Path(name).suffix.lower(), len(head))
        form = format_of_table(start)
        if form is None:
            hint = advice(start) if isinstance(error, BinaryTableError) else None
        elif form.wireframe:
            hint = f"it is {form.name}, a wireframe, not a table: give it as {_A_DOMAIN}"
        elif form.open_blocks and isinstance(error, BinaryTableError):
            hint = f"it is {form.name}, which can only be read from a file: give the file name"
        else:
            hint = (
                f"it is {form.name}, not a table: if it is a wireframe, give it as {_A_DOMAIN}; "
                "if it holds blocks, export them as CSV"
            )
        if hint is None:
            raise
        message = f"{name}: {hint}"
        raise TableError(message) from None


def advice(head: Head) -> str | None:
    """Return a message about what to export instead of a format that is not read, or None."""
    advise: Callable[[bytes, str], str | None] = loaded(".closed:advice")
    return advise(head.data, head.extension)


def format_of_table(head: Head) -> Format | None:
    """Return the format of a file that is certainly not a text table; None if it may be one."""
    form = format_of_meshes(head)
    if form is None or form.blocks_by == "extension" or (form.sure and not form.sure(head)):
        return None
    return form


# --- Paths FILE:NAME that name one solid of a file.


def split_name(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    r"""Split FILE:NAME into the file and the name, which is None for a path without a name.

    If a file with the full path exists, the path is not split. The colon after a drive letter
    (C:\a.dxf) is not a separator.
    """
    text = os.fspath(path)
    # Not by pathlib, which raises an error if NAME is too long for the name of a file.
    if not os.path.exists(text):  # noqa: PTH110
        for at in _colons(text):
            if os.path.isfile(text[:at]):  # noqa: PTH113
                return Path(text[:at]), text[at + 1 :]
    return Path(text), None


def _colons(text: str) -> Iterator[int]:
    """Yield the index of each colon that has text on both sides, except after a drive letter."""
    for at, character in enumerate(text[:-1]):
        if character == ":" and at > 0 and not (at == 1 and text[2] in "\\/"):
            yield at
