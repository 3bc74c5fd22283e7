"""Every file format: how a file of it is recognised, and which functions read and write it.

To add a format, write its module and one entry of `FORMATS`. A function is named by its module,
which is imported when a file of the format comes, so that a command loads no other. Another
package adds a `Format` by an entry point of the group `geodomain.formats`.
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

HEAD = 1 << 16  # bytes by which formats are recognised
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GROUP = "geodomain.formats"  # of entry points

Function = TypeVar("Function")
Sign = Callable[["Head"], bool]


class Head:
    """The first bytes of a file.

    Parameters
    ----------
    data : bytes
        The whole file, or as much of it as has been read.
    extension : str
        In lower case, with its point.
    size : int, optional
        Bytes of the whole file; `data` is all of it, if not given.
    """

    def __init__(self, data: bytes, extension: str = "", size: int | None = None) -> None:
        self.data, self.extension = data, extension
        self.size = len(data) if size is None else size

    @cached_property
    def lines(self) -> bytes:
        """The head as text with plain line ends, without a byte-order mark."""
        return unify_lines(self.data[:HEAD])

    @cached_property
    def text(self) -> bytes:
        """The same text without the blanks before it."""
        return self.lines.lstrip()

    @property
    def is_binary(self) -> bool:
        """Whether the head has a zero byte."""
        return b"\x00" in self.lines


def unify_lines(data: bytes) -> bytes:
    """Return the text with plain line ends and without a byte-order mark."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


@dataclass(frozen=True)
class Format:
    """A file format.

    Functions are given as `"module:name"`, where a built-in module begins with a point, or as
    they are. "" stands for what the format does not offer.

    Attributes
    ----------
    name : str
        As messages call it.
    extensions : tuple of str
        Those that its files have, the usual one first; none where any will do.
    sign : callable
        Tells by the head of a file whether it has this format. The first format of the list whose
        sign fits is taken.
    sure : callable, optional
        A stricter sign, where `sign` may fit tables of text as well.
    last : callable, optional
        A sign of damaged files, for those that no sign fits.
    wireframe : bool
        Whether its files hold wireframes and nothing else.
    read_meshes : str or callable
        `(data, path)`: the bytes of a file, and its path. Returns the `Faces` of its one solid,
        which stay as they are, or `(name, Faces)` for each solid, whose equal vertices are merged.
    read_file : str or callable
        `(path, extension)`: in the place of `read_meshes` where a library opens the file.
    write_mesh : str or callable
        `(mesh, file)`: writes one solid.
    write_solids : str or callable
        `(solids, file)`: writes several by their names.
    write_pair : str or callable
        `(solids, stem, first, second)`: writes them to the two files of `pair`.
    spell : str or callable
        Turns the name of a solid into one that the format can hold.
    pair : tuple of str
        The extensions of two files that are written together; the second appears first.
    open_blocks : str or callable
        `(path, options, digest)`: a context manager that gives a `BlockFile`.
    blocks_by : {"content", "extension", "either"}
        What tells that a file holds blocks of this format.
    holds_blocks : str or callable
        `(path)`: tells whether a file, or FILE:NAME, of a format of both holds blocks.
    write_blocks : str or callable
        `(blocks, path)`: gives the file's bytes, part by part.
    keeps_blocks : bool
        Whether labelled blocks are written in the format that they came in.
    written : tuple of str
        The extensions that outputs may have; the first of `extensions`, if not given.
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
    write_blocks: str | Callable[[Blocks, str], Iterable[bytes]] = ""
    keeps_blocks: bool = True
    written: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The extensions that outputs may have."""
        return self.written or self.extensions[:1]

    @property
    def reads_meshes(self) -> bool:
        """Whether wireframes are read."""
        return bool(self.read_meshes or self.read_file)

    @property
    def writes_meshes(self) -> bool:
        """Whether wireframes are written."""
        return bool(self.write_mesh or self.write_solids or self.write_pair)

    @property
    def kind(self) -> str:
        """What its block models are called: one word for all formats that one module opens."""
        opener = self.open_blocks
        return opener.partition(":")[0].lstrip(".") if isinstance(opener, str) else self.name


