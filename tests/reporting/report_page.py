"""A labelled model to report on, and what a page of a report holds."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result
from wireframes import box

from geodomain import flag_file, label_file, report_file
from geodomain.cli import main
from geodomain.formats.wireframes import write_mesh

TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "f32": "<f4", "f64": "<f8"}


class Page(HTMLParser):
    """What a page holds: scripts by identifier, tables by identifier, everything that loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: dict[str, str] = {}
        self.code, self.style, self.policy = "", "", ""
        self.tables: dict[str, list[list[str]]] = {}
        # The same, with exact numbers in place of rounded ones.
        self.exact: dict[str, list[list[str]]] = {}
        self._value = ""
        self.loads: list[tuple[str, str]] = []
        self.styled: list[str] = []
        self.ids: list[str] = []
        self._in: tuple[str, str] = ("", "")
        self._table = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        said = dict(attrs)
        self.loads += [(tag, name) for name in said if name in ("src", "srcset", "data")]
        self.styled += [tag for name in said if name == "style"]
        self.ids += [said["id"]] if "id" in said else []
        if said.get("http-equiv") == "Content-Security-Policy":
            self.policy = said["content"]
        if tag in ("script", "style"):
            self._in = (tag, said.get("id", ""))
        if tag == "table":
            self._table = said["id"]
            self.tables[self._table], self.exact[self._table] = [], []
        for tables in (self.tables, self.exact):
            if tag == "tr" and self._table:
                tables[self._table].append([])
            if tag in ("td", "th") and self._table:
                tables[self._table][-1].append("")
        if tag == "data" and self._table:
            self._value = said["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._in = ("", "")
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        tag, name = self._in
        if tag == "style":
            self.style += data
        elif tag == "script" and name:
            self.blocks[name] = self.blocks.get(name, "") + data
        elif tag == "script":
            self.code += data
        elif self._table and self.tables[self._table] and self.tables[self._table][-1]:
            self.tables[self._table][-1][-1] += data
            self.exact[self._table][-1][-1] += self._value or data
            self._value = ""

    @property
    def scene(self) -> dict:
        return json.loads(self.blocks["scene"])

    def array(self, entry: dict) -> np.ndarray | list[str]:
        """Undo what the page's packing did."""
        data = zlib.decompress(base64.b64decode(self.blocks[f"data-{entry['block']}"]))
        if entry["type"] == "text":
            return data.decode().split("\n")
        kind = np.dtype(TYPES[entry["type"]])
        bytes_by_place = np.frombuffer(data, np.uint8).reshape(kind.itemsize, -1)
        found = np.ascontiguousarray(bytes_by_place.T).reshape(-1).view(kind)
        return np.cumsum(found, dtype=kind) if entry["differences"] else found


def labelled_model(folder: Path) -> Path:
    """Return a model of 8 x 6 x 4 blocks labelled by two boxes, with its record."""
    write_mesh(box((2, 2, 1), (6, 5, 3)), folder / "ore.stl")
    write_mesh(box((5, 0, 0), (7, 3, 4)), folder / "dyke.stl")
    rows = ["X,Y,Z,DX,DY,DZ,AU"]
    rows += [
        f"{x + 0.5},{y + 0.50},{z + 0.5},1,1,1.0,{x * y / 7:.2f}"
        for z in range(4)
        for y in range(6)
        for x in range(8)
    ]
    (folder / "blocks.csv").write_text("\n".join(rows) + "\n")
    domains = {"DYKE": folder / "dyke.stl", "ORE": folder / "ore.stl"}
    label_file(
        folder / "blocks.csv",
        domains,
        folder / "labelled.csv",
        background="WASTE",
        record=folder / "run.json",
    )
    return folder / "labelled.csv"


def sampled_model(folder: Path) -> Path:
    """Make the labelled model, holes (c.csv), their samples (a.csv), and these flagged (s.csv)."""
    labelled_model(folder)
    places = [(x + 0.4, y + 0.7) for x in (0, 2, 4, 6) for y in (1, 3, 5)]
    collars = [f"H{n},{x},{y},4,4,0,-90" for n, (x, y) in enumerate(places)]
    (folder / "c.csv").write_text("\n".join(["HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP", *collars, ""]))
    rows = [
        f"H{n},{at / 2},{at / 2 + 0.5},{f'{(x * y + at) / 8:.4}' if (n + at) % 11 else ''}"
        for n, (x, y) in enumerate(places)
        for at in range(8)
    ]
    (folder / "a.csv").write_text("\n".join(["HOLE,FROM,TO,AU", *rows, ""]))
    flag_file(
        folder / "a.csv",
        {"DYKE": folder / "dyke.stl", "ORE": folder / "ore.stl"},
        folder / "s.csv",
        collar=folder / "c.csv",
        coordinates=True,
        background="WASTE",
    )
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, words)])


def page_of(labelled: Path, **options: object) -> Page:
    report_file(labelled, labelled.parent / "report.html", overwrite=True, **options)
    return Page((labelled.parent / "report.html").read_text())


NAMES = ("chromium", "chromium-browser", "google-chrome")

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

SOFTWARE = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