def loaded(function: str | Function) -> Function:
    """Return a function of a format, and import its module if it is given by name."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    found: Function = getattr(import_module(module, __package__), name)
    return found


# --- Signs: what the head of a file must have. A pattern is compiled when it is first looked for.


def begins(*marks: bytes) -> Sign:
    """Return a sign: the file begins with one of some bytes."""
    return lambda head: head.data.startswith(marks)


def matches(pattern: bytes, flags: int = 0) -> Sign:
    """Return a sign: the text, without the blanks before it, matches from its start."""
    return lambda head: re.match(pattern, head.text, flags) is not None


def archives(*members: bytes) -> Sign:
    """Return a sign: a ZIP that has one of some members."""
    return lambda head: head.data.startswith(b"PK\3\4") and any(m in head.data for m in members)


def _never(head: Head) -> bool:
    """Tell that nothing shows the format: it is taken where no other is."""
    return False


_VTK_XML = rb"<VTKFile\s(?:[^>]*?\s)?type\s*=\s*[\"'](\w+)[\"']"


def _vtk(kind: bytes) -> Sign:
    """Return a sign: VTK's XML of a type of data set."""

    def sign(head: Head) -> bool:
        found = re.search(_VTK_XML, head.text)
        return found is not None and found[1] == kind

    return sign


def _legacy_vtk(head: Head) -> bool:
    return head.text[:14].lower() == b"# vtk datafile"


# Datamine's number of fields, in words from the start, and the first of its fields.
DATAMINE_COUNT, DATAMINE_FIELDS, DATAMINE_WORDS = 25, 28, 512


def datamine_form(data: bytes) -> tuple[int, Literal["<", ">"]] | None:
    """Return the bytes of a word and their order, where data may be Datamine's first page."""
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
    """Tell by the definition of the fields, which the format's module reads."""
    if datamine_form(head.data) is None:
        return False
    is_table: Callable[[bytes], bool] = loaded(".datamine:is_table")
    return is_table(head.data)


# The second line of a GSLIB table is the number of columns, perhaps with a grid after it.
_GSLIB = rb"[^\n]*\n[ \t]*\d{1,4}(?:[ \t][^\n]*)?\r?\n"


def _gslib(head: Head) -> bool:
    """Tell by the names of the columns and the first row, which the format's module reads."""
    if not re.match(_GSLIB, head.data):
        return False
    is_table: Callable[[bytes], bool] = loaded(".gslib:is_table")
    return is_table(head.data)


STL_HEADER, STL_FACET = 84, 50  # bytes
_STL_LINE = rb"(?mi)^\s*(facet|endsolid)\b"


def stl_facets(head: bytes) -> int:
    """Return the number of facets that a binary STL's header promises."""
    return int.from_bytes(head[80:84], "little")


def _binary_stl(head: Head) -> bool:
    """Tell by the size, because the header may begin with 'solid' as a text one does."""
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


# --- The formats, in the order in which their signs are looked for.

_SURPAC = (".dtm", ".str")
_GRID_KEYS = rb"(?i:ncols|nrows|[xy]ll(?:corner|center)|cellsize|d[xy])[ \t]+[-+.\d]"
_DXF = rb"AutoCAD Binary DXF\n|(?:999[ \t]*\n[^\n]*\n\s*)*0[ \t]*\n[ \t]*SECTION\b"
_OFF = rb"(?:#[^\n]*\n\s*)*(?:ST)?C?N?4?n?OFF(?=[\s#]|\Z)"
FORMATS = (
    Format("text", (), _never, open_blocks=".text:open_model",
           write_blocks=".text:encoded_blocks", written=(".csv",)),
    Format("Parquet", (".parquet", ".pq"), begins(b"PAR1"),
           open_blocks=".parquet:open_model", blocks_by="either",
           write_blocks=".parquet:encoded_blocks", written=(".parquet", ".pq")),
    Format("GSLIB", (), _gslib, open_blocks=".gslib:open_model"),
    Format("GOCAD Voxet", (".vo",),
           matches(rb"(?:#[^\n]*\n\s*)*GOCAD\s+Voxet\b", re.IGNORECASE),
           open_blocks=".gocad:open_model", keeps_blocks=False),
    Format("PLY", (".ply",), matches(rb"ply[ \t]*\n", re.IGNORECASE), wireframe=True,
           read_meshes=".ply:read", write_mesh=".ply:write"),
    Format("OMF 1", (".omf",), begins(b"\x84\x83\x82\x81"), read_meshes=".omf1:read",
           open_blocks=".omf1:open_model", holds_blocks=".omf1:holds_blocks"),
    Format("TIFF", (".tif", ".tiff"), begins(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
           read_meshes=".raster:read_tiff"),
    Format("glTF", (".glb",), matches(rb"glTF"), wireframe=True, read_meshes=".gltf:read"),
    Format("OMF 2", (".omf",), archives(b"index.json.gz", b"project.json"),
           read_meshes=".omf2:read", write_solids=".omf2:write",
           open_blocks=".omf2:open_model", holds_blocks=".omf2:holds_blocks",
           write_blocks=".omf2:encoded_blocks"),
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
    # A table of collars may look like strings.
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
# Extensions of tables of text, which no other package is asked about.
TEXT = (".csv", ".tsv", ".txt", ".dat", ".asc", ".gz", "")


@cache
def plugged_in() -> tuple[Format, ...]:
    """Return the formats of other packages.

    They are read where no format of our own fits, or all are listed, and not before:
    `importlib.metadata` takes 0.1 s.

    Warns
    -----
    GeodomainWarning
        For a package whose format cannot be used.
    """
    from importlib.metadata import entry_points

    found = {each.name: each for each in FORMATS}
    for point in entry_points(group=GROUP):
        try:
            form = point.load()
        except Exception as error:  # of any kind, from the code of others
            _leave_out(point.name, f"{point.value} raises {type(error).__name__}: {error}")
            continue
        if not isinstance(form, Format):
            _leave_out(point.name, f"{point.value} is no geodomain.formats.registry.Format")
        elif form.name in found:
            _leave_out(point.name, f"there is a format {form.name!r} already")
        else:
            found[form.name] = form
    return tuple(found.values())[len(FORMATS) :]


# --- The format of a file.


def format_of_meshes(head: Head) -> Format | None:
    """Return the format of a file that may hold wireframes, None where nobody reads it."""
    reading = [each for each in FORMATS if each.reads_meshes]
    found = next((each for each in reading if each.sign(head)), None)
    found = found or next((each for each in reading if each.last and each.last(head)), None)
    return found or next((e for e in plugged_in() if e.reads_meshes and _signed(e, head)), None)


def format_of_blocks(path: str) -> Format:
    """Return the format of a file of blocks that is there, or is to be written.

    Content decides, and the extension where content is silent; what nothing shows is text. A path
    may be FILE:NAME.
    """
    place = split_name(path)[0]
    extension = place.suffix.lower()
    head = _head_of(place, extension) if place.is_file() else None
    found = _with_blocks(FORMATS, head, extension)
    if found is None and extension not in TEXT and path != "-":
        found = _with_blocks(plugged_in(), head, extension)
    return found or TEXT_TABLES


def _with_blocks(formats: Iterable[Format], head: Head | None, extension: str) -> Format | None:
    """Return the first format of blocks that the content shows, or else the extension."""
    opening = [each for each in formats if each.open_blocks]
    if head is not None:
        by_content = (each for each in opening if each.blocks_by != "extension")
        if found := next((each for each in by_content if _signed(each, head)), None):
            return found
    by_name = (each for each in opening if each.blocks_by != "content")
    return next((each for each in by_name if extension in each.extensions), None)


def _signed(form: Format, head: Head) -> bool:
    """Tell whether a head has the sign of a format; one of another package may fail at it."""
    if form in FORMATS:
        return form.sign(head)
    try:
        return bool(form.sign(head))
    except Exception as error:  # of any kind, from the code of others
        _leave_out(form.name, f"its sign raises {type(error).__name__}: {error}")
        return False


@cache
def _leave_out(name: str, why: str) -> None:
    """Warn of a format of another package, once."""
    warn(f"the format {name!r} of another package is left out ({why}): update that package")


def _head_of(place: Path, extension: str) -> Head:
    """Read the first bytes of a file, and the last of a ZIP, whose index is at its end."""
    with place.open("rb") as file:
        data, size = file.read(HEAD), os.fstat(file.fileno()).st_size
        if data.startswith(b"PK\3\4"):
            file.seek(max(0, size - HEAD))
            data = data[:4] + file.read(HEAD)
    return Head(data, extension, size)


def kind_of(path: str) -> str:
    """Name the kind of a file of blocks, such as text, parquet or vtk."""
    return format_of_blocks(path).kind


def writer_of_meshes(extension: str) -> Format | None:
    """Return the format of wireframes that an extension names for an output."""
    return _first(lambda each: each.writes_meshes and extension in each.outputs)


def writer_of_blocks(extension: str) -> Format | None:
    """Return the format of blocks that an extension names for an output."""
    return _first(lambda each: bool(each.write_blocks) and extension in each.outputs)


def _first(wanted: Callable[[Format], bool]) -> Format | None:
    """Return the first of our formats, or else of other packages', that is wanted."""
    own = next(filter(wanted, FORMATS), None)
    return own or next(filter(wanted, plugged_in()), None)


def readable() -> str:
    """List the formats of wireframes that are read."""
    return ", ".join(each.name for each in (*FORMATS, *plugged_in()) if each.reads_meshes)


def mesh_outputs() -> tuple[str, ...]:
    """Return the extensions that a written wireframe may have."""
    every = (*FORMATS, *plugged_in())
    return tuple(dict.fromkeys(e for each in every if each.writes_meshes for e in each.outputs))


def block_outputs() -> tuple[str, ...]:
    """Return the usual extensions that a written block model may have."""
    return tuple(each.outputs[0] for each in (*FORMATS, *plugged_in()) if each.write_blocks)


# --- What a file is that was given as a table of text, and is none.

_A_DOMAIN = "domains={'NAME': 'PATH'}"


@contextmanager
def other_formats_named(head: bytes, name: str) -> Iterator[None]:
    """Where bytes are refused as a table, say which format they have, if one is recognised.

    Raises
    ------
    TableError
    """
    try:
        yield
    except TableError as error:
        start = Head(head[:HEAD], Path(name).suffix.lower(), len(head))
        found = format_of_table(start)
        if found is None:
            told = advice(start) if isinstance(error, BinaryTableError) else None
        elif found.wireframe:
            told = f"it is {found.name}, a wireframe, not a table: give it as {_A_DOMAIN}"
        elif found.open_blocks and isinstance(error, BinaryTableError):
            told = f"it is {found.name}, which is read from a file only: name the file"
        else:
            told = (
                f"it is {found.name}, not a table: give a wireframe as {_A_DOMAIN}, blocks as CSV"
            )
        if told is None:
            raise
        message = f"{name}: {told}"
        raise TableError(message) from None


def advice(head: Head) -> str | None:
    """Return what to do with a file of a closed format, None for any other."""
    known: Callable[[bytes, str], str | None] = loaded(".closed:advice")
    return known(head.data, head.extension)


def format_of_table(head: Head) -> Format | None:
    """Return the format of wireframes that a file surely has, None where it may be a table."""
    found = format_of_meshes(head)
    if found is None or found.blocks_by == "extension" or (found.sure and not found.sure(head)):
        return None
    return found


# --- Paths that name one solid of a file.


def split_name(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    r"""Return the file and the name of the solid in it, None where the path names none.

    A file that is there wins over a name, and the colon of a drive (C:\a.dxf) starts no name.
    """
    text = os.fspath(path)
    if not Path(text).exists():
        for at in _colons(text):
            if Path(text[:at]).is_file():
                return Path(text[:at]), text[at + 1 :]
    return Path(text), None


def _colons(text: str) -> Iterator[int]:
    """Yield where a name may start: each colon with text on both sides that is no drive's."""
    for at, character in enumerate(text[:-1]):
        if character == ":" and at > 0 and not (at == 1 and text[2] in "\\/"):
            yield at
